"""``wheelmill init``: the files of a package that is built in its own repository."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from wheelmill.cli.shared.output import say
from wheelmill.config.load import OWN, load_compatibility, load_config, lock_path
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.upkeep.request import WORKFLOW, read_own_package, workflow_text
from wheelmill.errors import UsageError
from wheelmill.system import resources
from wheelmill.system.files import write_bytes
from wheelmill.system.own_installation import installed_from

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
            help="The wheelmill whose workflow builds, at this commit; by default the one that was installed here.",
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
    """Write wheelmill.yml, its lock and a workflow, with which a package's own repository builds its wheels."""
    package = read_own_package(directory, name=name, version=version)
    repository, reference = _split(source) if source else _installed_from()
    if not (directory / ".git").exists():
        say(f"{directory.absolute()} is not the root of a checkout, where alone GitHub finds workflows")
    own, workflow = directory / OWN, directory / WORKFLOW
    lock = lock_path(own)
    contents = {
        own: package.entry(load_compatibility(resources.CONFIG)),
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
    commands = "wheelmill config check", "wheelmill plan", f"wheelmill build {package.name} --here"
    width = max(map(len, commands))
    files = " ".join(map(str, (*contents, lock)))
    say(_NEXT.format(*(command.ljust(width) for command in commands), own=OWN, files=files))


def _refuse_others(contents: Mapping[Path, bytes | None], directory: Path) -> None:
    """Refuse to overwrite files that are not ours.

    Args:
        contents: what is to be written to each path; a file with just that is from a command that broke off. None where
            nothing may be there.
        directory: what they are written below.

    Raises:
        UsageError: something else is there, or in the place of a folder.
    """
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
    if (
        not (owner and name and reference)
        or not set(owner + name) <= _PLAIN
        or not set(reference) <= _PLAIN | {"/", "+"}
    ):
        raise UsageError("origin-invalid", f"--from: expected OWNER/REPO@REF, not {text!r}")
    return repository, reference


def _installed_from() -> tuple[str, str]:
    """The repository and commit that this wheelmill was installed from (PEP 610).

    Raises:
        UsageError: it was installed from somewhere else.
    """
    checkout = installed_from()
    words = checkout.url.removesuffix(".git").split("/") if checkout else []
    if not checkout or len(words) < 5 or words[0] != "https:":  # noqa: PLR2004 - https, nothing, host, owner, name
        raise UsageError(
            "origin-unknown",
            "this wheelmill was not installed from a repository, so the one whose workflow builds must be named",
            hint="--from OWNER/wheelmill@COMMIT",
        )
    return "/".join(words[3:5]), checkout.commit
