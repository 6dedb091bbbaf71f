"""Pages beside those of packages: the matrix, what is new and its feeds, builds that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from jinja2 import Environment

from wheelmill.index.render import Page
from wheelmill.index.site.addresses import package_folder, page_number
from wheelmill.index.site.coverage import Coverage
from wheelmill.index.site.failures import Failures
from wheelmill.index.site.feed import FEED, feed_of
from wheelmill.index.site.matrix import Matrix, matrix_of
from wheelmill.index.site.news import newest_of, news_of
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.names import CudaVersion, ProjectName, TorchVersion

_ROWS: Final = 150
"""Packages on one page of the matrix."""


def more_pages(
    groups: Mapping[ProjectName, Sequence[WheelGroup]],
    torches: Mapping[CudaVersion, Sequence[TorchVersion]],
    coverage: Coverage,
    failures: Mapping[ProjectName, Failures],
    *,
    templates: Environment,
    site_url: str | None,
) -> Iterator[Page]:
    """Render them, one at a time.

    Args:
        groups: the wheels of each project that are not yanked.
        torches: those that have a tree, by CUDA.
        coverage: what the plan says of every cell.
        failures: the builds that failed, of projects that have some.
        templates: with the filters of pages for people.
        site_url: where the site is, for its feeds; without it, their links are relative.
    """
    own = {project: news_of({project: of_project}) for project, of_project in groups.items()}
    news = newest_of(chain.from_iterable(own.values()))
    yield "news/index.html", [templates.get_template("site/news.html").render(root="../", news=news).encode()]
    yield f"news/{FEED}", [feed_of(news, title="CUDA wheels", page="news/", root="../", site_url=site_url)]
    yield from _matrix(matrix_of(groups, torches, coverage), templates)
    failed = templates.get_template("site/failures.html")
    for project in groups:
        folder = package_folder(project)
        yield f"{folder}{FEED}", [feed_of(own[project], title=project, page=folder, root="../../", site_url=site_url)]
        if project in failures:
            page = failed.render(root="../../../", project=project, failures=failures[project])
            yield f"{folder}failures/index.html", [page.encode()]


def _matrix(matrix: Matrix, templates: Environment) -> Iterator[Page]:
    template = templates.get_template("site/matrix.html")
    for number, first in enumerate(range(0, max(len(matrix.rows), 1), _ROWS), start=1):
        path = f"matrix/{page_number(number)}index.html"
        page = template.render(
            root="../" * path.count("/"),
            base="../" if number > 1 else "",
            torches=matrix.torches,
            rows=matrix.rows[first : first + _ROWS],
            number=number,
            more=first + _ROWS < len(matrix.rows),
        )
        yield path, [page.encode()]
