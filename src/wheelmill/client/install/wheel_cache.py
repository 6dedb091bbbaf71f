"""The cache folder of the client: parsed pages, and wheels, stored under their hash and verified on every read."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from platformdirs import user_cache_path

from wheelmill.client.records import WantedWheel
from wheelmill.errors import IntegrityError, UnreadableError, UsageError
from wheelmill.names import ProjectName, Sha256
from wheelmill.system.files import atomic_write, sha256_of, sha256_of_bytes, write_bytes
from wheelmill.system.folders import sweep_this_machine
from wheelmill.system.progress import QUIET, Progress
from wheelmill.wheel.name import WheelName

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from wheelmill.web.client import Web


AT_ONCE: Final = 4
"""Downloads that run side by side."""


@dataclass(frozen=True, kw_only=True)
class CachedWheel:
    """Wheel on disk, verified against its hash."""

    path: Path
    sha256: Sha256
    size: int

    @property
    def project(self) -> ProjectName:
        """The name that it is installed under."""
        return WheelName.parse(self.path.name).project

    @property
    def reference(self) -> str:
        """A requirement on exactly these bytes (PEP 508); installers check the hash again."""
        return f"{self.project} @ {self.path.as_uri()}#sha256={self.sha256}"


@dataclass(frozen=True, kw_only=True)
class WheelCache:
    """Folder of wheels by hash."""

    directory: Path
    web: Web
    threads: Executor
    """In which downloads run. They end after the connection does, so that an interruption need not wait for them."""
    offline: bool = False
    progress: Progress = QUIET

    def fetch_all(self, wanted: Iterable[WantedWheel]) -> Sequence[CachedWheel]:
        """Get wheels from the cache, or download them in parallel."""
        return list(self.threads.map(self.fetch, wanted))

    def fetch(self, wanted: WantedWheel) -> CachedWheel:
        """Get one wheel from the cache, or download it."""
        filename = _check_filename(wanted.filename)
        sha256 = wanted.sha256 or self._recall(wanted.url)
        if sha256 and (path := self.directory / sha256 / filename).exists():
            if (actual := sha256_of(path)) == sha256:
                return CachedWheel(path=path, sha256=sha256, size=path.stat().st_size)
            path.unlink()
            raise IntegrityError(
                "cached-file-changed",
                f"{path} was changed on disk: it has sha256 {actual}",
                hint="it was removed from the cache; run the command again to download it",
            )
        if self.offline:
            raise UsageError(
                "not-cached", f"{filename} is not in the cache, and --offline was given", hint=f"it is at {wanted.url}"
            )
        return self._download(wanted, filename)

    def _download(self, wanted: WantedWheel, filename: str) -> CachedWheel:
        partial = self.directory / "partial" / f"{sha256_of_bytes(wanted.url.encode())}.whl"
        with atomic_write(partial) as file:
            download = self.web.download(
                wanted.url,
                file,
                promised=wanted.size,
                received=lambda size: self.progress.show_download(filename, size, wanted.size),
            )
        actual = download.sha256
        if actual != (wanted.sha256 or actual):
            partial.unlink()
            raise IntegrityError("hash-differs", f"{wanted.url} has sha256 {actual}, not the promised {wanted.sha256}")
        path = self.directory / actual / filename
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(path)
        if wanted.sha256 is None:
            write_bytes(self._memory_of(wanted.url), actual.encode())
        return CachedWheel(path=path, sha256=actual, size=download.size)

    def _recall(self, url: str) -> Sha256 | None:
        """The hash of the first download from a URL without a given hash; None if there was none."""
        memory = self._memory_of(url)
        return Sha256(memory.read_text(encoding="ascii")) if memory.exists() else None

    def _memory_of(self, url: str) -> Path:
        return self.directory / "first-seen" / sha256_of_bytes(url.encode())


def _check_filename(filename: str) -> str:
    """Check that a name is a wheel's file name: it becomes part of a path."""
    try:
        WheelName.parse(filename)
    except UnreadableError as error:
        raise IntegrityError("file-name-not-a-wheel", f"not the file name of a wheel: {error}") from None
    if "/" in filename or "\\" in filename:
        raise IntegrityError("file-name-not-plain", f"not a plain file name: {filename!r}")
    return filename


_PARTS: Final = ("client", "wheels", "built-here", "manifests")
"""The folders with what was read, downloaded or built for itself; beside them are those of builds."""


@dataclass(frozen=True, kw_only=True)
class CacheContent:
    """Count of files in the cache, or of files deleted from it."""

    folder: Path
    files: int
    size: int
    """Bytes."""
    oldest: dt.datetime | None
    """The last use of the file that was unused for longest, in UTC; None if there are no files."""
    leftovers: int = 0
    """Bytes that killed commands left: temporary files, and folders of builds."""


def clean_cache(unused_for: dt.timedelta | None, *, dry_run: bool = False) -> CacheContent:
    """Delete cached files unused for a time, or all, and leftovers of killed commands; a dry run only counts."""
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
    return CacheContent(
        folder=folder,
        files=len(deleted),
        size=sum(status.st_size for status in deleted),
        oldest=min(map(_last_use, deleted), default=None),
        leftovers=sweep_this_machine(dry_run=dry_run),
    )


def _files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every file of the client in the cache folder; symbolic links are neither followed nor counted."""
    for part in _PARTS:
        for parent, _, names in os.walk(folder / part):
            for path in (Path(parent, name) for name in names):
                if not path.is_symlink():
                    yield path, path.stat()


def _last_use(status: os.stat_result) -> dt.datetime:
    return dt.datetime.fromtimestamp(max(status.st_atime, status.st_mtime), tz=dt.UTC)
