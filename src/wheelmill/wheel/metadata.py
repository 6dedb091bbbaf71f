"""Reading a wheel's ``.dist-info``: METADATA, WHEEL and entry points.

https://packaging.python.org/en/latest/specifications/core-metadata/
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from email.parser import BytesParser
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.metadata import InvalidMetadata, Metadata, RawMetadata, parse_email
from packaging.tags import Tag
from packaging.version import InvalidVersion, Version

from wheelmill.errors import UnreadableError
from wheelmill.wheel.archive import open_archive, read_member
from wheelmill.wheel.limits import MAX_CONTENT_TYPE, MAX_FIELDS, MAX_METADATA
from wheelmill.wheel.name import read_tags

_SHOWN: Final = 200
"""Characters of a fault: it may quote a whole field."""
_WRITTEN_EARLY: Final = ("license-expression", "license-file")


def dist_info_of(archive: zipfile.ZipFile) -> str:
    """The name of the wheel's one ``.dist-info`` folder.

    Raises:
        UnreadableError: there is none, or more than one.
    """
    folders = {
        parts[0]
        for parts in (PurePosixPath(name).parts for name in archive.namelist())
        if len(parts) > 1 and parts[0].endswith(".dist-info")
    }
    if len(folders) != 1:
        raise UnreadableError("dist-info-folders", f"expected one .dist-info folder, found {sorted(folders) or 'none'}")
    return folders.pop()


def read_metadata(content: bytes) -> Metadata:
    """Read a METADATA file, ignoring faults that do not matter here.

    Raises:
        UnreadableError: name, version, Requires-Python or Requires-Dist cannot be read.
    """
    _check_fields(content, "METADATA")
    try:
        metadata = Metadata.from_email(content, validate=False)
        _ = (metadata.name, metadata.version, metadata.requires_python, metadata.requires_dist)
    except (ValueError, ExceptionGroup, RecursionError) as error:
        raise UnreadableError("metadata-unreadable", f"METADATA cannot be read: {error}") from None
    return metadata


def is_pure(wheel_file: bytes) -> bool:
    """Whether a WHEEL file declares that the wheel is pure Python (PEP 427).

    Raises:
        UnreadableError: it is too large.
    """
    _check_fields(wheel_file, "WHEEL")
    return str(BytesParser().parsebytes(wheel_file)["Root-Is-Purelib"]).strip().lower() == "true"


def tags_of(wheel_file: bytes) -> frozenset[Tag]:
    """The tags that a WHEEL file names (PEP 427), whatever the wheel's file name was.

    Raises:
        UnreadableError: it is too large, or one of them is no tag.
    """
    _check_fields(wheel_file, "WHEEL")
    named = BytesParser().parsebytes(wheel_file, headersonly=True).get_all("Tag") or ()
    return frozenset[Tag]().union(*(read_tags(str(text).strip()) for text in named))


def read_fields(content: bytes) -> RawMetadata:
    """Read METADATA as it was written; only its size is checked.

    Raises:
        UnreadableError: it has more than any real one.
    """
    _check_fields(content, "METADATA")
    return parse_email(content)[0]


def faults_of(content: bytes, licences: Collection[str]) -> Iterator[str]:
    """What a package registry would refuse in a readable METADATA file, local versions aside.

    The fields of version 2.4 that build backends wrote before there was one are no fault: registries took them.

    Args:
        content: the bytes of the METADATA file.
        licences: the names of the files in ``.dist-info/licenses``.
    """
    raw, _ = parse_email(content)
    if len(raw.get("description_content_type", "")) > MAX_CONTENT_TYPE:
        yield f"'description-content-type' has more than {MAX_CONTENT_TYPE} characters"
        return
    if "metadata_version" not in raw:
        yield "'metadata-version' is a required field"
        return
    try:
        metadata = Metadata.from_email(content, validate=True)
    except RecursionError:
        yield "it is nested too deeply"
        return
    except ExceptionGroup as group:
        early = _is_before_2_4(raw["metadata_version"])
        for error in group.exceptions:
            if not (early and isinstance(error, InvalidMetadata) and error.field in _WRITTEN_EARLY):
                yield str(error)[:_SHOWN]
        return
    for name in metadata.license_files or ():
        if name not in licences:
            yield f"it has no licence file {name!r}"


def _is_before_2_4(metadata_version: str) -> bool:
    """Whether a Metadata-Version is from before 2.4; not if it is no version at all."""
    try:
        return Version(metadata_version) < Version("2.4")
    except InvalidVersion:
        return False


def commands_of(archive: zipfile.ZipFile, dist_info: str) -> tuple[str, ...]:
    """The programs that an installer makes for a wheel's entry points.

    https://packaging.python.org/en/latest/specifications/entry-points/#file-format

    Raises:
        UnreadableError: entry_points.txt cannot be read.
    """
    name = f"{dist_info}/entry_points.txt"
    if name not in archive.namelist():
        return ()
    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # as the specification says: names keep their case
    try:
        parser.read_string(read_member(archive, name, MAX_METADATA).decode("utf-8"))
    except (ConfigParserError, UnicodeDecodeError) as error:
        raise UnreadableError("metadata-unreadable", f"{name} cannot be read: {error}") from None
    groups = ("console_scripts", "gui_scripts")
    return tuple(command for group in groups if parser.has_section(group) for command in parser.options(group))


def _check_fields(content: bytes, name: str) -> None:
    """Refuse METADATA with so many fields that email's parser, which is quadratic, takes minutes."""
    if len(content) > MAX_METADATA:
        raise UnreadableError("metadata-too-large", f"{name} has {len(content)} bytes, more than {MAX_METADATA}")
    head = takewhile(len, content.splitlines())
    fields = sum(line[:1] not in (b" ", b"\t") for line in head)
    if fields > MAX_FIELDS:
        raise UnreadableError("metadata-too-large", f"{name} has {fields} fields, more than {MAX_FIELDS}")


def metadata_bytes(wheel: Path) -> bytes:
    """The METADATA of a wheel, as it stands in it: what a PEP 658 sidecar holds.

    Raises:
        UnreadableError: it cannot be read, or is not there.
    """
    try:
        with wheel.open("rb") as file, open_archive(file) as archive:
            return metadata_in(archive)
    except UnreadableError as error:
        raise UnreadableError("wheel-unreadable", f"{wheel.name} cannot be read as a wheel: {error}") from None


def metadata_in(archive: zipfile.ZipFile) -> bytes:
    """The METADATA of an opened wheel.

    Raises:
        UnreadableError: it cannot be read, or is not there.
    """
    return read_member(archive, f"{dist_info_of(archive)}/METADATA", MAX_METADATA)


def wheel_file_in(archive: zipfile.ZipFile) -> bytes:
    """The WHEEL file of an opened wheel; raises as `metadata_in` does."""
    return read_member(archive, f"{dist_info_of(archive)}/WHEEL", MAX_METADATA)


def requires_dist_of(wheel: Path) -> tuple[str, ...]:
    """What a wheel requires.

    Raises:
        UnreadableError: it is no wheel, or its METADATA cannot be read.
    """
    return tuple(map(str, read_metadata(metadata_bytes(wheel)).requires_dist or ()))
