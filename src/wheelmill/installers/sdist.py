"""Source distributions: unpacked within limits, and nowhere but where they should be.

https://packaging.python.org/en/latest/specifications/source-distribution-format/
"""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final, Self

from wheelmill.errors import UnreadableError

MAX_MEMBERS: Final = 100_000
MAX_UNPACKED: Final = 4 << 30
"""Bytes of all files together."""
MAX_HEADER: Final = 1 << 20
"""Bytes of what a member says of itself beyond its header, which tarfile reads at once: a long name, and the like."""


def unpack_sdist(archive: Path, destination: Path) -> Path:
    """Unpack a source distribution into an empty folder.

    Returns:
        The one folder that it holds.

    Raises:
        UnreadableError: it is no archive of one folder, goes beyond the limits, or would write somewhere else.
    """
    try:
        with _open(archive) as tar:
            _check_members(tar, archive.name)
            # https://docs.python.org/3/library/tarfile.html#hints-for-further-verification: 3.11.2 has no data_filter.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(destination)  # noqa: S202 - every member was checked
    except (tarfile.TarError, zlib.error, EOFError, OSError, OverflowError, RecursionError, ValueError) as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError("sdist-unreadable", f"{archive.name} cannot be unpacked: {error}") from None
    found = list(destination.iterdir())
    if len(found) != 1 or not found[0].is_dir():
        raise UnreadableError(
            "sdist-shape", f"{archive.name} does not hold one folder and nothing else, as PEP 517 wants it"
        )
    return found[0]


class _Member(tarfile.TarInfo):
    """A member whose header is checked before tarfile reads what it announces."""

    def _proc_member(self, tar: tarfile.TarFile) -> Self:
        """Read what follows the header; tarfile's own comments name this as the method to override.

        `frombuf` comes earlier and is public, but CPython's security releases of 2026 no longer call it.

        Raises:
            ValueError: more follows than `MAX_HEADER`.
        """
        if not self.isreg() and self.size > MAX_HEADER:
            raise ValueError(f"a member has {self.size} bytes and is no file")
        return super()._proc_member(tar)  # type: ignore[misc,no-any-return]


def _open(archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(archive, tarinfo=_Member)
    except tarfile.TarError:
        message = f"{archive.name} is not a tar archive, which PEP 625 wants a source distribution to be"
        raise UnreadableError("sdist-too-large", message) from None


def _check_members(tar: tarfile.TarFile, name: str) -> None:
    """Refuse what is neither file nor folder, what leads outside, and more than any real source has."""
    size = 0
    for number, member in enumerate(tar):
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise UnreadableError("member-unsafe", f"{name} has an unsafe member {member.name!r}")
        size += member.size
        if number == MAX_MEMBERS or size > MAX_UNPACKED:
            raise UnreadableError(
                "sdist-too-large", f"{name} holds more than {MAX_MEMBERS} files or {MAX_UNPACKED >> 30} GiB"
            )
