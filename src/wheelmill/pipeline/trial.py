"""Trying a wheel as a user would: from a throw-away index of its own."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from wheelmill.build.records import provenance_of
from wheelmill.files import write_bytes
from wheelmill.index.collect import site_of_folder
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serving
from wheelmill.index.write import write_site
from wheelmill.names import PythonVersion
from wheelmill.pipeline.neighbours import Neighbour, required_beside
from wheelmill.progress import Progress
from wheelmill.release.records import SIDECAR_SUFFIX
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.local import try_in_clean_room
from wheelmill.smoke.records import CleanRoom, Verdict, certificate_path
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.records import Code, Finding, WheelFile, WheelName


def smoke(file: WheelFile, *, available: Sequence[Neighbour] = (), progress: Progress) -> Verdict:
    """Examine a wheel's bytes; if they have no findings, install it from an index of its own in a clean room.

    A certificate that it had is taken away: what counts is what is found now.

    Args:
        file: the wheel.
        available: wheels of which those that it requires are installed beside it.
        progress: told of every Python that it is tried on.
    """
    certificate_path(file.path).unlink(missing_ok=True)
    provenance = provenance_of(file)
    contents = open_wheel(file, provenance)
    if not isinstance(contents, Contents):
        progress.step(f"smoke: {file.filename}")
        return Verdict(file=file, provenance=provenance, findings=contents, evidence=None, clean_rooms=())
    findings = findings_of(contents)
    outcome = findings or _try_from_throwaway_index(contents, available, progress)
    rooms = tuple(room for room in outcome if isinstance(room, CleanRoom))
    findings = tuple(finding for finding in outcome if isinstance(finding, Finding))
    return Verdict(file=file, provenance=provenance, findings=findings, evidence=contents.evidence, clean_rooms=rooms)


def _try_from_throwaway_index(
    contents: Contents, available: Sequence[Neighbour], progress: Progress
) -> tuple[Finding, ...] | tuple[CleanRoom, ...]:
    """Try a wheel on every Python that it is for; the first that refuses it decides."""
    with tempfile.TemporaryDirectory(prefix="wheelmill-candidate-") as name:
        folder = Path(name)
        try:
            beside = {python: _required(contents, python, available, folder) for python in contents.pythons}
        except LookupError as error:
            return (Finding(code=Code.ENVIRONMENT, detail=f"it requires {error}, of which there is no wheel for it"),)
        tree = _write_throwaway_index(folder, {contents.file, *itertools.chain(*beside.values())})
        rooms = []
        with serving(folder) as url:
            for python, wheels in beside.items():
                progress.step(f"smoke: {contents.file.filename}{f' on Python {python}' if python else ''}")
                requirements = [_exactly(wheel) for wheel in (contents.file, *wheels)]
                outcome = try_in_clean_room(contents, python, f"{url}{tree}", requirements)
                if not isinstance(outcome, CleanRoom):
                    return outcome
                rooms.append(outcome)
        return tuple(rooms)


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


def _exactly(wheel: WheelFile) -> str:
    name = WheelName.parse(wheel.filename)
    return f"{name.project}=={name.version}"
