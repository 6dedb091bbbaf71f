"""Which packages a change touches, and which torches it adds: what a push or a pull request builds."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from wheelmill.config.document import parse_document
from wheelmill.config.load import COMPATIBILITY, lock_path
from wheelmill.config.model import Config
from wheelmill.errors import ConfigurationError, ProcessError, UsageError
from wheelmill.names import ProjectName, TorchVersion
from wheelmill.system.git import run_git

_LENGTH: Final = 40
"""Digits of a commit's whole name."""

Entries = Mapping[tuple[str, str], object]
"""What ``packages.yml`` and ``packages.lock`` say, by section and project."""


def changed_since(
    config: Config, reference: str, tell: Callable[[str], None] = lambda _text: None
) -> frozenset[ProjectName]:
    """Name the packages that changed since a commit: in their entry, their lock, or a file that the entry names.

    Args:
        config: the packages as they are now, in a git checkout.
        reference: a commit, branch or tag.
        tell: told where another commit is compared with than the one that was named.

    Raises:
        UsageError: the folder is in no git checkout, or the reference is not in it.
    """
    folder = config.directory
    commit = _base_of(folder, reference, tell)
    touched = run_git(folder, "diff", "--name-only", "--relative", "-z", commit).split("\0")
    was = _entries(config.file, lambda path: run_git(folder, "show", f"{commit}:./{path.name}").encode())
    now = _entries(config.file, Path.read_bytes)
    rewritten = {key[1] for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    return frozenset(
        name
        for name in config.packages
        if name in rewritten
        or any(path.is_relative_to(own) for own in _paths_in(now["packages", name]) for path in map(Path, touched))
    )


def added_torches(config: Config, reference: str) -> tuple[TorchVersion, ...]:
    """The torches and release candidates that ``compatibility.yml`` has and had not at a commit, ascending.

    None where the file was not there, or cannot be read as it was.

    Raises:
        UsageError: the folder is in no git checkout, or the reference is not in it.
    """
    folder = config.directory
    commit = _base_of(folder, reference)
    now = config.compatibility.torch
    try:
        before = run_git(folder, "show", f"{commit}:./{COMPATIBILITY}").encode()
        torch = parse_document(Path(COMPATIBILITY), before).content["torch"]
        was = {TorchVersion.parse(key) for section in ("releases", "candidates") for key in torch.get(section, ())}
    except (ProcessError, ConfigurationError, TypeError, LookupError, AttributeError, ValueError):
        return ()
    return tuple(sorted({*now, *now.candidates} - was))


def _base_of(folder: Path, reference: str, tell: Callable[[str], None] = lambda _text: None) -> str:
    """Where the history that is checked out left that of a reference: what that one did since is no change of ours.

    After a force push that names the commit before it, no branch leads to that commit, and a new checkout lacks it.
    Then the last commit alone is looked at: everything would be too much, and a dispatch builds what is not published.
    https://docs.github.com/en/webhooks/webhook-events-and-payloads#push
    """
    try:
        commit = run_git(folder, "rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}").strip()
        return run_git(folder, "merge-base", commit, "HEAD").strip()
    except ProcessError as error:
        if not _is_commit(reference):
            raise UsageError(
                "ref-unknown", f"--changed-since: git does not know {reference!r} in {folder}: {error.tail}"
            ) from None
    tell(
        f"--changed-since: {reference} is not in this checkout, as after a force push: only the last commit is compared"
        " with the one before it; 'wheelmill plan' without --changed-since has whatever is not published"
    )
    try:
        return run_git(folder, "rev-parse", "--verify", "HEAD^").strip()
    except ProcessError as error:
        raise UsageError(
            "no-parent-commit", f"--changed-since: there is no commit before this one in {folder}: {error.tail}"
        ) from None


def _is_commit(reference: str) -> bool:
    """Whether a reference is the whole name of a commit, and no branch that somebody mistyped."""
    return len(reference) == _LENGTH and set(reference) <= set(string.hexdigits)


def _entries(packages: Path, read: Callable[[Path], bytes]) -> Entries:
    """What a file of packages and its lock say; nothing of one that is not there or cannot be read."""
    entries: dict[tuple[str, str], object] = {}
    for path in (packages, lock_path(packages)):
        with suppress(OSError, ProcessError, ConfigurationError):
            content = parse_document(path, read(path)).content
            for section, projects in content.items() if isinstance(content, dict) else ():
                if isinstance(projects, dict):
                    entries |= {(section, project): entry for project, entry in projects.items()}
    return entries


def _paths_in(entry: object) -> Iterator[str]:
    """The files and folders that an entry of ``packages.yml`` names."""
    if isinstance(entry, dict):
        yield from entry.get("patches", ())
        yield from (path for key in ("smoke_script", "source") if isinstance(path := entry.get(key), str))
