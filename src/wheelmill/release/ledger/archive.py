"""The files of a ledger as one archive, as GitHub serves a commit and as a folder of releases keeps it.

All of it is read within limits, and nothing of it is unpacked onto a disk.

https://docs.github.com/en/repositories/working-with-files/using-files/downloading-source-code-archives
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from wheelmill.errors import UnreadableError

MAX_BYTES: Final = 256 << 20
"""Bytes of all files. A hundred thousand wheels in 420 releases take 30 MB."""
MAX_FILES: Final = 20_000
"""The number of files and folders; there is a file for each release."""

_FOLDER: Final = "ledger"
_GZIP: Final = 16 + zlib.MAX_WBITS
"""https://docs.python.org/3/library/zlib.html#zlib.decompress"""


def read_archive(archive: bytes) -> dict[str, bytes]:
    """Read the files of a packed archive, by their paths in its one folder.

    Raises:
        UnreadableError: it is no such archive, it is larger than a ledger may be, or a file has a path of another form
            than ``NAME`` or ``FOLDER/NAME``.
    """
    try:
        unpacker = zlib.decompressobj(_GZIP)
        unpacked = unpacker.decompress(archive, MAX_BYTES + 1)
        if len(unpacked) > MAX_BYTES:
            raise UnreadableError("archive-too-large", f"has more than {MAX_BYTES} bytes")
        if not unpacker.eof:
            raise UnreadableError("archive-damaged", "is not a packed archive: its end is missing")
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as tar:
            return _files_in(tar)
    except (tarfile.TarError, zlib.error, OSError, RecursionError) as error:
        raise UnreadableError("archive-damaged", f"is not a packed archive: {error}") from None


def _files_in(tar: tarfile.TarFile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for number, member in enumerate(tar):
        if number >= MAX_FILES:
            raise UnreadableError("archive-too-large", f"has more than {MAX_FILES} files")
        _, *inside = PurePosixPath(member.name).parts or ("",)
        if member.isdir():
            continue
        content = tar.extractfile(member) if member.isreg() else None
        if content is None or len(inside) not in {1, 2} or ".." in inside:
            raise UnreadableError("archive-foreign-file", f"has {member.name!r:.200}, which is not a file of a ledger")
        files["/".join(inside)] = content.read()
    return files


def write_archive(files: Mapping[str, bytes]) -> bytes:
    """Pack files; the same files give the same bytes."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{_FOLDER}/{path}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(written.getvalue(), compresslevel=1, mtime=0)
