"""``wheelmill config add`` and ``init``: an entry of packages.yml, or the files of a package's own factory."""

from __future__ import annotations

import os
import string
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from wheelmill.cli.factory.inputs import CloneOption, ConfigOption, config_to_change, hold_config, use_clones
from wheelmill.cli.shared.commands import JsonOption, print_json, print_quoted, say
from wheelmill.cli.shared.options import with_groups
from wheelmill.config.load import OWN, load_compatibility, load_config, lock_path
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.maintenance.amend import amend, entry_text, without_defaults
from wheelmill.config.maintenance.request import WORKFLOW, own_text, read_request, survey_request, workflow_text
from wheelmill.config.model.config import Config
from wheelmill.config.survey.entry import Guess, survey_checkout, survey_project
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.system import own_installation
from wheelmill.system.files import write_bytes
from wheelmill.system.own_installation import installed_from

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import ConfigAdd


@dataclass(frozen=True, kw_only=True)
class OriginOptions:
    """The origin of an entry, if a project's name is not enough."""

    issue: Annotated[
        Path | None,
        typer.Option(
            "--from-issue",
            help="Survey the source that an issue names; its answers to the request form override guesses.",
            metavar="FILE",
        ),
    ] = None
    subdirectory: Annotated[
        str | None, typer.Option(help="The folder of the repository that is built.", metavar="FOLDER")
    ] = None
    version: Annotated[
        str | None,
        typer.Option(
            help="This version; required for a repository whose source does not state one.",
            metavar="VERSION",
        ),
    ] = None
    clone: CloneOption = None


@dataclass(frozen=True, kw_only=True)
class EntryOptions:
    """The configuration that gets an entry, and the form in which the entry is printed."""

    replace: Annotated[bool, typer.Option("--replace", help="Overwrite the existing entry.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the entry, and write nothing.")] = False
    directory: ConfigOption = None
    as_json: JsonOption = False

    def print(self, name: str, entry: Mapping[str, object], guesses: Sequence[Guess]) -> None:
        """Print an entry as JSON, or as packages.yml will have it."""
        if self.as_json:
            content: ConfigAdd = {
                "schema": "wheelmill.config-add/1",
                "project": name,
                "entry": {**entry} | {guess.key: guess.value for guess in guesses if guess.key in entry},
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
        elif self.dry_run:
            print_quoted(entry_text(name, entry))

    def write(self, config: Config, name: ProjectName, entry: Mapping[str, object]) -> None:
        """Write an entry and its lock, or neither; refuse to overwrite an entry without ``--replace``."""
        if name in config.packages and not self.replace:
            package = config.packages[name]
            is_locked = all(config.lock.source_of(package, version) for version in package.versions)
            hint = "add the versions to its entry, or --replace it"
            hint = hint if is_locked else f"'wheelmill config lock {name}' locks it; or --replace it"
            raise UsageError("entry-exists", f"{name} is in {config.file} already", hint=hint)
        before, lock = config.file.read_bytes(), lock_path(config.file)
        amend(config.file, {("packages", name): dict(entry)})
        with ExitStack() as undo:
            undo.callback(_restore, config.file, before, config.file.read_bytes())
            write_lock(lock_packages(config_to_change(self.directory), {name}).whole(), lock)
            undo.pop_all()
        say(f"{config.file}: added {name}")
        say(f"{lock}: locked {name}; {_next_step(load_config(config.file), name)}")


def _next_step(config: Config, name: ProjectName) -> str:
    """Name the command that builds a sample of a package, with the options for one that is not built by default."""
    for everything in (False, True):
        wanted = Filters(projects=(name,), everything=everything, sample=True)
        if targets := make_plan(config, wanted, published={}).targets:
            options = min((_outside(target) for target in reversed(targets)), key=len)  # reversed: the newest first
            how = "it has no wheel by default; try another" if options else "now try it"
            return f"{how}: {' '.join(('wheelmill run', name, '--sample', *options))}"
    return f"it has no wheel; the reasons: wheelmill plan {name} --all --skips"


def _outside(target: BuildTarget) -> list[str]:
    """Return the options that ask for a target where its package's default window excludes it."""
    values = ((bound, getattr(target.cell, bound.axis)) for bound in target.package.window.bounds)
    return [f"--{bound.axis} {value}" for bound, value in values if not bound.admits(value)]


def _restore(file: Path, before: bytes, amended: bytes) -> None:
    """Undo a change of a file, unless it was edited since, such as while the index was asked."""
    if file.read_bytes() == amended:
        write_bytes(file, before)


@with_groups
def add(
    project: Annotated[
        str | None,
        typer.Argument(
            help="A project of the package index, or the https:// address of a git repository and @REF.",
            metavar="[PROJECT|GIT_URL[@REF]]",
        ),
    ] = None,
    *,
    origin: OriginOptions,
    options: EntryOptions,
) -> None:
    """Write and lock an entry of packages.yml from a survey of its source, which is never run.

    Prints every guess with the source line behind it. Exits with 2 if a project needs no build, and says why.
    """
    if bool(project) == bool(origin.issue):
        raise UsageError("nothing-named", "name a project or a git repository, or an issue with --from-issue")
    file = config_to_change(options.directory).file  # one with faults is refused before a source is fetched
    named = {"version": origin.version, "subdirectory": origin.subdirectory}
    with use_clones(origin.clone):
        survey = (
            survey_request(read_request(origin.issue), **named)
            if origin.issue
            else survey_project(project or "", **named)
        )
        _say_guesses(survey.guesses)
        entry = without_defaults(file, survey.entry)
        options.print(survey.name, entry, survey.guesses)
        if not options.dry_run:
            with hold_config(options.directory) as config:
                options.write(config, survey.name, entry)


def _say_guesses(guesses: Iterable[Guess]) -> None:
    for guess in guesses:
        say(f"{guess.key or 'note'}: {guess}")


_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "-_.")
"""Characters of the names of owners, repositories and references; no others reach the workflow."""
_NEXT: Final = """\
Next:
  {}  names every fault of {own}
  {}  lists the wheels that it asks for
  {}  builds the one for this machine's GPU and the project's torch
Commit {files}. In the repository's settings, once:
  Pages: source GitHub Actions
  Environments, github-pages: a deployment rule for the tags v*
Then every tag that is pushed (v1.2.3) has its wheels built, released and listed."""


def init(
    directory: Annotated[
        Path, typer.Argument(help="The package's checkout.", metavar="[DIR]", exists=True, file_okay=False)
    ] = Path(),
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Repository and commit of the wheelmill whose workflow builds; by default the one installed here.",
            metavar="OWNER/REPO@REF",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The package's name, where its source computes it.", metavar="NAME")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="Its version, where its source computes it.", metavar="VERSION")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the files, and write nothing.")] = False,
) -> None:
    """Write wheelmill.yml, its lock and a workflow, so that a package's own repository builds its wheels."""
    survey = survey_checkout(directory, name=name, version=version)
    _say_guesses(survey.guesses)
    repository, reference = _split(source) if source else _installed_from()
    if not (directory / ".git").exists():
        say(f"{directory.absolute()} is not the root of a checkout, where alone GitHub finds workflows")
    own, workflow = directory / OWN, directory / WORKFLOW
    lock = lock_path(own)
    contents = {
        own: own_text(survey, load_compatibility(own_installation.CONFIG)),
        workflow: workflow_text(repository, reference),
    }
    _refuse_others({path: text.encode() for path, text in contents.items()} | {lock: None}, directory)
    for path, text in contents.items():
        if dry_run:
            typer.echo(f"# {path}\n{text}")
        else:
            write_bytes(path, text.encode())
            say(f"{path}: written")
    if dry_run:
        typer.echo(f"# {lock}: the build requirements, with their hashes")
        return
    config = load_config(own, check_ranges=True)
    write_lock(lock_packages(config, ()).whole(), lock)
    say(f"{lock}: written")
    _say_next_steps(survey.name, (*contents, lock))


def _say_next_steps(name: str, files: Iterable[Path]) -> None:
    commands = "wheelmill config check", "wheelmill plan", f"wheelmill build {name} --here"
    width = max(map(len, commands))
    aligned = (command.ljust(width) for command in commands)
    say(_NEXT.format(*aligned, own=OWN, files=" ".join(map(str, files))))


def _refuse_others(contents: Mapping[Path, bytes | None], directory: Path) -> None:
    """Refuse to overwrite files, except with the same content, as after an interruption; None stands for no file."""
    folders = {folder for path in contents for folder in path.parents if directory in folder.parents}
    others = [folder for folder in folders if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir())]
    others += [
        path
        for path, content in contents.items()
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file() or path.read_bytes() != content)
    ]
    if others:
        there = ", ".join(map(str, sorted(others)))
        raise UsageError("file-exists", f"already there: {there}", hint="remove what should be written again")


def _split(text: str) -> tuple[str, str]:
    repository, _, reference = text.partition("@")
    owner, _, name = repository.partition("/")
    is_plain = set(owner + name) <= _PLAIN and set(reference) <= _PLAIN | {"/", "+"}
    if not (owner and name and reference and is_plain):
        raise UsageError("origin-invalid", f"--from: expected OWNER/REPO@REF, not {text!r}")
    return repository, reference


def _installed_from() -> tuple[str, str]:
    """Return the repository and commit that this wheelmill was installed from (PEP 610)."""
    checkout = installed_from()
    words = checkout.url.removesuffix(".git").split("/") if checkout else []
    if not checkout or len(words) < 5 or words[0] != "https:":  # noqa: PLR2004 - https, nothing, host, owner, name
        raise UsageError(
            "origin-unknown",
            "this wheelmill was not installed from a repository, so the one whose workflow builds must be named",
            hint="--from OWNER/wheelmill@COMMIT",
        )
    return "/".join(words[3:5]), checkout.commit
