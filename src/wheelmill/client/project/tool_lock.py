"""The lock of uv, Poetry or PDM: a table ``package`` with name and version, its files, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.lock.files import read_toml
from wheelmill.client.records import Candidate
from wheelmill.errors import IntegrityError, UsageError
from wheelmill.names import ProjectName
from wheelmill.wheel.name import wheel_behind

_IS_NO_WHEEL: Final = frozenset(("editable", "virtual", "directory", "git", "path"))
"""How these locks say that something is built from a source tree."""


@dataclass(frozen=True, kw_only=True)
class LockedPackage:
    """What a lock holds; of one project there may be several, for several environments."""

    project: ProjectName
    version: Version | None
    """With the label of the wheel's file name; None for what is built from a source tree."""
    hashes: frozenset[str]
    """``sha256:`` and the hash, of each of its files."""


def read_tool_lock(path: Path) -> tuple[LockedPackage, ...]:
    """Read a lock of any of these tools.

    Raises:
        UsageError: it is none.
    """
    try:
        return tuple(map(_package, read_toml(path).get("package", ())))
    except (OSError, ValueError, RecursionError, TypeError, AttributeError, LookupError) as error:
        raise UsageError("lock-unreadable", f"{path} cannot be read as a lock: {error}") from None


def _package(package: dict[str, Any]) -> LockedPackage:
    source = package.get("source", {})
    wheel = wheel_behind(str(source.get("url") or package.get("url", "")))
    is_wheel = not _IS_NO_WHEEL & {*package, *source, source.get("type")}
    files = (*package.get("wheels", ()), *package.get("files", ()))
    return LockedPackage(
        project=canonicalize_name(package["name"]),
        version=(wheel.version if wheel else Version(package["version"])) if is_wheel else None,
        hashes=frozenset(str(file.get("hash", "")) for file in files),
    )


def check_lock(path: Path, chosen: Iterable[Candidate]) -> None:
    """Compare the hashes in a lock with those of the wheels that were chosen.

    Raises:
        IntegrityError: one is missing, or has another hash.
        UsageError: the file is no lock.
    """
    packages = read_tool_lock(path)
    for candidate in chosen:
        hashes = {each for package in packages if package.project == candidate.project for each in package.hashes}
        if candidate.sha256 and f"sha256:{candidate.sha256}" not in hashes:
            raise IntegrityError(
                "hash-not-locked",
                f"{path.name} has no {candidate.filename} with sha256 {candidate.sha256}: "
                f"it has {', '.join(sorted(hashes)) or 'no wheel of that name'}",
            )
