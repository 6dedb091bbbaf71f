"""A wheel's ``.dist-info``: reading METADATA and WHEEL, and writing the label into METADATA.

https://packaging.python.org/en/latest/specifications/core-metadata/
"""

from __future__ import annotations

import zipfile
from email.parser import BytesParser
from email.policy import EmailPolicy
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.metadata import InvalidMetadata, Metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.names import TorchVersion

_AS_WRITTEN: Final = EmailPolicy(utf8=True, mangle_from_=False, max_line_length=0, refold_source="none")
"""Leaves every line that is not changed as upstream wrote it."""


def dist_info_of(archive: zipfile.ZipFile) -> str:
    """The name of the wheel's one ``.dist-info`` folder.

    Raises:
        ValueError: there is none, or more than one.
    """
    folders = {
        parts[0]
        for parts in (PurePosixPath(name).parts for name in archive.namelist())
        if len(parts) > 1 and parts[0].endswith(".dist-info")
    }
    if len(folders) != 1:
        raise ValueError(f"expected one .dist-info folder, found {sorted(folders) or 'none'}")
    return folders.pop()


def read_metadata(content: bytes) -> Metadata:
    """Read a METADATA file, forgiving what does not matter here.

    Raises:
        ValueError: name, version, Requires-Python or Requires-Dist cannot be read.
    """
    try:
        metadata = Metadata.from_email(content, validate=False)
        _ = (metadata.name, metadata.version, metadata.requires_python, metadata.requires_dist)
    except (InvalidMetadata, ExceptionGroup, InvalidRequirement) as error:
        raise ValueError(f"METADATA cannot be read: {error}") from None
    return metadata


def is_pure(wheel_file: bytes) -> bool:
    """Whether a WHEEL file says that nothing in the wheel is compiled (PEP 427)."""
    return str(BytesParser().parsebytes(wheel_file)["Root-Is-Purelib"]).strip().lower() == "true"


def labelled(content: bytes, *, version: Version, torch: TorchVersion | None) -> bytes:
    """Write a labelled version, and the torch that the label names, into METADATA.

    A requirement on torch that upstream wrote becomes the narrower pin: an extension loads only beside the torch minor
    release it was compiled against.
    """
    message = BytesParser(policy=_AS_WRITTEN).parsebytes(content)
    message.replace_header("Version", str(version))
    if torch:
        others = [text for text in message.get_all("Requires-Dist", []) if not _is_plain_torch(text)]
        del message["Requires-Dist"]
        for requirement in (f"torch=={torch}.*", *others):
            message["Requires-Dist"] = requirement
    return message.as_bytes()


def _is_plain_torch(requirement: str) -> bool:
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return False
    return canonicalize_name(parsed.name) == "torch" and parsed.marker is None and not parsed.extras


def metadata_bytes(wheel: Path) -> bytes:
    """The METADATA of a wheel that can be read, as it stands in it: what a PEP 658 sidecar holds."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"{dist_info_of(archive)}/METADATA")
