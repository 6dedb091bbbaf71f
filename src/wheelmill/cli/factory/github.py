"""``wheelmill github``: the repository that a factory runs in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import FindingsError
from wheelmill.system.process import printable
from wheelmill.system.progress import SYSTEM_CLOCK

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import GithubCheck

app = typer.Typer(no_args_is_help=True, help="Look at the settings of the repository that a factory runs in.")


@app.callback()
def _github() -> None:
    """Make typer ask for a command also while there is only one."""


@app.command()
def check(
    repository: Annotated[str, typer.Argument(help="The repository.", metavar="OWNER/REPO", show_default=False)],
    *,
    as_json: JsonOption = False,
) -> None:
    """Compare a repository's settings with what the workflows need; GITHUB_TOKEN says who asks.

    What the token may not see is reported, too. Exits with 9 on findings, and where something was not seen.
    """
    from wheelmill.hosting.read import read_settings  # needs the factory extra
    from wheelmill.hosting.rules import WrongSetting, examine
    from wheelmill.hosting.settings import Unseen
    from wheelmill.release.github import Repository
    from wheelmill.release.github.api import Calls, Pace

    asked = Repository.parse(repository, os.environ)
    if asked.token is None:
        say("GITHUB_TOKEN is not set: what only the owner sees is not seen; GITHUB_TOKEN=$(gh auth token) shows it")
    with progress() as shown, Calls(asked, Pace(SYSTEM_CLOCK), shown) as calls:
        found = examine(read_settings(asked, calls))
    unseen = [each for each in found if isinstance(each, Unseen)]
    findings = [each for each in found if isinstance(each, WrongSetting)]
    if as_json:
        content: GithubCheck = {
            "schema": "wheelmill.github-check/1",
            "findings": [
                {"code": each.code, "what": each.what, "why": each.code.why, "remedy": [*each.remedy]}
                for each in findings
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
    if found:
        raise typer.Exit(FindingsError.exit_code)
