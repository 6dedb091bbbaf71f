"""Rules for wheel files: versions in their names (PEP 440), the zip (PEP 427) and METADATA (PEP 345 and 643).

https://peps.python.org/pep-0440/
https://peps.python.org/pep-0427/
https://peps.python.org/pep-0345/
https://peps.python.org/pep-0643/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from wheelmill.conformance.listed_values import name_and_version, written_version
from wheelmill.conformance.rule import Breach, ExaminedFile, Violation, fails, installs, rule
from wheelmill.names import version_or_none
from wheelmill.web.pages import Page
from wheelmill.wheel.metadata import read_fields, read_metadata

NORMAL: Final = rule(
    "440.1",
    "The version in a file name has its normal form: 1.0rc1+cu128, not v1.0-RC1+CU128.",
    installs("by the normal form; the .dist-info keeps the other"),
    section="Normalization",
)


def check_versions(page: Page) -> Iterator[Breach]:
    """Check the versions in the file names of a project's page (PEP 440)."""
    for link in page.links:
        named = name_and_version(link.filename)
        if named and (written := written_version(link.filename)) != str(named[1]):
            yield NORMAL, f"{link.filename} has {written!r} for {named[1]}"


ZIP: Final = rule(
    "427.1",
    "A wheel is a zip file, without bytes before or behind it.",
    fails("the wheel is invalid; ignores bytes before the zip and a comment behind it"),
    fails("failed to extract the archive; ignores a comment behind it"),
    section="File Format",
)
DIST_INFO: Final = rule(
    "427.2",
    "A wheel has one .dist-info folder, with METADATA, WHEEL and RECORD.",
    fails("the wheel is invalid; without METADATA or RECORD another error"),
    fails("the wheel is invalid, or a file of it is not found"),
    section="The .dist-info directory",
)
DIST_INFO_NAME: Final = rule(
    "427.3",
    "The .dist-info folder has the name and the version of the file's name.",
    fails("the folder does not start with the project's name; takes another version"),
    installs("takes any name"),
    section="File contents",
)
SOUND: Final = rule(
    "427.4",
    "Each byte of a wheel has one meaning: its members are stored or deflated, and have names of their own.",
    installs("by the list at its end; refuses a wrong checksum, and a name that leads out of its folder"),
    fails("failed to extract the archive; ignores a name that leads out of its folder"),
    section="File Format",
)

_NEEDED: Final = ("METADATA", "WHEEL", "RECORD")


def check_zip(file: ExaminedFile) -> Iterator[Violation]:
    """Check the zip and ``.dist-info`` of a wheel (PEP 427). Other files, and wheels that could not be opened, pass."""
    inside = file.inside
    if inside is None:
        return
    name = file.link.filename
    if inside.broken:
        yield ZIP.violation(file.url, f"{name}: {inside.broken}")
        return
    for reason in inside.refused:
        yield SOUND.violation(file.url, f"{name}: {reason}")
    folders = sorted({member.partition("/")[0] for member in inside.dist_info})
    if len(folders) != 1:
        yield DIST_INFO.violation(file.url, f"{name} has the .dist-info folders {', '.join(folders) or 'none'}")
        return
    (folder,) = folders
    if missing := [each for each in _NEEDED if f"{folder}/{each}" not in inside.dist_info]:
        yield DIST_INFO.violation(file.url, f"{name} has no {', '.join(missing)} in {folder}")
    project, _, version = folder.removesuffix(".dist-info").rpartition("-")
    if (named := name_and_version(name)) and named != (canonicalize_name(project), version_or_none(version)):
        yield DIST_INFO_NAME.violation(file.url, f"{name} has {folder}")


REQUIRED: Final = rule(
    "345.1",
    "METADATA has one Metadata-Version, one Name and one Version.",
    fails("ends with a traceback; accepts a missing Metadata-Version, and takes the first of two Versions"),
    fails("the metadata could not be parsed; accepts a missing Metadata-Version, and takes the first of two Versions"),
    section="Fields",
)
READABLE: Final = rule(
    "345.2",
    "METADATA is in UTF-8, and its Version, Requires-Python and Requires-Dist can be read.",
    fails("ignores the version, or ends with a traceback; takes an unreadable Requires-Python for any Python"),
    fails("the metadata could not be parsed; accepts other encodings"),
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
_SHOWN_REQUIREMENTS: Final = 5

Requirements = dict[tuple[NormalizedName, Version], tuple[str, frozenset[Requirement]]]
"""Requirements of each version that was read, with the first wheel that has them."""


def check_metadata(file: ExaminedFile) -> Iterator[Violation]:
    """Check the METADATA that installers resolve by (PEP 345)."""
    content, name = file.installer_metadata, file.link.filename
    if content is None:
        return
    try:
        content.decode()
        fields = read_fields(content)
        missing = [title for title in _REQUIRED if not fields.get(title.lower().replace("-", "_"))]
        if missing:
            yield REQUIRED.violation(file.metadata_url, f"METADATA of {name} has not one {', '.join(missing)}")
        else:
            read_metadata(content)
    except ValueError as error:
        yield READABLE.violation(file.metadata_url, f"{name}: {error}")


def compare_requirements(file: ExaminedFile, seen: Requirements) -> Iterator[Violation]:
    """Compare a wheel's requirements with those of the first wheel of its version (PEP 643), and add them to `seen`."""
    named = name_and_version(file.link.filename)
    if file.installer_metadata is None or file.resolved is None or named is None:
        return
    dynamic = read_fields(file.installer_metadata).get("dynamic", ())  # as written: it may name anything
    if "requires-dist" in map(str.lower, dynamic):
        return
    own = frozenset(file.resolved.requires_dist or ())
    first, others = seen.setdefault(named, (file.link.filename, own))
    if own != others:
        differ = ", ".join(sorted(map(str, own ^ others))[:_SHOWN_REQUIREMENTS])
        yield SAME_REQUIREMENTS.violation(file.url, f"only one of {file.link.filename} and {first} requires {differ}")
