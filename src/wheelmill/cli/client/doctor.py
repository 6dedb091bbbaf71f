"""``wheelmill doctor``: what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.client.project import ProjectOption
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say
from wheelmill.cli.shared.target import TargetOptions
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.environment.doctor import (
    Defect,
    defects_of_environment,
    defects_of_lock,
    defects_of_project,
    defects_of_project_urls,
)
from wheelmill.client.environment.windows import windows_of
from wheelmill.client.install.distributions import distributions_of
from wheelmill.client.lock.files import read_lock
from wheelmill.client.project.find import project_file
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.errors import FindingsError


@with_groups
def doctor(
    *,
    target: TargetOptions,
    project: ProjectOption = None,
    lock: Annotated[
        Path | None, typer.Option("--lock", help="The lock; pylock.toml beside the project.", metavar="FILE")
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for what is wrong: driver, torch, ABI, duplicates, the usual index in the way, URLs.

    Exits with 9 when anything is. Nothing is changed.
    """
    defects = []
    for defect in _defects(target, project_file(project), lock, offline=offline):
        defects.append(defect)
        say(f"{defect.subject}: {defect.code}: {defect.detail}")
    if as_json:
        print_json("wheelmill.doctor/1", faults=[asdict(defect) for defect in defects])
    if defects:
        raise FindingsError(f"{len(defects)} faults")
    say("nothing is wrong")


def _defects(target: TargetOptions, path: Path, lock: Path | None, *, offline: bool) -> Iterator[Defect]:
    environment = target.detect()
    if environment.interpreter:
        installed = distributions_of(environment.interpreter)
        windows = windows_of(environment.interpreter, installed)
        yield from defects_of_environment(environment, installed, read_facts(), windows)
    pyproject = Pyproject.read(path)
    yield from defects_of_project(pyproject)
    if offline:
        return
    from wheelmill.web.client import Web  # noqa: PLC0415 - httpx

    with Web() as web:
        yield from defects_of_project_urls(pyproject, web)
        locked = lock or path.with_name("pylock.toml")
        if lock or locked.exists():
            yield from defects_of_lock(read_lock(locked), web)
