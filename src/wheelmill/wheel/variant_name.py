"""The name of a variant wheel, and of the list of variants beside it (PEP 825, a draft).

https://peps.python.org/pep-0825/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from packaging.version import Version

from wheelmill.errors import UnreadableError
from wheelmill.names import ProjectName
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.variant_label import WHEEL_SUFFIX, VariantLabel, split_label

VARIANTS_SUFFIX: Final = "-variants.json"


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
            raise UnreadableError(
                "not-a-variant-wheel",
                f"expected a variant wheel, whose name ends in a label (PEP 825): {filename!r:.80}",
            )
        return cls(plain=WheelName.parse(plain), label=label)

    @property
    def filename(self) -> str:
        """The file name, with the tags of a compressed set sorted."""
        return f"{self.plain.filename.removesuffix(WHEEL_SUFFIX)}-{self.label}{WHEEL_SUFFIX}"


def name_without_label(filename: str) -> WheelName:
    """Read the name of a wheel, of which it does not matter whether it is a variant.

    Raises:
        UnreadableError: it is no wheel's.
    """
    return WheelName.parse(split_label(filename)[0])


def variants_filename(project: ProjectName, version: Version) -> str:
    """What the list of a version's variants is called: ``flash_attn-2.8.3-variants.json``."""
    return f"{project.replace('-', '_')}-{version}{VARIANTS_SUFFIX}"
