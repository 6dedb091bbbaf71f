"""RECORD: the files of a wheel or of an installation with their hashes, and where installers put them.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
https://packaging.python.org/en/latest/specifications/binary-distribution-format/#the-data-directory
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Final, Literal, NamedTuple

from wheelmill.errors import UnreadableError
from wheelmill.wheel.archive import MAX_FINDINGS, MAX_MEMBERS, MAX_RECORD, pack, read_member
from wheelmill.wheel.findings import Code, Finding


class RecordRow(NamedTuple):
    """Entry of RECORD for a file."""

    name: str
    """Its path, from the folder that the ``.dist-info`` is in."""
    digest: str
    """``sha256=`` and the digest; empty if there is none."""
    size: int | None
    """Bytes; None if RECORD has no size."""


def read_rows(content: bytes) -> list[RecordRow]:
    """Read a RECORD; raises UnreadableError if it is none, or longer than any real one."""
    if len(content) > MAX_RECORD:
        raise UnreadableError("record-too-large", f"it has {len(content)} bytes, more than {MAX_RECORD}")
    try:
        rows = list(islice(csv.reader(io.StringIO(content.decode("utf-8"))), MAX_MEMBERS + 1))
        listed = [RecordRow(name, digest, int(size) if size.isdecimal() else None) for name, digest, size in rows]
    except (csv.Error, ValueError) as error:
        raise UnreadableError("record-unreadable", str(error)) from None
    if len(listed) > MAX_MEMBERS:
        raise UnreadableError("record-too-large", f"it lists more than {MAX_MEMBERS} files")
    return listed


def record_of(directory: Path, dist_info: str) -> bytes:
    """Write the RECORD of a wheel unpacked in `directory`; `dist_info` is the name of its ``.dist-info`` folder."""
    own_name = f"{dist_info}/RECORD"
    rows: list[tuple[str, str, int]] = []
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and name != own_name:
            with path.open("rb") as file:
                rows.append((name, digest_of(file), path.stat().st_size))
    return _rows_as_bytes(rows, own_name)


def pack_wheel(dist_info: Path, wheel: Path) -> Path:
    """Write RECORD into the ``.dist-info`` folder of an unpacked wheel, pack the wheel, and return its path."""
    (dist_info / "RECORD").write_bytes(record_of(dist_info.parent, dist_info.name))
    pack(dist_info.parent, wheel)
    return wheel


def record_of_members(members: Mapping[str, bytes], own_name: str) -> bytes:
    """Write the RECORD of a wheel that is packed from memory; `members` does not include it."""
    rows = [(name, digest_of(io.BytesIO(content)), len(content)) for name, content in members.items()]
    return _rows_as_bytes(rows, own_name)


def _rows_as_bytes(rows: Iterable[tuple[str, str, int]], own_name: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(rows)
    writer.writerow((own_name, "", ""))
    return text.getvalue().encode()


def check_record(archive: zipfile.ZipFile, dist_info: str) -> Iterator[Finding]:
    """Compare RECORD with the files beside it, in an archive that was checked before."""
    own_name = f"{dist_info}/RECORD"
    signatures = {f"{own_name}.jws", f"{own_name}.p7s"}
    try:
        rows = read_rows(read_member(archive, own_name, MAX_RECORD))
    except UnreadableError as error:
        yield Finding(code=Code.RECORD, detail=f"{own_name} is missing or unreadable: {error}")
        return
    listed = {row.name: row.digest for row in rows}
    if len(listed) < len(rows):
        yield Finding(code=Code.RECORD, detail=f"{own_name} lists a file twice")
        return
    present = {member.filename for member in archive.infolist() if not member.is_dir()} - signatures
    for name in sorted(present - listed.keys())[:MAX_FINDINGS]:
        yield Finding(code=Code.RECORD, detail=f"{name!r} is not listed")
    for name in sorted(listed.keys() - present)[:MAX_FINDINGS]:
        yield Finding(code=Code.RECORD, detail=f"{name!r} is listed but missing")
    for name in sorted((listed.keys() & present) - {own_name}):
        with archive.open(name) as file:
            if not listed[name] or listed[name] != digest_of(file, listed[name].partition("=")[0]):
                yield Finding(code=Code.RECORD, detail=f"{name!r} does not have the hash that RECORD says")


def digest_of(file: IO[bytes], algorithm: str = "sha256") -> str:
    """Algorithm and digest, ``sha256=``, in unpadded URL-safe base64; empty for an algorithm that RECORD forbids."""
    if algorithm not in {"sha256", "sha384", "sha512"}:
        return ""
    digest = hashlib.file_digest(file, algorithm).digest()  # type: ignore[arg-type]  # any readable file
    return f"{algorithm}={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def is_as_listed(path: Path, row: RecordRow) -> bool:
    """True if an installed file has its hash in RECORD; weak hashes always match."""
    with path.open("rb") as file:
        return digest_of(file, row.digest.partition("=")[0]) in ("", row.digest)


Place = Literal["library", "programs", "environment", "elsewhere"]
"""Folder of packages, of commands, of the whole environment, or any other place in it."""

_SCHEMES: Final[Mapping[str, Place]] = {
    "purelib": "library",
    "platlib": "library",
    "scripts": "programs",
    "headers": "elsewhere",
}
_PROGRAMS: Final = ("bin", "Scripts")
LIBRARIES: Final = ("site-packages", "dist-packages")
"""Names of folders with installed packages."""


@dataclass(frozen=True, kw_only=True)
class InstalledFile:
    """File of a wheel, and its installed path."""

    member: str
    place: Place
    path: PurePosixPath
    """Its path below that place."""

    @property
    def top(self) -> str:
        """Module or folder that it belongs to: ``demo`` of ``demo/_C.so`` and of ``demo.abi3.so``."""
        return self.path.parts[0] if len(self.path.parts) > 1 else self.path.name.partition(".")[0]


def installed_files(members: Iterable[str]) -> Iterator[InstalledFile]:
    """Find where installers put a wheel's members, which are files with safe names."""
    for member in members:
        place, parts = _place_of(PurePosixPath(member).parts)
        yield InstalledFile(member=member, place=place, path=PurePosixPath(*parts))


def _place_of(parts: tuple[str, ...]) -> tuple[Place, tuple[str, ...]]:
    match parts:
        case (data, "data", *below) if data.endswith(".data") and below:
            return _place_in_prefix(tuple(below))
        case (data, scheme, *below) if data.endswith(".data") and below and scheme in _SCHEMES:
            return _SCHEMES[scheme], tuple(below)
        case _:
            return "library", parts


def _place_in_prefix(parts: tuple[str, ...]) -> tuple[Place, tuple[str, ...]]:
    """Find the place of a file in the folder of the whole environment, which contains the other places."""
    for number, part in enumerate(parts[:-1]):
        if part in LIBRARIES:
            return "library", parts[number + 1 :]
    if parts[0] in _PROGRAMS and len(parts) > 1:
        return "programs", parts[1:]
    return "environment", parts
