"""Trying a wheel as a user would: from a throw-away index of its own."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from platformdirs import user_cache_path

from wheelmill.build.provenance import provenance_of
from wheelmill.errors import ReleaseError
from wheelmill.index.collect import site_of_folder
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serving
from wheelmill.index.write import write_site
from wheelmill.names import PythonVersion
from wheelmill.pipeline.available import Neighbour, required_beside
from wheelmill.release.manifest import SIDECAR_SUFFIX
from wheelmill.smoke.clean_room import try_in_clean_rooms
from wheelmill.smoke.environment import CandidateIndex, Rooms
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.smoke.verdict import CleanRoom, Verdict, certificate_path
from wheelmill.system.files import write_bytes
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile, WheelName


def smoke(
    file: WheelFile,
    rooms: Rooms,
    *,
    available: Sequence[Neighbour] = (),
    progress: Progress,
) -> Verdict:
    """Examine a wheel's bytes; if they have no findings, install it from an index of its own in clean rooms.

    A certificate that it had is taken away: what counts is what is found now.

    Args:
        file: the wheel.
        rooms: makes the clean rooms.
        available: wheels of which those that it requires are installed beside it.
        progress: told of every Python that it is tried on.

    Raises:
        UsageError: this machine lacks what the rooms need.
    """
    certificate_path(file.path).unlink(missing_ok=True)
    provenance = provenance_of(file)
    contents = open_wheel(file, provenance)
    if not isinstance(contents, Contents):
        progress.step(f"smoke: {file.filename}")
        return Verdict(file=file, provenance=provenance, findings=contents, evidence=None, clean_rooms=())
    findings = findings_of(contents)
    outcome = findings or _try_from_throwaway_index(contents, rooms, available, progress)
    findings = tuple(finding for finding in outcome if isinstance(finding, Finding))
    clean = () if findings else tuple(room for room in outcome if isinstance(room, CleanRoom))
    return Verdict(file=file, provenance=provenance, findings=findings, evidence=contents.evidence, clean_rooms=clean)


def _try_from_throwaway_index(
    contents: Contents, rooms: Rooms, available: Sequence[Neighbour], progress: Progress
) -> tuple[CleanRoom | Finding, ...]:
    """Try a wheel on every Python that it is for; the first that refuses it decides."""
    cache = user_cache_path("wheelmill", ensure_exists=True)  # so that what rooms take from there can be linked
    with tempfile.TemporaryDirectory(prefix="candidate-", dir=cache) as name:
        folder = Path(name)
        try:
            beside = {python: _required(contents, python, available, folder) for python in contents.pythons}
        except LookupError as error:
            return (Finding(code=Code.ENVIRONMENT, detail=f"it requires {error}, of which there is no wheel for it"),)
        except ReleaseError as error:
            return (Finding(code=Code.ENVIRONMENT, detail=str(error)),)
        wheels = {contents.file, *itertools.chain(*beside.values())}
        path, requires = _write_throwaway_index(folder, wheels), _required_of_others(wheels)
        outcome: list[CleanRoom | Finding] = []
        with serving(folder) as url:
            index = CandidateIndex(folder=folder, path=path, url=url, requires=requires)
            for python, neighbours in beside.items():
                progress.step(f"smoke: {contents.file.filename}{f' on Python {python}' if python else ''}")
                exact = [_exactly(wheel) for wheel in (contents.file, *neighbours)]
                outcome += try_in_clean_rooms(contents, python, rooms, index, requirements=exact, progress=progress)
                if any(isinstance(each, Finding) for each in outcome):
                    break
        return tuple(outcome)


def _required(
    contents: Contents, python: PythonVersion | None, available: Sequence[Neighbour], folder: Path
) -> list[WheelFile]:
    if contents.provenance is None or python is None:
        return []
    requires = contents.expectations.requires
    return [each.fetch(folder) for each in required_beside(contents.provenance.cell, python, requires, available)]


def _write_throwaway_index(folder: Path, wheels: Iterable[WheelFile]) -> str:
    """Write wheels, sidecars and pages; returns where the index is."""
    files = folder / "files"
    files.mkdir()
    for wheel in wheels:
        shutil.copyfile(wheel.path, files / wheel.filename)
        write_bytes(files / (wheel.filename + SIDECAR_SUFFIX), metadata_bytes(wheel.path))
    site = site_of_folder(files, "../files", warn=lambda _text: None)
    write_site(pages_of(site), folder / "site")
    return "site/simple/"


def _required_of_others(wheels: Iterable[WheelFile]) -> tuple[str, ...]:
    """What wheels say they need, but for each other."""
    metadata = [read_metadata(metadata_bytes(wheel.path)) for wheel in wheels]
    own = {canonicalize_name(each.name) for each in metadata}
    required = {requirement for each in metadata for requirement in each.requires_dist or ()}
    return tuple(sorted(str(each) for each in required if canonicalize_name(each.name) not in own))


def _exactly(wheel: WheelFile) -> str:
    name = WheelName.parse(wheel.filename)
    return f"{name.project}=={name.version}"
