"""PEP 345 and 643: what METADATA says.

https://peps.python.org/pep-0345/
https://peps.python.org/pep-0643/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import NormalizedName
from packaging.version import Version

from wheelmill.conformance.served import ExaminedFile
from wheelmill.conformance.values import name_and_version
from wheelmill.conformance.violation import Violation, fails, installs, rule
from wheelmill.wheel.metadata import read_fields, read_metadata

REQUIRED: Final = rule(
    "345.1",
    "METADATA has one Metadata-Version, one Name and one Version.",
    fails("ends with a traceback; does not miss Metadata-Version, and takes the first of two Versions"),
    fails("the metadata could not be parsed; does not miss Metadata-Version, and takes the first of two Versions"),
    section="Fields",
)
READABLE: Final = rule(
    "345.2",
    "METADATA is in UTF-8, and its Version, Requires-Python and Requires-Dist can be read.",
    fails("ignores the version, or ends with a traceback; takes an unreadable Requires-Python for any Python"),
    fails("the metadata could not be parsed; other encodings it takes"),
    section="Fields",
)
SAME_REQUIREMENTS: Final = rule(
    "643.1",
    "The wheels of a version have the same Requires-Dist, unless METADATA says that it is Dynamic.",
    installs("by the METADATA of the wheel that it takes"),
    installs("by the METADATA of one wheel, in uv.lock for all of them"),
    section="Specification",
)

_REQUIRED: Final = ("Metadata-Version", "Name", "Version")
_REQUIRES: Final = "requires-dist"
_SHOWN: Final = 5
"""Requirements in a message."""

Requirements = dict[tuple[NormalizedName, Version], tuple[str, frozenset[Requirement]]]
"""Of the versions that were looked at: the first wheel, and what it requires."""


def check_metadata(file: ExaminedFile) -> Iterator[Violation]:
    """What the METADATA breaks that installers resolve by."""
    content, name = file.said, file.link.filename
    if content is None:
        return
    try:
        content.decode()
        fields = read_fields(content)
        missing = [title for title in _REQUIRED if not fields.get(title.lower().replace("-", "_"))]
        if missing:
            yield REQUIRED.violation(file.said_at, f"METADATA of {name} has not one {', '.join(missing)}")
        else:
            read_metadata(content)
    except ValueError as error:
        yield READABLE.violation(file.said_at, f"{name}: {error}")


def compare_requirements(file: ExaminedFile, seen: Requirements) -> Iterator[Violation]:
    """How a wheel's requirements differ from those of the first wheel of its version.

    Args:
        file: the wheel, or another file.
        seen: the wheels before it; this one is added.
    """
    named = name_and_version(file.link.filename)
    if file.said is None or file.resolved is None or named is None:
        return
    if _REQUIRES in map(str.lower, read_fields(file.said).get("dynamic", ())):  # as written: it may name anything
        return
    own = frozenset(file.resolved.requires_dist or ())
    first, others = seen.setdefault(named, (file.link.filename, own))
    if own != others:
        differ = ", ".join(sorted(map(str, own ^ others))[:_SHOWN])
        yield SAME_REQUIREMENTS.violation(file.url, f"only one of {file.link.filename} and {first} requires {differ}")
