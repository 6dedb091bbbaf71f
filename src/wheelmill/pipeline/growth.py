"""Whether a wheel is much larger than the published one that people have."""

from __future__ import annotations

from typing import Final

from packaging.version import Version

from wheelmill.plan.targets import Cell
from wheelmill.release.ledger.records import LedgerState, ReleasedWheel
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile

_MUCH: Final = 1.2
"""How many times as large as its predecessor a wheel is told to be."""


def growth_of(file: WheelFile, cell: Cell, state: LedgerState) -> Finding | None:
    """Compare a wheel with the newest published one of its project that is no newer; None where it is not much larger.

    Args:
        file: the wheel.
        cell: what it was built for; wheels for another CUDA or platform are not compared with it.
        state: what is published.
    """
    wheels = (wheel for release in state.releases.values() for wheel in release.wheels)
    before = [(each.cell, each) for each in wheels if each.cell and _comes_before(each.cell, cell)]
    if not before:
        return None
    _, latest = max(before, key=lambda pair: (_nearness(pair[0], cell), pair[1].size))
    if file.size < _MUCH * latest.size:
        return None
    more = round(100 * (file.size / latest.size - 1))
    return Finding(code=Code.GROWN, detail=f"{file.size} bytes, {more} % more than {_named(latest)}")


def _comes_before(other: Cell, cell: Cell) -> bool:
    same = (other.project, other.cuda, other.platform) == (cell.project, cell.cuda, cell.platform)
    return same and Version(other.version) <= Version(cell.version)


def _nearness(other: Cell, cell: Cell) -> tuple[Version, bool, bool]:
    return Version(other.version), other.torch == cell.torch, other.python == cell.python


def _named(wheel: ReleasedWheel) -> str:
    return f"the published {wheel.filename}, which has {wheel.size}"
