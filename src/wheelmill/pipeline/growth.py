"""Whether a wheel is much larger than its published predecessor."""

from __future__ import annotations

from typing import Final

from packaging.version import Version

from wheelmill.plan.targets import Cell
from wheelmill.release.ledger.records import LedgerState
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile

_MUCH: Final = 1.2
"""How many times larger than its predecessor a wheel must be to be reported."""


def growth_of(file: WheelFile, cell: Cell, state: LedgerState) -> Finding | None:
    """Compare a wheel with its newest published predecessor; None if it is not much larger.

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
    predecessor = f"the published {latest.filename}, which has {latest.size}"
    return Finding(code=Code.GROWN, detail=f"{file.size} bytes, {more} % more than {predecessor}")


def _comes_before(other: Cell, cell: Cell) -> bool:
    same = (other.project, other.cuda, other.platform) == (cell.project, cell.cuda, cell.platform)
    return same and Version(other.version) <= Version(cell.version)


def _nearness(other: Cell, cell: Cell) -> tuple[Version, bool, bool]:
    return Version(other.version), other.torch == cell.torch, other.python == cell.python
