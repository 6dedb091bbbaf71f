"""The pages of one package, of each of its versions, and of their wheels; none of them grows with what there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jinja2 import Environment

from wheelmill.index.render import Page
from wheelmill.index.rows import rows_for_page
from wheelmill.index.site.addresses import package_folder, page_number
from wheelmill.index.site.coverage import Coverage, Grid, grids_of
from wheelmill.index.site.packages import PackagePage, PackageVersion
from wheelmill.index.site.tables import MAX_CELLS, Table, cut
from wheelmill.index.site.wheel_pages import WheelPages

MAX_VERSIONS: Final = 300
"""In the contents of one page."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A version on the page of its package."""

    version: PackageVersion
    tables: tuple[Table, ...]
    more: bool
    """Whether it has others."""


def pages_of_package(
    package: PackagePage, coverage: Coverage, templates: Environment, wheel_pages: WheelPages
) -> Iterator[Page]:
    """Render them, one at a time."""
    grids = {
        version.number: grids_of(package.name, version.number, version.groups, coverage) for version in package.versions
    }
    yield from _of_package(package, _newest_of(package.versions, grids), templates)
    for version in package.versions:
        yield from _of_version(package, version, grids[version.number], templates)
        yield from wheel_pages.of_version(package, version.number, version.files)


def _newest_of(versions: Sequence[PackageVersion], grids: dict[str, tuple[Grid, ...]]) -> dict[str, Shown]:
    """The newest version, and as many others as a page has room for."""
    shown: dict[str, Shown] = {}
    free = MAX_CELLS
    for version in versions:
        first, *others = cut(grids[version.number])
        cells = sum(table.cells for table in first)
        if shown and (others or cells > free):
            break
        shown[version.number] = Shown(version=version, tables=first, more=bool(others))
        free -= cells
    return shown


def _of_package(package: PackagePage, shown: dict[str, Shown], templates: Environment) -> Iterator[Page]:
    template = templates.get_template("site/package.html")
    versions = package.versions
    for number, first in enumerate(range(0, max(len(versions), 1), MAX_VERSIONS), start=1):
        path = f"{package_folder(package.name)}{page_number(number)}index.html"
        text = template.render(
            root="../" * path.count("/"),
            base="../" if number > 1 else "",
            package=package,
            newest=next((version for version in versions if version.groups), None),
            contents=versions[first : first + MAX_VERSIONS],
            shown=shown if number == 1 else {},
            number=number,
            more=first + MAX_VERSIONS < len(versions),
        )
        yield path, [rows_for_page(path, text.encode())]


def _of_version(
    package: PackagePage, version: PackageVersion, grids: Sequence[Grid], templates: Environment
) -> Iterator[Page]:
    template = templates.get_template("site/version.html")
    pages = list(cut(grids))
    for number, tables in enumerate(pages, start=1):
        path = f"{package_folder(package.name)}{version.number}/{page_number(number)}index.html"
        text = template.render(
            root="../" * path.count("/"),
            folder="../" * (path.count("/") - 2),
            base="../" if number > 1 else "",
            package=package,
            version=version,
            tables=tables,
            number=number,
            more=number < len(pages),
        )
        yield path, [rows_for_page(path, text.encode())]
