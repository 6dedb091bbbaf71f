"""What the client keeps in the cache folder: pages that were read, wheels that were downloaded or built here."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.system.folders import sweep_this_machine

_PARTS: Final = ("client", "wheels", "built-here", "manifests")
"""The folders with what was read, downloaded or built for itself; beside them are those of builds."""


@dataclass(frozen=True, kw_only=True)
class CacheContent:
    """Files of the cache: those there are, or those that were deleted."""

    folder: Path
    files: int
    size: int
    """Bytes."""
    oldest: dt.datetime | None
    """When the one that was not used for longest was used last, in UTC; None without files."""
    leftovers: int = 0
    """Bytes that killed commands left: temporary files, and folders of builds."""


def measure_cache() -> CacheContent:
    """Count what there is."""
    folder = user_cache_path("wheelmill")
    return _content(folder, [status for _, status in _files_in(folder)], sweep_this_machine(dry_run=True))


def clean_cache(unused_for: dt.timedelta | None, *, dry_run: bool = False) -> CacheContent:
    """Delete files, and folders that become empty; and what killed commands left on this machine.

    Args:
        unused_for: what was used since then is kept; None deletes everything.
        dry_run: whether it is only counted.

    Returns:
        What was deleted.
    """
    folder = user_cache_path("wheelmill")
    deleted = []
    for path, status in _files_in(folder):
        if unused_for is None or _last_use(status) < dt.datetime.now(tz=dt.UTC) - unused_for:
            if not dry_run:
                path.unlink(missing_ok=True)
            deleted.append(status)
    for part in () if dry_run else _PARTS:
        for parent, _, _ in os.walk(folder / part, topdown=False):
            if not any(Path(parent).iterdir()):
                Path(parent).rmdir()
    return _content(folder, deleted, sweep_this_machine(dry_run=dry_run))


def _files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file of the client below the cache folder; links are neither followed nor counted."""
    for part in _PARTS:
        for parent, _, names in os.walk(folder / part):
            for path in (Path(parent, name) for name in names):
                if not path.is_symlink():
                    yield path, path.stat()


def _content(folder: Path, statuses: list[os.stat_result], leftovers: int) -> CacheContent:
    return CacheContent(
        folder=folder,
        files=len(statuses),
        size=sum(status.st_size for status in statuses),
        oldest=min(map(_last_use, statuses), default=None),
        leftovers=leftovers,
    )


def _last_use(status: os.stat_result) -> dt.datetime:
    return dt.datetime.fromtimestamp(max(status.st_atime, status.st_mtime), tz=dt.UTC)
