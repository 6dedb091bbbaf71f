"""Which packages a change touches: what a push or a pull request builds again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from wheelmill import process
from wheelmill.config.document import read_document
from wheelmill.config.load import LOCK, PACKAGES
from wheelmill.config.records import Config
from wheelmill.errors import ConfigurationError, ProcessError, UsageError
from wheelmill.names import ProjectName


def changed_since(config: Config, reference: str) -> frozenset[ProjectName]:
    """Name the packages that differ from a commit: in their entry, their lock, their patches or their source.

    Args:
        config: the packages as they are now, in a git checkout.
        reference: a commit, branch or tag.

    Raises:
        UsageError: the folder is in no git checkout, or the reference is not in it.
    """
    folder = config.directory
    try:
        commit = _git(folder, "rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}").strip()
        touched = [folder / name for name in _git(folder, "diff", "--name-only", "--relative", commit).splitlines()]
    except ProcessError as error:
        raise UsageError(f"--changed-since: git does not know {reference!r} in {folder}: {error.tail}") from None
    sections = [
        (was, now)
        for name in (PACKAGES, LOCK)
        for was, now in _sections(_content_at(folder, commit, name), _content(folder / name))
    ]
    return frozenset(
        name
        for name, package in config.packages.items()
        if any(was.get(name) != now.get(name) for was, now in sections)
        or any(path in package.patches for path in touched)
        or (isinstance(package.source, Path) and any(path.is_relative_to(package.source) for path in touched))
    )


def _sections(was: dict[str, Any], now: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The mappings by project in two versions of a file, side by side."""
    return [(was.get(key) or {}, now.get(key) or {}) for key in sorted(was.keys() | now.keys())]


def _content_at(folder: Path, commit: str, name: str) -> dict[str, Any]:
    """What a file held at a commit; nothing when it was not there or could not be read."""
    try:
        text = _git(folder, "show", f"{commit}:./{name}")
    except ProcessError:
        return {}
    with tempfile.TemporaryDirectory(prefix="wheelmill-") as old:
        (Path(old) / name).write_text(text)
        try:
            return _content(Path(old) / name)
        except ConfigurationError:
            return {}


def _content(path: Path) -> dict[str, Any]:
    return read_document(path).content or {} if path.exists() else {}


def _git(folder: Path, *arguments: str) -> str:
    return process.run(["git", "-C", folder, *arguments])
