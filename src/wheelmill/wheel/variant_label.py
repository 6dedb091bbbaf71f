"""The label in which the name of a variant wheel ends (PEP 825, a draft): how it is told from a plain wheel's.

https://peps.python.org/pep-0825/
"""

from __future__ import annotations

from string import ascii_lowercase, digits
from typing import Final, NewType, TypeGuard

from wheelmill.system.files import MAX_FILENAME

VariantLabel = NewType("VariantLabel", str)
"""The label of a variant in a file name: ``cu130``. Digits, ``a`` to ``z``, ``_`` and ``.``."""

NULL: Final = VariantLabel("null")
"""The label of the null variant, which has no properties and fits every machine."""
WHEEL_SUFFIX: Final = ".whl"

_TAGS: Final = 3
"""Of Python, ABI and platform."""
_DIGITS: Final = tuple(digits)
_IN_LABEL: Final = frozenset(f"{digits}{ascii_lowercase}_.")


def is_label(text: str) -> TypeGuard[VariantLabel]:
    """Whether a text can be the label of a variant."""
    return 0 < len(text) <= MAX_FILENAME and _IN_LABEL.issuperset(text)


def split_label(filename: str) -> tuple[str, VariantLabel | None]:
    """Split the name of a variant wheel into the name of a plain one and the label; None if it has no label.

    Both a build tag and a label are a part more than a name must have. A build tag stands behind the version and starts
    with a digit, which a Python tag must not.
    """
    stem, _, label = filename.removesuffix(WHEEL_SUFFIX).rpartition("-")
    tags = stem.split("-")[2:]
    if tags and tags[0].startswith(_DIGITS):
        tags = tags[1:]
    if filename.endswith(WHEEL_SUFFIX) and len(tags) == _TAGS and not tags[0].startswith(_DIGITS) and is_label(label):
        return f"{stem}{WHEEL_SUFFIX}", label
    return filename, None
