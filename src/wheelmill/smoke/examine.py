"""Smoke's own door: a wheel's bytes are read, then it is installed as a user would install it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from wheelmill.build.provenance import provenance_of
from wheelmill.errors import NetworkError, ReleaseError
from wheelmill.names import PythonVersion
from wheelmill.smoke.available import AvailableWheel, find_required
from wheelmill.smoke.environment import ServeIndex, SmokeEnvironments
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.smoke.trial import try_in_environments
from wheelmill.smoke.verdict import CleanRoom, Verdict, certificate_path
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile, WheelName


def examine_wheel(
    file: WheelFile,
    environments: SmokeEnvironments,
    serve_index: ServeIndex,
    *,
    available: Sequence[AvailableWheel] = (),
    max_size: int | None = None,
    progress: Progress,
) -> Verdict:
    """Examine a wheel's bytes; if they have no findings, install it from an index of its own in clean environments.

    A certificate that it had is taken away: what counts is what is found now.

    Args:
        file: the wheel file to examine.
        environments: makes the environments that it is installed into.
        serve_index: makes and serves the index that it is installed from.
        available: wheels of which those that it requires are installed beside it.
        max_size: bytes that a wheel must stay under where it will be released; None sets no limit.
        progress: told of every Python that it is tried on.

    Raises:
        UsageError: this machine lacks what the environments need.
    """
    certificate_path(file.path).unlink(missing_ok=True)
    provenance = provenance_of(file)
    contents = open_wheel(file, provenance)
    if not isinstance(contents, Contents):
        progress.step(f"smoke: {file.filename}")
        return Verdict(file=file, provenance=provenance, findings=contents, evidence=None, clean_rooms=())
    refused = findings_of(contents, max_size=max_size)
    outcome = refused or _try(contents, environments, serve_index, available, progress)
    findings = tuple(each for each in outcome if isinstance(each, Finding))
    clean = () if findings else tuple(each for each in outcome if isinstance(each, CleanRoom))
    return Verdict(file=file, provenance=provenance, findings=findings, evidence=contents.evidence, clean_rooms=clean)


def _try(
    contents: Contents,
    environments: SmokeEnvironments,
    serve_index: ServeIndex,
    available: Sequence[AvailableWheel],
    progress: Progress,
) -> Iterable[CleanRoom | Finding]:
    """Try a wheel on every Python that it is for; the first that refuses it decides."""
    cache = user_cache_path("wheelmill", ensure_exists=True)  # so that what environments take from there can be linked
    with tempfile.TemporaryDirectory(prefix="candidate-", dir=cache) as name:
        folder = Path(name)
        try:
            required = {python: _required(contents, python, available, folder) for python in contents.pythons}
        except LookupError as error:
            return (Finding(code=Code.ENVIRONMENT, detail=f"it requires {error}, of which there is no wheel for it"),)
        except (NetworkError, ReleaseError) as error:
            return (Finding(code=Code.ENVIRONMENT, detail=str(error)),)
        outcome: list[CleanRoom | Finding] = []
        with serve_index(folder, {contents.file}.union(*required.values())) as index:
            for python, beside in required.items():
                progress.step(f"smoke: {contents.file.filename}{f' on Python {python}' if python else ''}")
                exact = [_exactly(wheel) for wheel in (contents.file, *beside)]
                outcome += try_in_environments(
                    contents, python, environments, index, requirements=exact, progress=progress
                )
                if any(isinstance(each, Finding) for each in outcome):
                    break
        return outcome


def _required(
    contents: Contents, python: PythonVersion | None, available: Sequence[AvailableWheel], folder: Path
) -> list[WheelFile]:
    if contents.provenance is None or python is None:
        return []
    requires = contents.expectations.requires
    return [each.fetch(folder) for each in find_required(contents.provenance.cell, python, requires, available)]


def _exactly(wheel: WheelFile) -> str:
    name = WheelName.parse(wheel.filename)
    return f"{name.project}=={name.version}"
