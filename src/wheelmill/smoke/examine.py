"""Smoke test of one wheel: its bytes are read, then it is installed as by a user, with our wheels that it requires."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from packaging.version import Version
from platformdirs import user_cache_path

from wheelmill.build.provenance import Provenance, provenance_of
from wheelmill.errors import BuildError, NetworkError, ReleaseError
from wheelmill.names import ProjectName, PythonVersion
from wheelmill.plan.targets import BuildTarget, Cell
from wheelmill.smoke.environment import ServeIndex, SmokeEnvironments
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.import_test import is_refused, try_in_environments
from wheelmill.smoke.rules import findings_of
from wheelmill.smoke.verdict import SUFFIX, CleanRoom, Verdict, certificate_path
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile, WheelName


@dataclass(frozen=True, kw_only=True)
class AvailableWheel:
    """Wheel that can be installed with the tested one."""

    cell: Cell
    pythons: tuple[PythonVersion, ...]
    requires: tuple[ProjectName, ...]
    fetch: Callable[[Path], WheelFile]
    """Puts it into a folder, if it is not on this disk already."""


def wheels_on_disk(files: Iterable[WheelFile]) -> list[AvailableWheel]:
    """List the wheels on this disk with provenance beside them."""
    return [
        AvailableWheel(
            cell=provenance.cell,
            pythons=provenance.pythons,
            requires=provenance.expectations.requires,
            fetch=partial(lambda kept, _folder: kept, file),
        )
        for file in files
        if (provenance := provenance_of(file))
    ]


def examine_wheel(
    file: WheelFile,
    environments: SmokeEnvironments,
    serve_index: ServeIndex,
    *,
    available: Sequence[AvailableWheel] = (),
    max_size: int | None = None,
    suffix: str = SUFFIX,
    progress: Progress,
) -> Verdict:
    """Examine a wheel's bytes; if they pass, install it from an index of its own in clean environments.

    An earlier certificate with this `suffix` is removed: only current findings count. Wheels in `available` that it
    requires are installed with it. `max_size` is in bytes; None sets no limit. Raises UsageError if this machine lacks
    what the environments need.
    """
    certificate_path(file.path, suffix).unlink(missing_ok=True)
    contents, verdict = examine_bytes(file, provenance_of(file), max_size=max_size)
    if contents is None or not verdict.ok:
        progress.step(f"smoke: {file.filename}")
        return verdict
    outcome = tuple(_try(contents, environments, serve_index, available, progress))
    findings = dict.fromkeys(each for each in outcome if isinstance(each, Finding))
    clean = () if is_refused(outcome) else tuple(each for each in outcome if isinstance(each, CleanRoom))
    return replace(verdict, findings=(*verdict.findings, *findings), clean_rooms=clean)


def examine_bytes(
    file: WheelFile, provenance: Provenance | None, *, max_size: int | None = None
) -> tuple[Contents | None, Verdict]:
    """Judge a wheel by its bytes alone; nothing of it is installed or run.

    `provenance` sets the expectations; None if the wheel was not built here. `max_size` is in bytes; None sets no
    limit. The contents are None if the file cannot be read.
    """
    contents = open_wheel(file, provenance)
    verdict = partial(Verdict, file=file, provenance=provenance, clean_rooms=())
    if not isinstance(contents, Contents):
        return None, verdict(findings=contents, evidence=None)
    findings = findings_of(contents, max_size=max_size)
    return contents, verdict(findings=findings, evidence=contents.evidence, sizes=contents.sizes)


def _try(
    contents: Contents,
    environments: SmokeEnvironments,
    serve_index: ServeIndex,
    available: Sequence[AvailableWheel],
    progress: Progress,
) -> Iterable[CleanRoom | Finding]:
    """Test a wheel on every Python that it is for; stop at the first that refuses it."""
    cache = user_cache_path("wheelmill")  # so that environments can link files of the cache
    with temporary_folder(cache) as folder:
        try:
            required = {python: _required_wheels(contents, python, available, folder) for python in contents.pythons}
        except LookupError as error:
            detail = f"it requires {error}, and there is no wheel of that for it"
            return (Finding(code=Code.ENVIRONMENT, detail=detail),)
        except (NetworkError, ReleaseError) as error:
            return (Finding(code=Code.ENVIRONMENT, detail=str(error)),)
        outcome: list[CleanRoom | Finding] = []
        with serve_index(folder, {contents.file}.union(*required.values())) as index:
            for python, beside in required.items():
                progress.step(f"smoke: {contents.file.filename}{f' on Python {python}' if python else ''}")
                names = (contents.name, *(WheelName.parse(wheel.filename) for wheel in beside))
                exact = [f"{name.project}=={name.version}" for name in names]
                outcome += try_in_environments(
                    contents, python, environments, index, requirements=exact, progress=progress
                )
                if is_refused(outcome):
                    break
        return outcome


def _required_wheels(
    contents: Contents, python: PythonVersion | None, available: Sequence[AvailableWheel], folder: Path
) -> list[WheelFile]:
    if contents.provenance is None or python is None:
        return []
    requires = contents.expectations.requires
    return [each.fetch(folder) for each in find_required(contents.provenance.cell, python, requires, available)]


def find_required(
    cell: Cell, python: PythonVersion, requires: Sequence[ProjectName], available: Sequence[AvailableWheel]
) -> list[AvailableWheel]:
    """Find the wheels that a wheel built for ``cell`` requires on one Python, and their own requirements."""
    chosen: dict[ProjectName, AvailableWheel] = {}
    wanted = list(requires)
    while wanted:
        project = wanted.pop()
        if project in chosen:
            continue
        fitting = [
            wheel
            for wheel in available
            if wheel.cell.project == project and cell.is_served_by(wheel.cell) and python in wheel.pythons
        ]
        if not fitting:
            raise LookupError(project)
        chosen[project] = max(fitting, key=lambda wheel: Version(wheel.cell.version))
        wanted.extend(chosen[project].requires)
    return list(chosen.values())


def check_required(target: BuildTarget, available: Sequence[AvailableWheel]) -> None:
    """Check, before hours are spent on a build, that its required wheels exist; raises BuildError if one does not."""
    cell = target.cell
    try:
        for python in target.pythons:
            find_required(cell, python, target.package.expectations.requires, available)
    except LookupError as error:
        torch = f" --torch {cell.label.torch}" if cell.label.torch else ""
        message = f"{cell.id} requires {error}, of which there is no wheel for the same Python, CUDA and torch"
        hint = f"wheelmill run {error} {cell.project} --python {cell.python} --cuda {cell.cuda}{torch}"
        raise BuildError("requirement-not-built", message, hint=hint) from None
