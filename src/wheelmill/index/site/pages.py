"""Pages for people: the wheel finder, a page for every package, and how to trust the index."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from wheelmill.index.render import Page
from wheelmill.index.site.addresses import package_folder
from wheelmill.index.site.badges import badge_of
from wheelmill.index.site.coverage import planned_coverage
from wheelmill.index.site.documents import pages_of_documents
from wheelmill.index.site.failures import failures_of
from wheelmill.index.site.finder import finder_data
from wheelmill.index.site.first_pages import first_pages
from wheelmill.index.site.history import histories_of
from wheelmill.index.site.more_pages import more_pages
from wheelmill.index.site.package_pages import pages_of_package
from wheelmill.index.site.packages import package_pages
from wheelmill.index.site.sitemap import with_sitemap
from wheelmill.index.site.templates import templates_for
from wheelmill.index.site.wheel_pages import WheelPages
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import DOCUMENTS, Catalogue, Site
from wheelmill.system import resources


def site_pages(
    site: Site, catalogue: Catalogue | None = None, *, site_url: str | None = None, documents: Path | None = None
) -> Iterator[Page]:
    """Render the pages for people, one at a time.

    Args:
        site: the projects and wheels of the index.
        catalogue: what else is known of packages; without it, pages show only what is built.
        site_url: where the site is, with a slash at its end; without it, feeds have relative links and there is no list
            of pages for those who search the web.
        documents: a folder with wheelmill's documents as Sphinx renders them, which the site gets, too.
    """
    pages = _pages(site, catalogue, site_url, documents)
    return with_sitemap(pages, site_url) if site_url else pages


def _pages(site: Site, catalogue: Catalogue | None, site_url: str | None, documents: Path | None) -> Iterator[Page]:
    projects = sorted({*site.projects, *(catalogue.packages if catalogue else ())})
    coverage = planned_coverage(catalogue)
    groups = {
        project: wheel_groups(file for file in site.projects.get(project, ()) if file.yanked is None)
        for project in projects
    }
    packages = list(package_pages(site, groups, coverage, catalogue))
    files = [file for file in chain(*site.projects.values()) if file.yanked is None]
    failures = failures_of(catalogue)
    histories = histories_of(groups, catalogue.downloads if catalogue else {})
    badges = {project: badge_of(project, groups, site.torches) for project in projects}
    templates = templates_for(site.torches, frozenset(projects))
    templates.globals |= {"failed": failures.keys(), "histories": histories, "badges": badges}
    templates.globals["documents"] = f"{DOCUMENTS}/" if documents else ""
    yield from first_pages(packages, files, site.torches, finder_data(groups, site.torches, catalogue), templates)
    wheel_pages = WheelPages(templates, projects)
    for package in packages:
        yield from pages_of_package(package, coverage, templates, wheel_pages)
    yield from more_pages(groups, site.torches, coverage, failures, templates=templates, site_url=site_url)
    for project, badge in badges.items():
        yield f"{package_folder(project)}badge.svg", [badge.svg]
        yield f"{package_folder(project)}badge.json", [badge.json]
    for project, history in histories.items():
        yield f"{package_folder(project)}history.svg", [history.svg]
    for file in sorted((resources.INDEX / "static").iterdir()):
        yield f"static/{file.name}", [file.read_bytes()]
    if documents:
        yield from pages_of_documents(documents)
