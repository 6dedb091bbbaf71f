"""The coverage of a version as tables, whose cells lead to wheels; cut where a page would become too long.

Written by hand, as the rows for installers are: an index has a cell for every wheel, and for many that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Final

from markupsafe import Markup

from wheelmill.index.rows import escape
from wheelmill.index.site.addresses import wheel_anchor
from wheelmill.index.site.coverage import Grid, Outcome, Row, State
from wheelmill.names import CudaVersion, StableTorch, TorchNeed, TorchVersion
from wheelmill.system.progress import size
from wheelmill.wheel.torch_need import words_for

MAX_CELLS: Final = 700
"""Of all tables on one page: one has at most two elements, and a row three beside them."""
SIGNS: Final[Mapping[State, str]] = {State.MISSING: "○", State.FAILED: "✕", State.SKIPPED: "–"}  # noqa: RUF001
WORDS: Final[Mapping[State, str]] = {
    State.BUILT: "built",
    State.MISSING: "not built yet",
    State.FAILED: "build failed",
    State.SKIPPED: "not planned",
}
Trees = Mapping[CudaVersion, Sequence[TorchVersion]]
"""The torches that have a tree, by CUDA."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Some rows of a grid."""

    grid: Grid
    rows: tuple[Row, ...]
    first: bool
    """Whether they are its first."""

    @property
    def has_torch(self) -> bool:
        """Whether its grid has wheels that need one."""
        return any(row.axes.torch for row in self.grid.rows)

    @property
    def cells(self) -> int:
        """How many it has, with the heads of its rows."""
        return len(self.rows) * (len(self.grid.pythons or (None,)) + _HEADS)


_HEADS: Final = 2


def cut(grids: Iterable[Grid], limit: int = MAX_CELLS) -> Iterator[tuple[Table, ...]]:
    """The tables of one page after another; one page, where there is nothing to show."""
    page: list[Table] = []
    free = limit
    for grid in grids:
        width = len(grid.pythons or (None,)) + _HEADS
        rows, first = grid.rows, True
        while first or rows:
            if free < width and page:
                yield tuple(page)
                page, free = [], limit
            count = max(free // width, 1)
            page.append(Table(grid=grid, rows=rows[:count], first=first))
            rows, first, free = rows[count:], False, free - width * min(count, len(rows))
    yield tuple(page)


def body_of(table: Table, folder: str, trees: Trees) -> Markup:
    """The rows of a table.

    Args:
        table: what to show.
        folder: what leads from the page to the folder of its version.
        trees: the torches that wheels may be meant for which do for a range of them.
    """
    lines = []
    for torch, rows in groupby(table.rows, key=lambda row: row.axes.torch):
        of_torch = list(rows)
        head = _torch_head(torch, len(of_torch)) if table.has_torch else ""
        lines.append("<tbody>")
        for row in of_torch:
            lines.append(_row(row, head, folder, _torches(torch, row.axes.cuda, trees)))
            head = ""
        lines.append("</tbody>")
    return Markup("\n".join(lines))  # noqa: S704 - escaped


@cache
def _torch_head(torch: TorchNeed | None, rows: int) -> str:
    text = words_for(torch).removeprefix("torch ") if torch else "none"
    return f'<th scope="rowgroup" rowspan="{rows}">{text}</th>'


def _torches(torch: TorchNeed | None, cuda: CudaVersion | None, trees: Trees) -> str:
    """The torches that a row is for, as the filter reads them; nothing where any will do."""
    if isinstance(torch, StableTorch):
        return " ".join(str(each) for each in trees.get(cuda, ()) if each in torch) if cuda else ""
    return str(torch or "")


def _row(row: Row, head: str, folder: str, torches: str) -> str:
    cells = "".join([_cell(outcome, folder) for outcome in row.outcomes])
    sizes = [wheel.file.size for wheel in row.wheels]
    largest = size(max(sizes)) if sizes else ""
    cuda = escape(row.axes.words)
    return (
        f'<tr data-torch="{torches}" data-cuda="{cuda}">{head}<th scope="row">{cuda}</th>{cells}'
        f'<td class="size">{largest}</td></tr>'
    )


def _cell(outcome: Outcome, folder: str) -> str:
    if wheel := outcome.wheel:
        anchor = escape(wheel_anchor(wheel.file))
        return f'<td><a href="{folder}{outcome.folder}#{anchor}">{wheel.pythons}</a></td>'
    return _empty(outcome)


@cache
def _empty(outcome: Outcome) -> str:
    why = f' title="{escape(outcome.reason)}"' if outcome.reason else ""
    return f'<td class="{outcome.state}" aria-label="{WORDS[outcome.state]}"{why}>{SIGNS[outcome.state]}</td>'
