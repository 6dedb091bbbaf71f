"""Templates of pages for people, with their words and filters, and the tables written by hand.

The coverage of a version has a cell for every wheel and many more, too many for a template. It is split if a page
would become too long. A second table shows what makes the wheels of a version large.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from wheelmill.index.render import escape, site_templates
from wheelmill.index.site.coverage import CellOutcome, Grid, Row, State, platform_order, platform_title
from wheelmill.index.site.finder import EMPTY_CATALOGUE
from wheelmill.index.site.packages import by_topic, dependencies_of, install_command, torch_source_of, torches_in
from wheelmill.index.site.wheels import Trees, WheelGroup, in_url, page_number, wheel_anchor, wheels_folder
from wheelmill.index.tree import UNKNOWN_ADDRESS, Catalogue
from wheelmill.names import ProjectName, TorchNeed, TorchVersion
from wheelmill.system.progress import duration, number_of, size
from wheelmill.wheel.label import words_for

MAX_CELLS: Final = 700
"""Cells of all tables on one page: a cell has at most two elements, and a row three besides them."""
SIGNS: Final[Mapping[State, str]] = {State.MISSING: "○", State.FAILED: "✕", State.SKIPPED: "–"}  # noqa: RUF001
WORDS: Final[Mapping[State, str]] = {
    State.BUILT: "built",
    State.MISSING: "not built yet",
    State.FAILED: "build failed",
    State.SKIPPED: "not planned",
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Some rows of a grid."""

    grid: Grid
    rows: tuple[Row, ...]
    first: bool
    """True for its first ones."""

    @property
    def has_torch(self) -> bool:
        """True if its grid has wheels that need torch."""
        return any(row.axes.torch for row in self.grid.rows)

    @property
    def cells(self) -> int:
        """Number of cells, with the heads of its rows."""
        return len(self.rows) * _width(self.grid)


_HEADS: Final = 2


def _width(grid: Grid) -> int:
    return len(grid.pythons or (None,)) + _HEADS


def split_tables(grids: Iterable[Grid]) -> Iterator[tuple[Table, ...]]:
    """Split grids into the tables of one page after another; one page if there is nothing to show."""
    page: list[Table] = []
    free = MAX_CELLS
    for grid in grids:
        width = _width(grid)
        rows, first = grid.rows, True
        while first or rows:
            if free < width and page:
                yield tuple(page)
                page, free = [], MAX_CELLS
            count = max(free // width, 1)
            page.append(Table(grid=grid, rows=rows[:count], first=first))
            rows, first, free = rows[count:], False, free - width * min(count, len(rows))
    yield tuple(page)


def body_of(table: Table, folder: str, trees: Trees) -> Markup:
    """Render the rows of a table; `folder` is the path from the page to the folder of its version."""
    lines = []
    for torch, rows in groupby(table.rows, key=lambda row: row.axes.torch):
        of_torch = list(rows)
        head = _torch_head(torch, len(of_torch)) if table.has_torch else ""
        lines.append("<tbody>")
        for row in of_torch:
            served = [torch] if isinstance(torch, TorchVersion) else torches_in(torch, row.axes.cuda, trees)
            lines.append(_row(row, head, folder, " ".join(map(str, served))))
            head = ""
        lines.append("</tbody>")
    return Markup("\n".join(lines))  # noqa: S704 - escaped


@cache
def _torch_head(torch: TorchNeed | None, rows: int) -> str:
    text = words_for(torch).removeprefix("torch ") if torch else "none"
    return f'<th scope="rowgroup" rowspan="{rows}">{text}</th>'


def _row(row: Row, head: str, folder: str, torches: str) -> str:
    cells = "".join([_cell(outcome, folder) for outcome in row.outcomes])
    sizes = [outcome.wheel.file.size for outcome in row.outcomes if outcome.wheel]
    largest = size(max(sizes)) if sizes else ""
    cuda = escape(row.axes.words)
    return (
        f'<tr data-torch="{torches}" data-cuda="{cuda}">{head}<th scope="row">{cuda}</th>{cells}'
        f'<td class="size">{largest}</td></tr>'
    )


def _cell(outcome: CellOutcome, folder: str) -> str:
    if wheel := outcome.wheel:
        anchor = escape(wheel_anchor(wheel.file))
        return f'<td><a href="{folder}{outcome.folder}#{anchor}">{wheel.pythons}</a></td>'
    return _empty(outcome)


@cache
def _empty(outcome: CellOutcome) -> str:
    why = f' title="{escape(outcome.reason)}"' if outcome.reason else ""
    return f'<td class="{outcome.state}" aria-label="{WORDS[outcome.state]}"{why}>{SIGNS[outcome.state]}</td>'


MAX_ROWS: Final = 60
"""Rows of one table; each has seven elements."""


def size_rows(groups: Iterable[WheelGroup]) -> Markup:
    """Render the rows of a version: Linux, and of it the newest torch, first; nothing if no certificate has sizes."""
    listed = sorted(groups, key=lambda group: platform_order(group.kind.platform))
    return Markup("\n".join(islice(filter(None, map(_size_row, listed)), MAX_ROWS)))  # noqa: S704 - escaped


def _size_row(group: WheelGroup) -> str:
    """Render the sizes of the largest wheel; empty if no certificate has any."""
    kind, certified = group.kind, [(wheel.file, wheel.file.certificate) for wheel in group.wheels]
    known = [(file.size, certificate.sizes) for file, certificate in certified if certificate and certificate.sizes]
    if not known:
        return ""
    packed, sizes = max(known, key=itemgetter(0))
    folder = wheels_folder(kind.version, kind.exact_version)
    code = ", ".join([f"{escape(name)} {size(number)}" for name, number in sizes.gpu_code.items()])
    return (
        f'<tr><th scope="row"><a href="{escape(in_url(folder))}">{escape(folder.removesuffix("/"))}</a>'
        f"<td>{escape(platform_title(kind.platform))}<td>{size(packed)}<td>{code or 'none'}<td>{size(sizes.host_code)}"
    )


def templates_for(
    trees: Trees, projects: Container[ProjectName], catalogue: Catalogue = EMPTY_CATALOGUE
) -> Environment:
    """Make the templates of pages for people, given the torches with a tree and the projects of this index."""
    templates = site_templates()
    templates.globals |= {"signs": SIGNS, "words": WORDS, "homes": catalogue.homes, "address": UNKNOWN_ADDRESS}
    templates.filters |= {
        "by_topic": by_topic,
        "body": lambda table, folder: body_of(table, folder, trees),
        "command": lambda package, requirement, group: install_command(
            f"{package.name}=={group.kind.exact_version}" if group.kind.needs_exact_pin else requirement,
            f"{package.name}=={group.kind.exact_version}",
            is_shared=package.is_shared,
            dependencies=dependencies_of(group.requires_dist, projects),
            torch=torch_source_of(group.kind.built_for.cuda, group.kind.torch, group.kind.platform, trees, catalogue),
        ),
        "date": lambda moment: f"{moment:%Y-%m-%d}",
        "duration": duration,
        "in_url": in_url,
        "number_of": number_of,
        "page": page_number,
        "platform_title": platform_title,
        "size": size,
        "size_rows": size_rows,
        "thousands": lambda number: f"{number:,}",
        "torch": words_for,
        "wheels_of": lambda exact, version: in_url(wheels_folder(version.number, exact)),
    }
    return templates
