"""Pages for people: the wheel finder, a page for every package, and how to trust the index."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wheelmill import resources
from wheelmill.index.catalogue import Catalogue
from wheelmill.index.records import IndexFile, Site, Tree
from wheelmill.index.render import href
from wheelmill.index.site_coverage import planned_coverage
from wheelmill.index.site_finder import finder_data
from wheelmill.index.site_format import duration, size, span
from wheelmill.index.site_packages import PackagePage, package_page
from wheelmill.index.site_wheels import variants_of
from wheelmill.release.records import MANIFEST
from wheelmill.wheel.label import Label


@dataclass(frozen=True, kw_only=True)
class Family:
    """The trees of one CUDA."""

    cuda: str
    folder: str
    torches: tuple[tuple[str, str], ...]
    """Each torch with the folder of its index, the newest first."""


def site_pages(site: Site, catalogue: Catalogue | None = None) -> dict[str, bytes]:
    """Render the pages for people: paths below the root of the site, and what stands there.

    Args:
        site: what the index lists.
        catalogue: what else is known of packages; without it, coverage shows only what is built.
    """
    files = site.trees[0].projects
    coverage = planned_coverage(catalogue)
    projects = sorted({*files, *(catalogue.packages if catalogue else ())})
    variants = {project: variants_of(files.get(project, ())) for project in projects}
    packages = [package_page(project, variants[project], coverage, catalogue) for project in projects]
    templates = _templates()
    start = templates.get_template("site/start.html").render(
        root="./",
        packages=packages,
        wheel_count=sum(package.wheel_count for package in packages),
        updated=_newest(itertools.chain.from_iterable(files.values())),
        addresses=_families(site.trees),
        pin_example=_pin_example(packages),
        finder=finder_data(variants, catalogue),
    )
    pages = {"index.html": start, "about/index.html": templates.get_template("site/about.html").render(root="../")}
    for package in packages:
        page = templates.get_template("site/package.html").render(root="../../", package=package)
        pages[f"packages/{package.name}/index.html"] = page
    static = {f"static/{path.name}": path.read_bytes() for path in sorted((resources.INDEX / "static").iterdir())}
    return {path: text.encode() for path, text in pages.items()} | static


def _newest(files: Iterable[IndexFile]) -> datetime | None:
    return max((file.uploaded_at for file in files if file.uploaded_at), default=None)


def _families(trees: Sequence[Tree]) -> tuple[Family, ...]:
    """Sort the narrower trees by CUDA and torch, the newest first."""
    labels = {Label.parse(tree.path.replace("/", "")): tree for tree in trees if tree.path}
    cudas = sorted({label.cuda for label in labels if label}, reverse=True)
    by_cuda = {cuda: [label for label in labels if label and label.cuda == cuda] for cuda in cudas}
    return tuple(
        Family(
            cuda=str(cuda),
            folder=f"{cuda.tag}/simple",
            torches=tuple(
                (str(torch), f"{cuda.tag}/torch{torch}/simple")
                for torch in sorted({label.torch for label in of_cuda if label.torch}, reverse=True)
            ),
        )
        for cuda, of_cuda in by_cuda.items()
    )


def _pin_example(packages: Iterable[PackagePage]) -> str:
    """A pin that would work here."""
    pins = (f"{package.name}=={package.variants[0].exact_version}" for package in packages if package.variants)
    return next(pins, "PACKAGE==2.8.3+cu128torch2.8")


def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(resources.INDEX / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "date": lambda moment: f"{moment:%Y-%m-%d}",
        "duration": duration,
        "href": href,
        "manifest": _manifest,
        "size": size,
        "span": span,
        "thousands": lambda number: f"{number:,}",
    }
    return templates


def _manifest(file: IndexFile, depth: int) -> str:
    """Where the manifest of a file's release is: beside it."""
    return href(file, depth=depth).rpartition("/")[0] + f"/{MANIFEST}"
