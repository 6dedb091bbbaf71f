"""Writing one page of a site; a file of the old site with the same content is reused, with its timestamps."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from wheelmill.system.files import PUBLIC_FILE, link_or_copy

_AT_ONCE: Final = 1 << 20


def write_page(page: str, pieces: Iterable[bytes], old: str) -> int:
    """Write a page; if the old site has the same, hard-link that file.

    So hosts, mirrors and backups that go by times see what changed, and nobody writes to a file of two sites: pages are
    replaced, never changed.

    Args:
        page: where; there is nothing yet.
        pieces: what stands there.
        old: where the old site would have it.

    Returns:
        Its size in bytes.

    Raises:
        OSError: it cannot be written.
    """
    rest = iter(pieces)
    same, differs = _compare(rest, old) if _is_public_file(old) else (0, b"")
    if differs is None:
        link_or_copy(Path(old), Path(page))
        return same
    with open(page, "wb") as file:  # noqa: PTH123 - quick
        os.chmod(page, PUBLIC_FILE)  # noqa: PTH101 - quick
        _copy_head(old, same, file)
        size = same + file.write(differs)
        for piece in rest:
            size += file.write(piece)
    return size


def _compare(pieces: Iterator[bytes], old: str) -> tuple[int, bytes | None]:
    """How many bytes of whole pieces a file begins with, and the first piece that it does not have.

    That is None when the file has all of them and nothing else.
    """
    same = 0
    with open(old, "rb") as before:  # noqa: PTH123 - quick
        for piece in pieces:
            if before.read(len(piece)) != piece:
                return same, piece
            same += len(piece)
        return same, b"" if before.read(1) else None


def _copy_head(old: str, count: int, file: IO[bytes]) -> None:
    if count:
        with Path(old).open("rb") as before:
            while count:
                count -= file.write(before.read(min(count, _AT_ONCE)))


def _is_public_file(path: str) -> bool:
    """Whether there is a file of its own, no link to another, that everybody may read."""
    try:
        return os.lstat(path).st_mode == stat.S_IFREG | PUBLIC_FILE
    except OSError:
        return False
