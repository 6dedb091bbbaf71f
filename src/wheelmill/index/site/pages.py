"""Pages for people: the wheel finder, a page for every package, and how to trust the index."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain

from jinja2 import Environment
from pydantic_core import to_json

from wheelmill.index.render import Page, site_templates
from wheelmill.index.site.addresses import in_url, package_folder, page_number, wheels_folder
from wheelmill.index.site.coverage import planned_coverage
from wheelmill.index.site.evidence import Tried
from wheelmill.index.site.failures import failures_of
from wheelmill.index.site.finder import finder_data
from wheelmill.index.site.history import histories_of
from wheelmill.index.site.installing import dependencies_of, install_command
from wheelmill.index.site.more_pages import more_pages
from wheelmill.index.site.package_pages import pages_of_package
from wheelmill.index.site.packages import PackagePage, by_topic, package_pages
from wheelmill.index.site.sitemap import with_sitemap
from wheelmill.index.site.tables import SIGNS, WORDS, Trees, body_of
from wheelmill.index.site.wheel_pages import WheelPages
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue, Site
from wheelmill.names import ProjectName
from wheelmill.system import resources
from wheelmill.system.units import duration, size
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.platforms import PLATFORMS
from wheelmill.wheel.torch_need import words_for


def site_pages(site: Site, catalogue: Catalogue | None = None, *, site_url: str | None = None) -> Iterator[Page]:
    """Render the pages for people, one at a time.

    Args:
        site: the projects and wheels of the index.
        catalogue: what else is known of packages; without it, pages show only what is built.
        site_url: where the site is, with a slash at its end; without it, feeds have relative links and there is no list
            of pages for those who search the web.
    """
    pages = _pages(site, catalogue, site_url)
    return with_sitemap(pages, site_url) if site_url else pages


def _pages(site: Site, catalogue: Catalogue | None, site_url: str | None) -> Iterator[Page]:
    projects = sorted({*site.projects, *(catalogue.packages if catalogue else ())})
    coverage = planned_coverage(catalogue)
    groups = {
        project: wheel_groups(file for file in site.projects.get(project, ()) if file.yanked is None)
        for project in projects
    }
    packages = list(package_pages(site, groups, coverage, catalogue))
    every_file = [file for file in chain(*site.projects.values()) if file.yanked is None]
    tried = Tried.of(every_file)
    failures = failures_of(catalogue)
    templates = _templates(site.torches, frozenset(projects))
    histories = histories_of(groups, catalogue.downloads if catalogue else {})
    templates.globals |= {"failed": failures.keys(), "histories": histories}
    found = finder_data(groups, site.torches, catalogue)
    start = templates.get_template("site/start.html").render(
        root="./",
        tried=tried,
        packages=packages,
        built=[package for package in packages if package.wheel_count],
        planned=[package for package in packages if not package.wheel_count],
        updated=max((file.uploaded_at for file in every_file if file.uploaded_at), default=None),
        families=site.torches,
        pin_example=_pin_example(packages),
        gpus={gpu: ", ".join(cards) for gpu, cards in CARDS.items()},
        platforms=PLATFORMS,
        finder={**found, "wheels": {}},
    )
    yield "index.html", [start.encode()]
    about = templates.get_template("site/about.html").render(root="../", tried=tried)
    yield "about/index.html", [about.encode()]
    yield "packages/packages.js", [_search_data(packages)]
    for name, wheels in found["wheels"].items():
        script = b'"use strict";\naddWheels(' + to_json(name) + b", " + to_json(wheels) + b");\n"
        yield f"{package_folder(ProjectName(name))}wheels.js", [script]
    wheel_pages = WheelPages(templates, projects)
    for package in packages:
        yield from pages_of_package(package, coverage, templates, wheel_pages)
    yield from more_pages(groups, site.torches, coverage, failures, templates=templates, site_url=site_url)
    for project, history in histories.items():
        yield f"{package_folder(project)}history.svg", [history.svg]
    for file in sorted((resources.INDEX / "static").iterdir()):
        yield f"static/{file.name}", [file.read_bytes()]


def _search_data(packages: Iterable[PackagePage]) -> bytes:
    """What the search reads: names, how many wheels they have, and descriptions; a script works from a disk, too."""
    rows = [(package.name, package.wheel_count, package.description) for package in packages]
    return b'"use strict";\nconst PACKAGES = ' + to_json(rows) + b";\n"


def _pin_example(packages: Iterable[PackagePage]) -> str:
    """A pin that would work here."""
    pins = (f"{package.name}=={package.groups[0].kind.exact_version}" for package in packages if package.groups)
    return next(pins, "PACKAGE==2.8.3+cu128torch2.8")


def _templates(trees: Trees, projects: Container[ProjectName]) -> Environment:
    templates = site_templates()
    templates.globals |= {"signs": SIGNS, "words": WORDS}
    templates.filters |= {
        "by_topic": by_topic,
        "body": lambda table, folder: body_of(table, folder, trees),
        "command": lambda package, requirement, group: install_command(
            requirement,
            f"{package.name}=={group.kind.exact_version}",
            is_shared=package.is_shared,
            dependencies=dependencies_of(group.requires_dist, projects),
        ),
        "date": lambda moment: f"{moment:%Y-%m-%d}",
        "duration": duration,
        "in_url": in_url,
        "page": page_number,
        "size": size,
        "thousands": lambda number: f"{number:,}",
        "torch": words_for,
        "wheels_of": lambda exact, version: in_url(wheels_folder(version.number, exact)),
    }
    return templates
