"""PEP 427: a wheel is a zip with a ``.dist-info``.

https://peps.python.org/pep-0427/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.conformance.served import ExaminedFile
from wheelmill.conformance.values import name_and_version
from wheelmill.conformance.violation import Violation, fails, installs, rule

ZIP: Final = rule(
    "427.1",
    "A wheel is a zip file, and nothing stands before or behind it.",
    fails("the wheel is invalid; what stands before the zip, and a comment behind it, it passes over"),
    fails("failed to extract the archive; a comment behind it it passes over"),
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
    fails("failed to extract the archive; a name that leads out of its folder it passes over"),
    section="File Format",
)

_NEEDED: Final = ("METADATA", "WHEEL", "RECORD")


def check_zip(file: ExaminedFile) -> Iterator[Violation]:
    """What a wheel breaks; of other files, and of wheels that could not be looked into, nothing is known."""
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
    if (named := name_and_version(name)) and _name_of_folder(folder) != named:
        yield DIST_INFO_NAME.violation(file.url, f"{name} has {folder}")


def _name_of_folder(folder: str) -> tuple[str, Version] | None:
    project, _, version = folder.removesuffix(".dist-info").rpartition("-")
    try:
        return canonicalize_name(project), Version(version)
    except InvalidVersion:
        return None
