"""Pages for people: the wheel finder, a page for every package, and how to trust the index."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from itertools import chain

from jinja2 import Environment
from markupsafe import Markup

from wheelmill.index.render import Page, site_templates
from wheelmill.index.rows import href, rows_for_page
from wheelmill.index.site.coverage import planned_coverage
from wheelmill.index.site.finder import finder_data
from wheelmill.index.site.packages import PackagePage, by_topic, package_pages
from wheelmill.index.site.wheels import SiteWheel, wheel_groups
from wheelmill.index.tree import Catalogue, Site
from wheelmill.release.manifest import MANIFEST
from wheelmill.system import resources
from wheelmill.system.units import duration, size
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.platforms import PLATFORMS
from wheelmill.wheel.torch_need import words_for


def site_pages(site: Site, catalogue: Catalogue | None = None) -> Iterator[Page]:
    """Render the pages for people, one at a time.

    Args:
        site: the projects and wheels of the index.
        catalogue: what else is known of packages; without it, pages show only what is built.
    """
    projects = sorted({*site.projects, *(catalogue.packages if catalogue else ())})
    coverage = planned_coverage(catalogue)
    groups = {
        project: wheel_groups(file for file in site.projects.get(project, ()) if file.yanked is None)
        for project in projects
    }
    packages = list(package_pages(site, groups, coverage, catalogue))
    every_file = list(chain(*site.projects.values()))
    certified = all(file.certificate for file in every_file)
    templates = _templates()
    start = templates.get_template("site/start.html").render(
        root="./",
        certified=certified,
        packages=packages,
        topics=by_topic(packages),
        wheel_count=sum(package.wheel_count for package in packages),
        updated=max((file.uploaded_at for file in every_file if file.uploaded_at), default=None),
        families=site.torches,
        pin_example=_pin_example(packages),
        gpus={gpu: ", ".join(cards) for gpu, cards in CARDS.items()},
        platforms=PLATFORMS,
        finder=finder_data(groups, site.torches, catalogue),
    )
    yield "index.html", [start.encode()]
    about = templates.get_template("site/about.html").render(root="../", certified=certified)
    yield "about/index.html", [about.encode()]
    of_package = templates.get_template("site/package.html")
    for package in packages:
        path = f"packages/{package.name}/index.html"
        yield path, [rows_for_page(path, of_package.render(root="../../", package=package).encode())]
    for file in sorted((resources.INDEX / "static").iterdir()):
        yield f"static/{file.name}", [file.read_bytes()]


def _pin_example(packages: Iterable[PackagePage]) -> str:
    """A pin that would work here."""
    pins = (f"{package.name}=={package.groups[0].kind.exact_version}" for package in packages if package.groups)
    return next(pins, "PACKAGE==2.8.3+cu128torch2.8")


def _templates() -> Environment:
    templates = site_templates()
    cell = templates.get_template("site/cell.html")
    templates.filters |= {
        "quote": shlex.quote,
        "date": lambda moment: f"{moment:%Y-%m-%d}",
        "cell": cache(lambda outcome: Markup(cell.render(outcome=outcome))),  # noqa: S704 - a template escapes
        "duration": duration,
        "href": href,
        "manifest": lambda url: f"{href(url).rpartition('/')[0]}/{MANIFEST}",
        "rows": lambda wheels: Markup("\n".join(map(_wheel_row, wheels))),  # noqa: S704 - escaped
        "size": size,
        "torch": words_for,
        "thousands": lambda number: f"{number:,}",
    }
    return templates


def _wheel_row(wheel: SiteWheel) -> str:
    """Python, which is the link, size, and how long it was compiled.

    Written by hand as the rows for installers are: pages of packages have nothing more of.
    """
    file = wheel.file
    link = f'<a href="{escape(href(file.url))}">{wheel.pythons}</a>'
    compiled = duration(seconds) if (seconds := wheel.build_seconds) else "&ndash;"
    return f'<tr><th scope="row">{link}</th><td>{size(file.size)}</td><td>{compiled}</td></tr>'
