"""Pages for people: finder, trust, packages and their versions, matrix, news, failed builds, documents and sitemap.

The pages of a package, of a version and of its wheels are bounded: none grows with the number of wheels. Documents are
copied as Sphinx rendered them.

https://www.sitemaps.org/protocol.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote

from jinja2 import Environment
from pydantic_core import to_json

from wheelmill.errors import SiteError
from wheelmill.index.render import rows_for_page
from wheelmill.index.site.coverage import FailureTable, Grid, Matrix, failures_of, grids_of, matrix_of, planned_coverage
from wheelmill.index.site.finder import EMPTY_CATALOGUE, FinderData, finder_data
from wheelmill.index.site.news import FEED, badge_of, feed_of, histories_of, newest_of, news_of
from wheelmill.index.site.packages import PackagePage, PackageVersion, package_pages
from wheelmill.index.site.templates import MAX_CELLS, Table, split_tables, templates_for
from wheelmill.index.site.wheel_pages import WheelPages
from wheelmill.index.site.wheels import Groups, Item, Trees, package_folder, page_number, parts_of, wheel_groups
from wheelmill.index.tree import DOCUMENTS, INVENTORY, UNKNOWN_ADDRESS, Catalogue, IndexFile, Site, SiteAddress
from wheelmill.index.write import Page
from wheelmill.names import ProjectName
from wheelmill.system import own_installation
from wheelmill.system.folders import entries_below
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.platforms import PLATFORMS


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Counts of an index's wheels by passed check, for sentences about all wheels."""

    wheels: int
    examined: int
    """Wheels with a certificate."""
    built: int
    """Wheels whose build is known."""
    imported: int
    """Wheels that were installed and imported wherever they were tried."""
    ran: int
    """Wheels whose kernels ran on a GPU."""
    allowed: int
    """Wheels with a fault that is allowed."""

    @classmethod
    def of(cls, files: Sequence[IndexFile]) -> Self:
        """Count the wheels by their certificates."""
        certificates = [file.certificate for file in files if file.certificate]
        alike = Counter((each.clean_rooms, each.findings) for each in certificates).items()
        return cls(
            wheels=len(files),
            examined=len(certificates),
            built=sum([each.provenance is not None for each in certificates]),
            imported=sum(count for (rooms, _), count in alike if rooms and all(room.imported for room in rooms)),
            ran=sum(count for (rooms, _), count in alike if any(room.gpus for room in rooms)),
            allowed=sum(count for (_, findings), count in alike if any(finding.reason for finding in findings)),
        )

    @property
    def all(self) -> bool:
        """True if every wheel was installed and imported."""
        return 0 < self.imported == self.wheels


def first_pages(
    packages: Sequence[PackagePage],
    files: Sequence[IndexFile],
    trees: Trees,
    finder: FinderData,
    templates: Environment,
) -> Iterator[Page]:
    """Render the start and about pages, and the data of search and finder; `files` excludes yanked wheels."""
    tried = Tried.of(files)
    pins = (f"{package.name}=={package.groups[0].kind.exact_version}" for package in packages if package.groups)
    start = templates.get_template("site/start.html").render(
        root="./",
        tried=tried,
        packages=packages,
        built=[package for package in packages if package.wheels],
        planned=[package for package in packages if not package.wheels and package.redistributable],
        private=[package for package in packages if not package.wheels and not package.redistributable],
        compiled=round(sum(package.build_seconds for package in packages)),
        updated=max((file.uploaded_at for file in files if file.uploaded_at), default=None),
        families=trees,
        pin_example=next(pins, "PACKAGE==2.8.3+cu128torch2.8"),
        gpus={gpu: ", ".join(cards) for gpu, cards in CARDS.items()},
        platforms=PLATFORMS,
        finder={**finder, "wheels": {}},
    )
    yield "index.html", [start.encode()]
    about = templates.get_template("site/about.html").render(root="../", tried=tried)
    yield "about/index.html", [about.encode()]
    for name, wheels in finder["wheels"].items():
        script = b'"use strict";\naddWheels(' + to_json(name) + b", " + to_json(wheels) + b");\n"
        yield f"{package_folder(ProjectName(name))}wheels.js", [script]


def search_data(packages: Sequence[PackagePage], catalogue: Catalogue) -> Page:
    """Render the data of the search: packages here, with what they are imported as, and those that others have.

    Each is a name, the number of its wheels, a description, further words and the places that have it instead.
    """
    here: list[tuple[str, int, str, str, str]] = [
        (package.name, len(package.wheels), package.description, " ".join(catalogue.modules_of(package.name)), "")
        for package in packages
    ]
    names = {package.name for package in packages}
    others = [(name, 0, "", "", ", ".join(homes)) for name, homes in catalogue.homes.items() if name not in names]
    # A script, and no JSON: it also works from a disk.
    return "packages/packages.js", [b'"use strict";\nconst PACKAGES = ' + to_json(here + others) + b";\n"]


_PACKAGES_PER_PAGE: Final = 150


def more_pages(
    groups: Groups,
    matrix: Matrix,
    failures: Mapping[ProjectName, FailureTable],
    *,
    templates: Environment,
    site_url: str,
) -> Iterator[Page]:
    """Render news, feeds, matrix and failed builds one at a time; without `site_url`, links of feeds are relative."""
    own = {project: news_of(project, of_project) for project, of_project in groups.items()}
    news = newest_of(chain.from_iterable(own.values()))
    yield "news/index.html", [templates.get_template("site/news.html").render(root="../", news=news).encode()]
    yield f"news/{FEED}", [feed_of(news, title="CUDA wheels", page="news/", root="../", site_url=site_url)]
    template = templates.get_template("site/matrix.html")
    for path, rows, links in _numbered("matrix/", parts_of(matrix.rows, _PACKAGES_PER_PAGE)):
        yield path, [template.render(links, torches=matrix.torches, rows=rows).encode()]
    failed = templates.get_template("site/failures.html")
    for project in groups:
        folder = package_folder(project)
        yield f"{folder}{FEED}", [feed_of(own[project], title=project, page=folder, root="../../", site_url=site_url)]
        if project in failures:
            page = failed.render(root="../../../", project=project, failures=failures[project])
            yield f"{folder}failures/index.html", [page.encode()]


def _numbered(folder: str, parts: Sequence[Item]) -> Iterator[tuple[str, Item, Mapping[str, object]]]:
    """Yield the path of every page of a folder, its part, and the variables for links between pages."""
    for number, part in enumerate(parts, start=1):
        path = f"{folder}{page_number(number)}index.html"
        base = "../" if number > 1 else ""
        root = "../" * path.count("/")
        yield path, part, {"root": root, "base": base, "number": number, "more": number < len(parts)}


MAX_VERSIONS: Final = 300
"""In the contents of one page."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Version on the page of its package."""

    version: PackageVersion
    tables: tuple[Table, ...]
    more: bool
    """True if it has others."""


def pages_of_package(package: PackagePage, templates: Environment, wheel_pages: WheelPages) -> Iterator[Page]:
    """Render the pages of a package, its versions and their wheels, one at a time."""
    grids = {version.number: grids_of(version.groups, version.planned) for version in package.versions}
    newest = _newest_of(package.versions, grids)
    of_package, of_version = (templates.get_template(f"site/{name}.html") for name in ("package", "version"))
    for path, versions, links in _numbered(package_folder(package.name), parts_of(package.versions, MAX_VERSIONS)):
        shown = newest if links["number"] == 1 else {}
        text = of_package.render(links, package=package, contents=versions, shown=shown)
        yield path, [rows_for_page(path, text.encode())]
    for version in package.versions:
        pages = list(split_tables(grids[version.number]))
        for path, tables, links in _numbered(f"{package_folder(package.name)}{version.number}/", pages):
            folder = "../" * (path.count("/") - 2)
            text = of_version.render(links, folder=folder, package=package, version=version, tables=tables)
            yield path, [rows_for_page(path, text.encode())]
        yield from wheel_pages.of_version(package, version)


def _newest_of(versions: Sequence[PackageVersion], grids: dict[str, tuple[Grid, ...]]) -> dict[str, Shown]:
    """Return the newest version, and as many others as fit on a page."""
    shown: dict[str, Shown] = {}
    free = MAX_CELLS
    for version in versions:
        first, *others = split_tables(grids[version.number])
        cells = sum(table.cells for table in first)
        if shown and (others or cells > free):
            break
        shown[version.number] = Shown(version=version, tables=first, more=bool(others))
        free -= cells
    return shown


def pages_of_documents(folder: Path) -> Iterator[Page]:
    """Pass the files of ``sphinx-build docs FOLDER`` on, one at a time, except Sphinx's own notes, which are hidden."""
    if missing := [name for name in ("index.html", INVENTORY) if not (folder / name).is_file()]:
        hint = f"render the documents: sphinx-build docs {folder}"
        raise SiteError("documents-incomplete", f"{folder} has no {missing[0]}", hint=hint)
    for path in entries_below(folder):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield f"{DOCUMENTS}/{name.as_posix()}", [path.read_bytes()]


SITEMAP: Final = "sitemap.xml"
_MOST: Final = 50_000
"""Pages that one list may have; those that come first are the ones that people look for."""


def with_sitemap(pages: Iterable[Page], site_url: str) -> Iterator[Page]:
    """Pass pages for people on, and list them at the end; `site_url` ends with a slash."""
    addresses: list[str] = []
    for path, content in pages:
        if path.rpartition("/")[2] == "index.html" and len(addresses) < _MOST:
            addresses.append(site_url + quote(path.removesuffix("index.html")))
        yield path, content
    rows = "".join(f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    yield SITEMAP, [f"{head}{rows}</urlset>\n".encode()]


def site_pages(
    site: Site,
    catalogue: Catalogue | None = None,
    *,
    address: SiteAddress = UNKNOWN_ADDRESS,
    documents: Path | None = None,
) -> Iterator[Page]:
    """Render the pages for people, one at a time.

    Without `catalogue`, pages show only built wheels. Without a URL in `address`, feeds have relative links, and there
    is no sitemap. `documents` is a folder of wheelmill's documents, rendered by Sphinx for the site.
    """
    pages = _pages(site, catalogue or EMPTY_CATALOGUE, address, documents)
    return with_sitemap(pages, address.url) if address.url else pages


def _pages(site: Site, catalogue: Catalogue, address: SiteAddress, documents: Path | None) -> Iterator[Page]:
    projects = sorted({*site.projects, *catalogue.packages})
    coverage = planned_coverage(catalogue.plan)
    current = {project: [file for file in own if file.yanked is None] for project, own in site.projects.items()}
    groups = {project: wheel_groups(current.get(project, ())) for project in projects}
    packages = list(package_pages(site, groups, coverage, catalogue.packages))
    files = list(chain(*current.values()))
    failures = failures_of(catalogue.plan)
    histories = histories_of(groups, catalogue.downloads)
    badges = {project: badge_of(of_project, site.torches) for project, of_project in groups.items()}
    templates = templates_for(site.torches, frozenset(projects), catalogue)
    templates.globals |= {"failed": failures.keys(), "histories": histories, "badges": badges}
    templates.globals |= {"address": address, "documents": f"{DOCUMENTS}/" if documents else ""}
    yield search_data(packages, catalogue)
    yield from first_pages(packages, files, site.torches, finder_data(groups, site.torches, catalogue), templates)
    wheel_pages = WheelPages(templates, projects, site.torches, catalogue, address)
    for package in packages:
        yield from pages_of_package(package, templates, wheel_pages)
    matrix = matrix_of(groups, site.torches, coverage)
    yield from more_pages(groups, matrix, failures, templates=templates, site_url=address.url)
    for project, badge in badges.items():
        yield f"{package_folder(project)}badge.svg", [badge.svg]
        yield f"{package_folder(project)}badge.json", [badge.json]
    for project, history in histories.items():
        yield f"{package_folder(project)}history.svg", [history.svg]
    for file in sorted((own_installation.INDEX / "static").iterdir()):
        yield f"static/{file.name}", [file.read_bytes()]
    if documents:
        yield from pages_of_documents(documents)
