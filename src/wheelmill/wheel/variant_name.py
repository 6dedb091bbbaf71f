"""The name of a variant wheel, and of the list of variants beside it (PEP 825, a draft).

https://peps.python.org/pep-0825/
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase, digits
from typing import Final, NewType, Self, TypeGuard

from packaging.version import Version

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.system.files import MAX_FILENAME
from wheelmill.wheel.name import WheelName

VariantLabel = NewType("VariantLabel", str)
"""What a variant wheel's name calls its variant: ``cu130``. Digits, ``a`` to ``z``, ``_`` and ``.``."""

NULL: Final = VariantLabel("null")
"""The variant without properties, which every machine takes when it takes no other."""
VARIANTS_SUFFIX: Final = "-variants.json"

_WHEEL: Final = ".whl"
_TAGS: Final = 3
"""Of Python, ABI and platform."""
_DIGITS: Final = tuple(digits)
_IN_LABEL: Final = frozenset(f"{digits}{ascii_lowercase}_.")


def is_label(text: str) -> TypeGuard[VariantLabel]:
    """Whether a text can be the label of a variant."""
    return 0 < len(text) <= MAX_FILENAME and _IN_LABEL.issuperset(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantWheelName:
    """What a variant wheel's file name says: all that a plain wheel's says, and a label behind it."""

    plain: WheelName
    """The name without the label."""
    label: VariantLabel

    @classmethod
    def parse(cls, filename: str) -> Self:
        """Read a file name.

        Raises:
            UnreadableError: it is not a variant wheel's, but a plain one's or none.
        """
        plain, label = split_label(filename)
        if label is None:
            raise UnreadableError(f"expected a variant wheel, whose name ends in a label (PEP 825): {filename!r:.80}")
        return cls(plain=WheelName.parse(plain), label=label)

    @property
    def filename(self) -> str:
        """The file name, with the tags of a compressed set sorted."""
        return f"{self.plain.filename.removesuffix(_WHEEL)}-{self.label}{_WHEEL}"


def split_label(filename: str) -> tuple[str, VariantLabel | None]:
    """Part the name of a wheel into the name of a plain one and its label; None where it has no label.

    Both a build tag and a label are a part more than a name must have. A build tag stands behind the version and starts
    with a digit, which a Python tag must not.
    """
    stem, _, label = filename.removesuffix(_WHEEL).rpartition("-")
    tags = stem.split("-")[2:]
    if tags and tags[0].startswith(_DIGITS):
        tags = tags[1:]
    if filename.endswith(_WHEEL) and len(tags) == _TAGS and not tags[0].startswith(_DIGITS) and is_label(label):
        return f"{stem}{_WHEEL}", label
    return filename, None


def name_without_label(filename: str) -> WheelName:
    """Read the name of a wheel, of which it does not matter whether it is a variant.

    Raises:
        UnreadableError: it is no wheel's.
    """
    return WheelName.parse(split_label(filename)[0])


def variants_filename(project: ProjectName, version: Version) -> str:
    """What the list of a version's variants is called: ``flash_attn-2.8.3-variants.json``."""
    return f"{project.replace('-', '_')}-{version}{VARIANTS_SUFFIX}"
