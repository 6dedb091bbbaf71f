"""Which Pythons wheels install on, as people write them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from packaging.tags import Tag

from wheelmill.names import PythonVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class Pythons:
    """The Pythons that a wheel's tags let in.

    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    oldest: PythonVersion | None
    """None for every Python 3."""
    only: bool
    """Whether newer ones are kept out."""

    @classmethod
    def of(cls, tag: Tag) -> Self:
        """Read the interpreter and the ABI of a tag.

        Raises:
            ValueError: they are not CPython's.
        """
        if tag.interpreter == "py3":
            return cls(oldest=None, only=False)
        if tag.abi == "abi3" or tag.interpreter.startswith("py3"):
            return cls(oldest=PythonVersion.parse(tag.interpreter.removeprefix("py")), only=False)
        return cls(oldest=PythonVersion.parse(tag.interpreter if tag.abi == "none" else tag.abi), only=True)

    def allows(self, python: PythonVersion) -> bool:
        """Whether a wheel of these tags installs on a Python."""
        if self.oldest is None or self.only:
            return self.oldest in (None, python)
        return python >= self.oldest and not python.free_threaded

    def __str__(self) -> str:
        """``3.12``, ``3.9+`` or ``any``."""
        return "any" if self.oldest is None else f"{self.oldest}{'' if self.only else '+'}"


# An index has thousands of wheels with few different tags, and as few sets of Pythons.


@cache
def pythons_of(tags: frozenset[Tag]) -> Pythons | None:
    """The widest choice that one of a wheel's tags gives; None when none is for CPython."""
    try:
        return max(map(Pythons.of, tags), key=lambda pythons: not pythons.only)
    except ValueError:
        return None


NO_PYTHON: Final = (0, 0, False)
"""The order of those for no certain Python."""


@cache
def order_of(pythons: Pythons) -> tuple[int, int, bool]:
    """Sorts those for every Python 3 first, then by the oldest; numbers are quicker to compare than Pythons are."""
    oldest = pythons.oldest
    return (oldest.major, oldest.minor, oldest.free_threaded) if oldest else NO_PYTHON


@cache
def covered_pythons(pythons: tuple[PythonVersion, ...], wheels: tuple[Pythons, ...]) -> tuple[PythonVersion, ...]:
    """Those of some Pythons that one of some wheels installs on."""
    return tuple(python for python in pythons if any(wheel.allows(python) for wheel in wheels))
