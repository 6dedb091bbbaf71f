"""File names of wheels and variant wheels (PEP 825, a draft), and alias wheels: other names for a wheel.

https://peps.python.org/pep-0825/

An alias wheel is empty and requires another one. Its bytes depend only on its fields and are not compressed, because
releases of zlib differ. A rebuilt alias has the hash in lock files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits
from typing import Final, NewType, Self, TypeGuard
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from packaging.tags import InvalidTag, Tag, TooManyTagsError, parse_tag
from packaging.utils import BuildTag, InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName, PythonVersion, Sha256, read_requirement
from wheelmill.system.files import MAX_FILENAME, sha256_of
from wheelmill.wheel.label import BuiltFor, Label

VariantLabel = NewType("VariantLabel", str)
"""The label of a variant in a file name: ``cu130``. Digits, ``a`` to ``z``, ``_`` and ``.``."""

NULL: Final = VariantLabel("null")
"""The label of the null variant, which has no properties and fits every machine."""
WHEEL_SUFFIX: Final = ".whl"

_TAGS: Final = 3
"""Tags of a file name: Python, ABI and platform."""
_MAX_TAGS: Final = 1_000
"""Tags of a file name, whose compressed sets multiply (PEP 425). Real names stand for some dozens."""
_DIGITS: Final = tuple(digits)
_IN_NAME: Final = frozenset(f"{digits}{ascii_letters}-_.+!")
"""Characters of a file name; ``packaging`` takes any in a tag, and white space around a version."""
_IN_LABEL: Final = frozenset(f"{digits}{ascii_lowercase}_.")


def is_label(text: str) -> TypeGuard[VariantLabel]:
    """True if a text can be the label of a variant."""
    return 0 < len(text) <= MAX_FILENAME and _IN_LABEL.issuperset(text)


def split_label(filename: str) -> tuple[str, VariantLabel | None]:
    """Split a variant wheel's name into a plain wheel's name and the label; None if it has no label.

    Build tag and label are optional. A build tag follows the version and starts with a digit; a Python tag must not.
    """
    stem, _, label = filename.removesuffix(WHEEL_SUFFIX).rpartition("-")
    tags = stem.split("-")[2:]
    if tags and tags[0].startswith(_DIGITS):
        tags = tags[1:]
    if filename.endswith(WHEEL_SUFFIX) and len(tags) == _TAGS and not tags[0].startswith(_DIGITS) and is_label(label):
        return f"{stem}{WHEEL_SUFFIX}", label
    return filename, None


class WheelName(Struct, frozen=True, kw_only=True, gc=False):
    """Parts of a wheel's file name (PEP 427, PEP 491); an index reads hundreds of thousands."""

    project: ProjectName
    version: Version
    build: BuildTag
    tags: frozenset[Tag]

    @classmethod
    def parse(cls, filename: str) -> Self:
        """Read a file name; raises UnreadableError if it is not a wheel's."""
        if len(filename) > MAX_FILENAME:
            too_long = f"{filename!r:.40}... has {len(filename)} characters, more than {MAX_FILENAME}"
            raise UnreadableError("file-name-too-long", too_long)
        if not _IN_NAME.issuperset(filename):
            expected = f"expected letters, digits, '-', '_', '.', '+' and '!', not {filename!r}"
            raise UnreadableError("file-name-not-plain", expected)
        try:
            project, version, build, tags = _parts_of(filename)
        except InvalidWheelFilename as error:
            if split_label(filename)[1]:
                raise UnreadableError("variant-wheel", f"expected no variant wheel (PEP 825): {filename!r}") from None
            raise UnreadableError("file-name-not-a-wheel", str(error)) from None
        return cls(project=project, version=version, build=build, tags=tags)

    @property
    def label(self) -> Label | None:
        """CUDA and torch that its local version names in any form; None if it names no single release of CUDA."""
        return self.built_for.label

    @property
    def built_for(self) -> BuiltFor:
        """All facts in its local version."""
        return BuiltFor.parse(self.version.local or "")

    @property
    def filename(self) -> str:
        """File name, with the tags of a compressed set sorted."""
        parts = ("interpreter", "abi", "platform")
        tags = (".".join(sorted({getattr(tag, part) for tag in self.tags})) for part in parts)
        build = [f"{self.build[0]}{self.build[1]}"] if self.build else []
        return "-".join([self.project.replace("-", "_"), str(self.version), *build, *tags]) + ".whl"

    @property
    def platforms(self) -> tuple[str, ...]:
        """Its platform tags, sorted: ``manylinux_2_34_x86_64``."""
        return tuple(sorted({tag.platform for tag in self.tags}))


ABI3T_SINCE: Final = PythonVersion(3, 15, free_threaded=True)
"""First Python with the stable ABI of free-threaded Pythons (PEP 803)."""
_STABLE: Final = re.compile("cp3([0-9]+)-abi3(t?)")


def stable_since(tag: Tag) -> PythonVersion | None:
    """Return the oldest Python that a tag of a stable ABI is for; None if it has another ABI.

    It is 3.10 of cp310-abi3, for Pythons with a GIL (PEP 384), and 3.15t of cp315-abi3t, for free-threaded ones.
    https://peps.python.org/pep-0803/#the-abi3t-wheel-and-filename-tags
    """
    stable = _STABLE.fullmatch(f"{tag.interpreter}-{tag.abi}")
    return PythonVersion(3, int(stable[1]), free_threaded=bool(stable[2])) if stable else None


def written_parts(filename: str) -> tuple[str, str, str]:
    """Project, version, and build number with tags, as a valid wheel name spells them (PEP 427).

    1.0 and 1.0.0 are equal as versions of a `WheelName`, while an index has pages for each and uv.lock keeps the text.
    """
    project, version, tags = filename.removesuffix(".whl").split("-", 2)
    return project, version, tags


def wheel_behind(url: str) -> WheelName | None:
    """Name of the wheel at a URL; None if the URL leads to something else."""
    try:
        return WheelName.parse(unquote(urlsplit(url).path).rpartition("/")[2])
    except ValueError:
        return None


def _parts_of(filename: str) -> tuple[ProjectName, Version, BuildTag, frozenset[Tag]]:
    """Parse as `parse_wheel_filename` does; parts that nearly all names of an index share are parsed only once."""
    stem, suffix, rest = filename.rpartition(".whl")
    front, *back = stem.rsplit("-", 3)
    try:
        if suffix and not rest:
            return *_front(front), read_tags("-".join(back))
    except InvalidWheelFilename:
        pass
    return parse_wheel_filename(filename)  # its error names the whole file name


@lru_cache(maxsize=4096)
def _front(text: str) -> tuple[ProjectName, Version, BuildTag]:
    project, version, build, _ = parse_wheel_filename(f"{text}-py3-none-any.whl")
    return project, version, build


@lru_cache(maxsize=4096)
def read_tags(text: str) -> frozenset[Tag]:
    """Read compressed tags (PEP 425), two in ``py2.py3-none-any``; raises UnreadableError if none or too many."""
    try:
        return parse_tag(text, limit=_MAX_TAGS)
    except (InvalidTag, TooManyTagsError) as error:
        raise UnreadableError("tags-invalid", f"Invalid wheel tags: {error}") from None


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """A wheel on disk."""

    path: Path
    sha256: Sha256
    size: int
    """Bytes."""

    @classmethod
    def at(cls, path: Path) -> Self:
        """Measure the file at a path."""
        return cls(path=path, sha256=sha256_of(path), size=path.stat().st_size)

    @property
    def filename(self) -> str:
        """Last part of its path."""
        return self.path.name


VARIANTS_SUFFIX: Final = "-variants.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantWheelName:
    """Parts of a variant wheel's file name: those of a plain wheel, and a label behind them."""

    plain: WheelName
    label: VariantLabel

    @classmethod
    def parse(cls, filename: str) -> Self:
        """Read a file name; raises UnreadableError if it is not a variant wheel's, but a plain one's or none."""
        plain, label = split_label(filename)
        if label is None:
            raise UnreadableError("not-a-variant-wheel", f"expected a variant wheel (PEP 825), not {filename!r:.80}")
        return cls(plain=WheelName.parse(plain), label=label)

    @property
    def filename(self) -> str:
        """File name, with the tags of a compressed set sorted."""
        return f"{self.plain.filename.removesuffix(WHEEL_SUFFIX)}-{self.label}{WHEEL_SUFFIX}"


def name_without_label(filename: str) -> WheelName:
    """Read the name of a plain or variant wheel, without the label; raises as `WheelName.parse` does."""
    return WheelName.parse(split_label(filename)[0])


def variants_filename(project: ProjectName, version: Version) -> str:
    """File name of the list of a version's variants: ``flash_attn-2.8.3-variants.json``."""
    return f"{project.replace('-', '_')}-{version}{VARIANTS_SUFFIX}"


EVERYWHERE: Final = frozenset({Tag("py3", "none", "any")})
"""Tags of every alias."""
EXTRAS: Final = "extras"
"""Prefix of the label of an alias with extras."""
_WHEEL: Final = b"Wheel-Version: 1.0\nGenerator: wheelmill\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, kw_only=True)
class AliasWheel:
    """METADATA of an alias, its only content."""

    project: ProjectName
    version: Version
    summary: str
    requires_python: str | None = None
    requires_dist: tuple[str, ...]
    extras: tuple[str, ...] = ()

    @property
    def name(self) -> WheelName:
        """File name."""
        return WheelName(project=self.project, version=self.version, build=(), tags=EVERYWHERE)

    @property
    def metadata(self) -> bytes:
        """Content of METADATA; version 2.1 is the first with extras (PEP 566), and every installer reads it."""
        fields = [
            ("Metadata-Version", "2.1"),
            ("Name", self.project),
            ("Version", str(self.version)),
            ("Summary", self.summary),
            *(("Requires-Python", text) for text in [self.requires_python] if text),
            *(("Provides-Extra", extra) for extra in self.extras),
            *(("Requires-Dist", requirement) for requirement in self.requires_dist),
        ]
        return "".join(f"{key}: {value}\n" for key, value in fields).encode()

    @property
    def content(self) -> bytes:
        """Bytes of the wheel."""
        from wheelmill.wheel.archive import pack_members  # not for clients, which look at aliases alone
        from wheelmill.wheel.record import record_of_members

        dist_info = f"{self.project.replace('-', '_')}-{self.version}.dist-info"
        members = {f"{dist_info}/METADATA": self.metadata, f"{dist_info}/WHEEL": _WHEEL}
        return pack_members({**members, f"{dist_info}/RECORD": record_of_members(members, f"{dist_info}/RECORD")})


def stands_for(version: str, requires_dist: Sequence[str]) -> ProjectName | None:
    """Project that a wheel is an alias of: it requires only that project's same, labelled version; None if no alias."""
    if "+" not in version or len(requires_dist) != 1:
        return None
    try:
        required = read_requirement(requires_dist[0])
    except ValueError:
        return None
    return canonicalize_name(required.name) if str(required.specifier) == f"=={version}" else None


def chosen_by_extras(version: str, requires_dist: Sequence[str]) -> ProjectName | None:
    """Project that a wheel is an alias of by extras (``demo-gpu[cuda13]``); None if it is none.

    The version has the label of these aliases: ``1.0+extras.13.12``. Each requirement is an alias for an extra:
    ``demo-cu13<=1.0,>=1.0; extra == "cuda13"``.
    """
    if f"+{EXTRAS}." not in version or not all("extra ==" in each for each in requires_dist):
        return None
    names = {canonicalize_name(required_project(each).rpartition("-cu")[0]) for each in requires_dist}
    return (names.pop() or None) if len(names) == 1 else None


def required_project(requirement: str) -> ProjectName:
    """The project of a requirement; empty for one that is not valid."""
    try:
        return canonicalize_name(read_requirement(requirement).name)
    except ValueError:
        return canonicalize_name("")
