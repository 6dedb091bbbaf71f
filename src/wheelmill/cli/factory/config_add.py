"""``wheelmill config add``: an entry of packages.yml, made of a source or of a package request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.inputs import CloneOption, ConfigOption, config_to_change, hold_config, use_clones
from wheelmill.cli.shared.output import JsonOption, print_json, print_quoted, say
from wheelmill.config.load import lock_path
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.model import Config
from wheelmill.config.upkeep.amend import amend, entry_text
from wheelmill.config.upkeep.request import read_request
from wheelmill.errors import UsageError

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import ConfigAdd
    from wheelmill.config.survey.entry import Guess


def add(
    project: Annotated[
        str | None,
        typer.Argument(
            help="A project of the package index, or the https:// address of a git repository and @REF.",
            metavar="[PROJECT|GIT_URL[@REF]]",
        ),
    ] = None,
    *,
    issue: Annotated[
        Path | None,
        typer.Option(
            "--from-issue",
            help="Read the text of an issue that answers the request form, instead of a project.",
            metavar="FILE",
        ),
    ] = None,
    subdirectory: Annotated[
        str | None, typer.Option(help="The folder of the repository that is built.", metavar="FOLDER")
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            help="This version; for a repository whose source does not state one, the version that it has.",
            metavar="VERSION",
        ),
    ] = None,
    clone: CloneOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the existing entry.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the entry, and write nothing.")] = False,
    directory: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write an entry of packages.yml by looking at a source, which is never run, and lock it.

    Says every guess with the line it comes from. Exits with 2 where a project needs no build, and says why.
    """
    from wheelmill.config.survey.entry import survey_project  # noqa: PLC0415 - reads sources, which others do not

    if bool(project) == bool(issue):
        raise UsageError("nothing-named", "name a project or a git repository, or an issue with --from-issue")
    config_to_change(directory)  # a configuration with faults is refused before a source is fetched
    if issue:
        _add_requested(issue, directory, replaces=replace, dry_run=dry_run, as_json=as_json)
        return
    with use_clones(clone):
        found = survey_project(project or "", version=version, subdirectory=subdirectory)
        for guess in found.guesses:
            say(f"{guess.key or 'note'}: {guess}")
        if as_json:
            _print(found.name, {guess.key: guess.value for guess in found.guesses if guess.key}, found.guesses)
        elif dry_run:
            print_quoted(entry_text(found.name, found.entry))
        if not dry_run:
            with hold_config(directory) as config:
                _write(config, found.name, found.entry, replaces=replace)
                write_lock(lock_packages(config_to_change(directory), {found.name}).whole(), lock_path(config.file))
            say(f"{lock_path(config.file)}: locked {found.name}; now try it: wheelmill run {found.name} --sample")


def _add_requested(issue: Path, directory: Path | None, *, replaces: bool, dry_run: bool, as_json: bool) -> None:
    """Write the entry that a package request asks for; locking it is for whoever has read it."""
    request = read_request(issue)
    if as_json:
        _print(request.name, request.entry, ())
    elif dry_run:
        print_quoted(entry_text(request.name, request.entry))
    if not dry_run:
        with hold_config(directory) as config:
            _write(config, request.name, request.entry, replaces=replaces)
        say(f"now run: wheelmill config lock {request.name}")
    for line in request.left:
        say(f"not in the entry, for you to read: {line}")


def _write(config: Config, name: str, entry: Mapping[str, object], *, replaces: bool) -> None:
    """Write an entry.

    Raises:
        UsageError: there is one, and it is to stay.
    """
    if name in config.packages and not replaces:
        raise UsageError(
            "entry-exists", f"{name} is in {config.file} already", hint="add the versions to its entry, or --replace it"
        )
    amend(config.file, {("packages", name): dict(entry)})
    say(f"{config.file}: added {name}")


def _print(name: str, entry: Mapping[str, object], guesses: Iterable[Guess]) -> None:
    """Print the JSON of the contract."""
    content: ConfigAdd = {
        "schema": "wheelmill.config-add/1",
        "project": name,
        "entry": {**entry},
        "guesses": [
            {
                "key": guess.key or None,
                "file": guess.place.file if guess.place else None,
                "line": guess.place.line if guess.place else None,
                "says": guess.says,
            }
            for guess in guesses
        ],
    }
    print_json(content)
