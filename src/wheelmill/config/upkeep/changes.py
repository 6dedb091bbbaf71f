"""Which packages a change touches, and which torches it adds: what a push or a pull request builds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from wheelmill.config.document import parse_document
from wheelmill.config.load import COMPATIBILITY, lock_path
from wheelmill.config.model import Config
from wheelmill.errors import ConfigurationError, ProcessError, UsageError
from wheelmill.names import ProjectName, TorchVersion
from wheelmill.system.git import run_git

Entries = Mapping[tuple[str, str], object]
"""What ``packages.yml`` and ``packages.lock`` say, by section and project."""


def changed_since(config: Config, reference: str) -> frozenset[ProjectName]:
    """Name the packages that differ from a commit: in their entry, their lock, or a file that the entry names.

    Args:
        config: the packages as they are now, in a git checkout.
        reference: a commit, branch or tag.

    Raises:
        UsageError: the folder is in no git checkout, or the reference is not in it.
    """
    folder = config.directory
    commit = _commit_of(folder, reference)
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
    commit = _commit_of(folder, reference)
    now = config.compatibility.torch
    try:
        before = run_git(folder, "show", f"{commit}:./{COMPATIBILITY}").encode()
        torch = parse_document(Path(COMPATIBILITY), before).content["torch"]
        was = {TorchVersion.parse(key) for section in ("releases", "candidates") for key in torch.get(section, ())}
    except (ProcessError, ConfigurationError, TypeError, LookupError, AttributeError, ValueError):
        return ()
    return tuple(sorted({*now, *now.candidates} - was))


def _commit_of(folder: Path, reference: str) -> str:
    try:
        return run_git(folder, "rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}").strip()
    except ProcessError as error:
        raise UsageError(f"--changed-since: git does not know {reference!r} in {folder}: {error.tail}") from None


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
