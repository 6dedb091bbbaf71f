"""``wheelmill doctor``: faults of an environment, and their remedies."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.client.change import ProjectOptions, environment_transaction, roll_back_interrupted
from wheelmill.cli.client.downloads import download_bars, wheel_cache
from wheelmill.cli.client.resolve import SearchOptions, no_wheel_error, package_argument, print_resolution
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import TargetOptions, requirements_of, with_groups
from wheelmill.client.choose.resolve import read_facts, resolve
from wheelmill.client.install.import_test import name_sections
from wheelmill.errors import FindingsError, UsageError, WheelmillError
from wheelmill.installers.uv import find_uv, run_installer
from wheelmill.system.progress import number_of
from wheelmill.web.budget import Budget

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import Doctor
    from wheelmill.client.doctor.examination import Examination
    from wheelmill.client.doctor.remedies import Remedy
    from wheelmill.client.project.tool_project import Project


@with_groups
def doctor(
    packages: Annotated[
        list[str] | None,
        package_argument("Packages to choose, download and check instead of a project.", "[REQUIREMENT...]"),
    ] = None,
    *,
    target: ProjectOptions,
    search: SearchOptions,
    lock: Annotated[
        Path | None, typer.Option("--lock", help="The lock; pylock.toml beside the project.", metavar="FILE")
    ] = None,
    all_hashes: Annotated[
        bool, typer.Option("--all-hashes", help="Hash large files, too, which takes a second per gigabyte or more.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Run the commands that fix the faults, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run them without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check an environment, its project and its lock: torch, files, compiled code, driver, URLs.

    Exits with 9 when anything is wrong. Nothing is changed without --fix.
    """
    _check_consent(fix=fix, yes=yes)
    belongs_to = None if packages else _project(target)
    chosen = target.here(belongs_to)
    roll_back_interrupted(chosen)

    def examine() -> Examination:
        if packages:
            return _examine_choice(packages, chosen, search)
        return _examine(chosen, search, belongs_to, lock, all_hashes=all_hashes)

    examination = examine()
    _print_examination(examination)
    if fix:
        examination = _remedy_faults(examination, examine, chosen, ask=not yes)
    if as_json:
        print_json(_content(examination))
    if examination.faults:
        hint = name_sections(defect.code for defect, _ in examination.faults)
        raise FindingsError("faults-found", number_of(len(examination.faults), "fault"), hint=hint)
    say("nothing is wrong")


def _check_consent(*, fix: bool, yes: bool) -> None:
    if yes and not fix:
        raise UsageError("option-needs-other", "--yes is for --fix")
    if fix and not yes and not sys.stdin.isatty():
        raise UsageError(
            "nobody-to-ask", "--fix asks before it runs a command, and stdin is no terminal", hint="add --yes"
        )


def _content(examination: Examination) -> Doctor:
    return {
        "schema": "wheelmill.doctor/1",
        "faults": [
            {"code": defect.code, "subject": defect.subject, "detail": defect.detail, "mended_by": remedy.lines}
            for defect, remedy in examination.faults
        ],
        "looked_at": dict(examination.looked_at),
    }


def _examine(
    target: TargetOptions, search: SearchOptions, project: Project | None, lock: Path | None, *, all_hashes: bool
) -> Examination:
    from wheelmill.client.doctor.examination import examine
    from wheelmill.client.doctor.inventory import read_environment

    search.search(project)  # its indexes may have credentials
    environment = target.detect()
    with download_bars() as shown:
        examined = read_environment(
            environment, read_facts(), started_in=Path.cwd(), all_hashes=all_hashes, progress=shown
        )
    budget = None if search.offline else Budget(search.timeout)  # a new one for each examination that --fix makes
    program = "uv" if shutil.which("uv") else find_uv()
    return examine(examined, project, lock, budget, uv=str(program) if program else None)


def _project(target: ProjectOptions) -> Project | None:
    """Find the project of the environment; None if wheelmill cannot read it and it was not named."""
    try:
        return target.find_project()
    except UsageError as error:
        if target.project:
            raise
        say(f"note: only the environment is examined: {error}")
        return None


def _examine_choice(packages: Sequence[str], target: TargetOptions, search: SearchOptions) -> Examination:
    """Choose wheels and download them into the cache, which checks their hashes."""
    from wheelmill.client.doctor.examination import Examination, defects_of_wheel
    from wheelmill.client.doctor.remedies import Remedy

    resolution = resolve(requirements_of(packages), target.detect(), search.search())
    print_resolution(resolution)
    if resolution.unresolved:
        raise no_wheel_error([resolution])
    wheels = [choice.candidate for choice in resolution.choices.values()]
    with wheel_cache(search) as cache:
        defects = [defect for wheel in wheels for defect in defects_of_wheel(wheel, cache)]
    promised = {each.filename: f"sha256 {each.sha256}" if each.sha256 else "without a promised hash" for each in wheels}
    remedy = Remedy(advice="look for another one with --refresh, or in other sources")
    return Examination(
        looked_at={wheel.filename: f"{wheel.url}, {promised[wheel.filename]}" for wheel in wheels},
        faults=[(defect, remedy) for defect in defects],
    )


def _print_examination(examination: Examination) -> None:
    for what, seen in examination.looked_at.items():
        say(f"looked at {what}: {seen}")
    for defect, remedy in examination.faults:
        say(f"{defect.subject}: {defect.code}: {defect.detail}", essential=True)
        for line in remedy.lines:
            say(f"  {'fix' if remedy.commands else 'by hand'}: {line}", essential=True)


def _remedy_faults(
    examination: Examination, examine: Callable[[], Examination], target: TargetOptions, *, ask: bool
) -> Examination:
    """Run the commands that remedy faults, each once and undone if one for a fault fails, and examine again."""
    from wheelmill.client.doctor.remedies import started_as

    tried: set[Remedy] = set()
    while remedy := next((each for _, each in examination.faults if each.commands and each not in tried), None):
        tried.add(remedy)
        if ask and not _agrees_to(f"run {' && '.join(remedy.lines)}?"):
            continue
        try:
            undone = nullcontext() if remedy.is_ours else environment_transaction(target)
            with undone as outcome, download_bars() as shown:
                for command, line in zip(remedy.commands, remedy.lines, strict=True):
                    say(f"running {line}")
                    run_installer(started_as(command), shown)
            if outcome:
                outcome.print_lines()
        except WheelmillError as error:
            say(f"it failed: {error.explained}", essential=True)
        examination = examine()
    _print_examination(examination)
    return examination


def _agrees_to(question: str) -> bool:
    """Ask the user; Ctrl-C and Ctrl-D end the command as Ctrl-C does elsewhere."""
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        say("")  # the line of the question
        raise KeyboardInterrupt from None
