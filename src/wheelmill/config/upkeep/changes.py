"""Which packages a change touches: what a push or a pull request builds again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from wheelmill.config.document import parse_document
from wheelmill.config.load import LOCK, PACKAGES
from wheelmill.config.model import Config
from wheelmill.errors import ConfigurationError, ProcessError, UsageError
from wheelmill.names import ProjectName
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
    try:
        commit = run_git(folder, "rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}").strip()
        touched = run_git(folder, "diff", "--name-only", "--relative", "-z", commit).split("\0")
    except ProcessError as error:
        raise UsageError(f"--changed-since: git does not know {reference!r} in {folder}: {error.tail}") from None
    was = _entries(lambda name: run_git(folder, "show", f"{commit}:./{name}").encode())
    now = _entries(lambda name: (folder / name).read_bytes())
    rewritten = {key[1] for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    return frozenset(
        name
        for name in config.packages
        if name in rewritten
        or any(path.is_relative_to(own) for own in _paths_in(now["packages", name]) for path in map(Path, touched))
    )


def _entries(read: Callable[[str], bytes]) -> Entries:
    """What both files say; nothing of one that is not there or cannot be read."""
    entries: dict[tuple[str, str], object] = {}
    for name in (PACKAGES, LOCK):
        with suppress(OSError, ProcessError, ConfigurationError):
            content = parse_document(Path(name), read(name)).content
            for section, projects in content.items() if isinstance(content, dict) else ():
                if isinstance(projects, dict):
                    entries |= {(section, project): entry for project, entry in projects.items()}
    return entries


def _paths_in(entry: object) -> Iterator[str]:
    """The files and folders that an entry of ``packages.yml`` names."""
    if isinstance(entry, dict):
        yield from entry.get("patches", ())
        yield from (path for key in ("smoke_script", "source") if isinstance(path := entry.get(key), str))
