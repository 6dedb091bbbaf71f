"""What the client keeps in the cache folder: pages that were read, wheels that were downloaded or built here."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

_PARTS: Final = ("client", "wheels", "built-here")
"""The folders whose files are whole; beside them are those that running builds use."""


@dataclass(frozen=True, kw_only=True)
class CacheContent:
    """Files of the cache: those there are, or those that were deleted."""

    folder: Path
    files: int
    size: int
    """Bytes."""
    oldest: dt.datetime | None
    """When the one that was not used for longest was used last, in UTC; None without files."""


def measure_cache() -> CacheContent:
    """Count what there is."""
    folder = user_cache_path("wheelmill")
    return _content(folder, [status for _, status in _files_in(folder)])


def clean_cache(unused_for: dt.timedelta | None) -> CacheContent:
    """Delete files, and folders that become empty.

    Args:
        unused_for: what was used since then is kept; None deletes everything.

    Returns:
        What was deleted.
    """
    folder = user_cache_path("wheelmill")
    deleted = []
    for path, status in _files_in(folder):
        if unused_for is None or _last_use(status) < dt.datetime.now(tz=dt.UTC) - unused_for:
            path.unlink(missing_ok=True)
            deleted.append(status)
    for part in _PARTS:
        for parent, _, _ in os.walk(folder / part, topdown=False):
            if not any(Path(parent).iterdir()):
                Path(parent).rmdir()
    return _content(folder, deleted)


def _files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file of the client below the cache folder; links are neither followed nor counted."""
    for part in _PARTS:
        for parent, _, names in os.walk(folder / part):
            for path in (Path(parent, name) for name in names):
                if not path.is_symlink():
                    yield path, path.stat()


def _content(folder: Path, statuses: list[os.stat_result]) -> CacheContent:
    return CacheContent(
        folder=folder,
        files=len(statuses),
        size=sum(status.st_size for status in statuses),
        oldest=min(map(_last_use, statuses), default=None),
    )


def _last_use(status: os.stat_result) -> dt.datetime:
    return dt.datetime.fromtimestamp(max(status.st_atime, status.st_mtime), tz=dt.UTC)
