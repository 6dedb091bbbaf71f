"""RECORD: the list of a wheel's files with their hashes.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from wheelmill.wheel.findings import Code, Finding


def record_of(directory: Path, dist_info: str) -> bytes:
    """Write the RECORD of an unpacked wheel.

    Args:
        directory: the folder with the unpacked wheel.
        dist_info: the name of its ``.dist-info`` folder.
    """
    own_name = f"{dist_info}/RECORD"
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and name != own_name:
            with path.open("rb") as file:
                rows.writerow((name, _hash(file), path.stat().st_size))
    rows.writerow((own_name, "", ""))
    return text.getvalue().encode()


def check_record(archive: zipfile.ZipFile, dist_info: str) -> Iterator[Finding]:
    """Compare RECORD with the files beside it; the archive must have been checked before."""
    own_name = f"{dist_info}/RECORD"
    signatures = {f"{own_name}.jws", f"{own_name}.p7s"}
    try:
        rows = list(csv.reader(io.StringIO(archive.read(own_name).decode("utf-8"))))
        listed = {name: digest for name, digest, _size in rows}
    except (KeyError, UnicodeDecodeError, csv.Error, ValueError) as error:
        yield Finding(code=Code.RECORD, detail=f"{own_name} is missing or unreadable: {error}")
        return
    present = {member.filename for member in archive.infolist() if not member.is_dir()} - signatures
    for name in sorted(present - listed.keys()):
        yield Finding(code=Code.RECORD, detail=f"{name!r} is not listed")
    for name in sorted(listed.keys() - present):
        yield Finding(code=Code.RECORD, detail=f"{name!r} is listed and not there")
    for name in sorted((listed.keys() & present) - {own_name}):
        with archive.open(name) as file:
            if not listed[name] or listed[name] != _hash(file, listed[name].partition("=")[0]):
                yield Finding(code=Code.RECORD, detail=f"{name!r} has another hash than RECORD says")


def _hash(file: object, algorithm: str = "sha256") -> str:
    """``sha256=`` and the digest in unpadded URL-safe base64; nothing for an algorithm that RECORD forbids."""
    if algorithm not in {"sha256", "sha384", "sha512"}:
        return ""
    digest = hashlib.file_digest(file, algorithm).digest()  # type: ignore[arg-type]  # any readable file
    return f"{algorithm}={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"
