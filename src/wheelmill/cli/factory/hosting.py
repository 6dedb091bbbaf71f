"""``wheelmill github`` and ``wheelmill export``: the repository of a factory, and wheels for Hugging Face's Hub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import FindingsError, UsageError, WheelmillError
from wheelmill.system.process import printable
from wheelmill.system.progress import SYSTEM_CLOCK

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import GithubCheck

github = typer.Typer(no_args_is_help=True, help="Check the settings of a factory's repository.")
export = typer.Typer(no_args_is_help=True, help="Export wheels for other hosts.")


@github.callback()
@export.callback()
def _group() -> None:
    """Make typer require the name of a command although there is only one."""


@github.command()
def check(
    repository: Annotated[str, typer.Argument(help="The repository.", metavar="OWNER/REPO", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Compare a repository's settings with the needs of the workflows, with the rights of GITHUB_TOKEN.

    Reports what the token may not see, too. Exits with 9 on findings, and if anything was not seen.
    """
    from wheelmill.hosting.read import read_settings  # needs the factory extra
    from wheelmill.hosting.rules import WrongSetting, examine
    from wheelmill.hosting.settings import Unseen
    from wheelmill.release.github.api import Calls, Pace, Repository

    asked = Repository.parse(repository, os.environ)
    if asked.token is None:
        say("GITHUB_TOKEN is not set: what only the owner sees is not seen; GITHUB_TOKEN=$(gh auth token) shows it")
    with progress() as shown, Calls(asked, Pace(SYSTEM_CLOCK), shown, attended=True) as calls:
        examined = examine(read_settings(asked, calls))
    unseen = [each for each in examined if isinstance(each, Unseen)]
    findings = [each for each in examined if isinstance(each, WrongSetting)]
    if as_json:
        content: GithubCheck = {
            "schema": "wheelmill.github-check/1",
            "findings": [
                {"code": finding.code, "what": finding.what, "why": finding.code.why, "remedy": [*finding.remedy]}
                for finding in findings
            ],
            "unseen": unseen,
        }
        print_json(content)
    else:
        for finding in findings:
            lines = (f"{finding.code}: {finding.what}", finding.code.why, *finding.remedy)
            typer.echo(printable("\n    ".join(lines)))
        for setting in unseen:
            typer.echo(printable(f"not seen: {setting.what}: needs {setting.needs}"))
    say(f"findings: {len(findings)}; not seen: {len(unseen)}")
    if examined:
        raise typer.Exit(FindingsError.exit_code)


@export.command()
def kernels(
    wheels: Annotated[list[Path], typer.Argument(help="Wheel files.", metavar="WHEEL...", exists=True, dir_okay=False)],
    *,
    output: Annotated[
        Path, typer.Option(help="Folder to write to: its folder build gets one for each wheel.", metavar="DIR")
    ],
    kernel_version: Annotated[int, typer.Option(help="Version of the kernel on the Hub.", metavar="N", min=1)] = 1,
    module: Annotated[
        str | None, typer.Option(help="The module to import, where a wheel has several.", metavar="NAME")
    ] = None,
) -> None:
    """Export wheels for torch's stable ABI as Hugging Face's kernels loads them.

    Prints the folders. Exits with 9 where a wheel is refused; nothing is written then.
    """
    from wheelmill.hosting.kernels import kernel_of, write_kernels  # needs the factory extra

    kernels, refused = [], []
    for wheel in wheels:
        try:
            kernels.append(kernel_of(wheel, version=kernel_version, module=module))
        except WheelmillError as error:
            say(f"{wheel.name}: {error.explained}")
            refused.append(wheel.name)
    if refused:
        raise FindingsError("wheels-refused", f"refused: {', '.join(refused)}")
    if len(projects := {kernel.contents.name.project for kernel in kernels}) > 1:
        raise UsageError("one-project-only", f"expected wheels of one project, not of {', '.join(sorted(projects))}")
    for kernel in kernels:
        if kernel.unmet:
            needs = ", ".join(kernel.unmet)
            say_warning(f"{kernel.contents.file.filename} needs {needs}, which kernels does not install")
    for folder in write_kernels(kernels, output):
        typer.echo(printable(str(folder)))
