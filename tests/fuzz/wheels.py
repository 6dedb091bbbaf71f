"""Wheels whose archive is sound and whose content is not, and the way that every wheel from elsewhere goes."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.wheels import NOTHING, wheel_name, write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.archive import unpack
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile

NAME = wheel_name("1.0")
RECORD = f"{'-'.join(NAME.split('-')[:2])}.dist-info/RECORD"
FILES = {"demo/__init__.py": b"", "demo/text.txt": b"text " * 100}


def wheel_of(files: Mapping[str, bytes] = NOTHING, *, record: bytes | None = None) -> bytes:
    """A wheel with these members beside others.

    Args:
        files: their content by name.
        record: the RECORD; without it, one that is right.
    """
    with tempfile.TemporaryDirectory() as folder:
        return write_wheel(Path(folder) / NAME, files={**FILES, **files}, record=record).read_bytes()


def read_wheel(content: bytes) -> None:
    """Go the way of `smoke`, then that of a build, an index and a lock.

    Raises:
        UnreadableError: smoke has findings.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(content)
        contents = open_wheel(WheelFile.at(path), None)
        if not isinstance(contents, Contents):
            read_metadata(metadata_bytes(path))  # what a lock reads before anything is checked
            raise UnreadableError("page-invalid", str(contents))
        findings_of(contents)
        if contents.record_findings:
            raise UnreadableError("page-invalid", str(contents.record_findings))
        unpack(path, Path(folder) / "unpacked")
