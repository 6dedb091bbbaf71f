"""Source distributions: unpacked within limits, and nowhere but where they should be.

https://packaging.python.org/en/latest/specifications/source-distribution-format/
"""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

from wheelmill.errors import UnreadableError

MAX_MEMBERS: Final = 100_000
MAX_UNPACKED: Final = 4 << 30
"""Bytes of all files together."""


def unpack_sdist(archive: Path, destination: Path) -> Path:
    """Unpack a source distribution into an empty folder.

    Returns:
        The one folder that it holds.

    Raises:
        UnreadableError: it is no archive of one folder, goes beyond the limits, or would write somewhere else.
    """
    if not tarfile.is_tarfile(archive):
        raise UnreadableError(f"{archive.name} is not a tar archive, which PEP 625 wants a source distribution to be")
    try:
        with tarfile.open(archive) as tar:
            _check_members(tar, archive.name)
            # https://docs.python.org/3/library/tarfile.html#hints-for-further-verification: 3.11.2 has no data_filter.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(destination)  # noqa: S202 - every member was checked
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(f"{archive.name} cannot be unpacked: {error}") from None
    found = list(destination.iterdir())
    if len(found) != 1 or not found[0].is_dir():
        raise UnreadableError(f"{archive.name} does not hold one folder and nothing else, as PEP 517 wants it")
    return found[0]


def _check_members(tar: tarfile.TarFile, name: str) -> None:
    """Refuse what is neither file nor folder, what leads outside, and more than any real source has."""
    size = 0
    for number, member in enumerate(tar):
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise UnreadableError(f"{name} has an unsafe member {member.name!r}")
        size += member.size
        if number == MAX_MEMBERS or size > MAX_UNPACKED:
            raise UnreadableError(f"{name} holds more than {MAX_MEMBERS} files or {MAX_UNPACKED >> 30} GiB")
