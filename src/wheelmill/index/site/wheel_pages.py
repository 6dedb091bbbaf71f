"""Pages of wheels: one for those with one label, where each wheel has an address of its own.

``2.8.3/cu128torch2.8/#cp312-cp312-win_amd64`` shows that wheel alone, by the style sheet; without the fragment, all of
them. Facts common to wheels of one platform are written once. A file for every wheel would double the size of an index
of 100,000, whose host publishes 1,000,000,000 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from jinja2 import Environment
from packaging.tags import Tag

from wheelmill.index.render import Page
from wheelmill.index.rows import escape, href, rows_for_page
from wheelmill.index.site.coverage import platform_order, platform_title
from wheelmill.index.site.evidence import (
    build_facts,
    build_key,
    evidence_rows,
    external_facts,
    release_rows,
    requirement_facts,
    rows_of,
    table_of,
    wheel_rows,
)
from wheelmill.index.site.packages import PackagePage, dependencies_of, install_command
from wheelmill.index.site.wheels import (
    NO_PYTHON,
    in_url,
    order_of,
    package_folder,
    page_number,
    parts_of,
    platform_of,
    pythons_of,
    wheel_anchor,
    wheels_folder,
)
from wheelmill.index.tree import IndexFile
from wheelmill.names import ProjectName
from wheelmill.release.manifest import ListedProvenance
from wheelmill.smoke.verdict import ListedEvidence
from wheelmill.wheel.label import words_for

MAX_WHEELS: Final = 48
"""Wheels of one page."""
_Wheels = Sequence[tuple["_Place", IndexFile]]
_MARK: Final = "\1"
"""Stands around the names of what differs between pages; no template and no name has this character."""
_PARTS: Final = ("project", "version", "folder", "label", "exact", "name", "content")


class _Place(NamedTuple):
    """Position of a wheel among the others of its label."""

    order: tuple[object, ...]
    platform: str
    python: str | None
    """None for one that is not CPython's."""


@cache  # an index has many wheels with few different tags
def _place_of(tags: frozenset[Tag]) -> _Place:
    platform, _ = platform_of(tags)
    pythons = pythons_of(tags)
    named = str(pythons) if pythons else None
    order = (*platform_order(platform), *(order_of(pythons) if pythons else NO_PYTHON), named or "")
    return _Place(order, platform, named)


class WheelPages:
    """Renderer of the pages of wheels."""

    def __init__(self, templates: Environment, projects: Iterable[ProjectName]) -> None:
        """Render the parts common to all pages."""
        template = templates.get_template("site/wheels.html")
        marks = {name: f"{_MARK}{name}{_MARK}" for name in _PARTS}
        self._shell = template.render(root="../../../../", **marks).split(_MARK)
        self._deeper = template.render(root="../../../../../", **marks).split(_MARK)
        self._projects = frozenset(projects)

    def of_version(
        self, package: PackagePage, version: str, files: Mapping[str, Sequence[IndexFile]]
    ) -> Iterator[Page]:
        """Render the pages of one version of a package; `files` are its wheels by exact version."""
        for exact, alike in files.items():
            places = [(_place_of(file.name.tags), file) for file in alike]
            listed = sorted(places, key=lambda each: (each[0].order, each[1].filename))
            parts = parts_of(listed, MAX_WHEELS)
            for number, wheels in enumerate(parts, start=1):
                content = self._content(package, exact, wheels) + _ways(number, more=number < len(parts))
                yield self._page(package.name, version, exact, number, content)

    def _page(self, project: ProjectName, version: str, exact: str, number: int, content: str) -> Page:
        folder = wheels_folder(version, exact)
        path = f"{package_folder(project)}{version}/{folder}{page_number(number)}index.html"
        parts = {
            "project": project,
            "version": escape(version),
            "folder": in_url(version),
            "label": escape(folder.removesuffix("/")),
            "exact": escape(exact),
            "name": escape(exact).replace("+", "+<wbr>"),
            "content": content,
        }
        shell = self._shell if number == 1 else self._deeper
        text = "".join([parts[piece] if place % 2 else piece for place, piece in enumerate(shell)])
        return path, [rows_for_page(path, text.encode())]

    def _content(self, package: PackagePage, exact: str, wheels: _Wheels) -> str:
        _, first = wheels[0]
        command = install_command(
            (pin := f"{package.name}=={exact}"),
            pin,
            is_shared=package.is_shared,
            dependencies=dependencies_of(first.requires_dist, self._projects),
        )
        built_for, torch = first.name.built_for, first.torch
        label = built_for.label
        index = f"{label.trees[-1]}/simple/" if label else "simple/"
        facts = [("For", f"{escape(str(built_for))}{f', {words_for(torch)}' if torch else ''}")]
        facts += requirement_facts(first.requires_python, first.requires_dist)
        sections = [
            _platform_section(platform, list(of_platform))
            for platform, of_platform in groupby(wheels, key=lambda wheel: wheel[0].platform)
        ]
        return (
            f'<pre data-copy data-address="{href(index)}"><code>{escape(command)}</code></pre>\n'
            f'<p class="quiet"><noscript>ADDRESS is that of <a href="{href(index)}">{index}</a>. </noscript>'
            f"The installer takes the wheel for your Python and system.</p>\n{table_of([rows_of(facts)])}\n"
            f'<p class="alone"><a href="#main">All wheels of this label</a></p>\n'
        ) + "\n".join(sections)


def _ways(number: int, *, more: bool) -> str:
    """Return links to the previous and the next page; nothing if there is only one."""
    base = "../" if number > 1 else ""
    before = [f'<a href="{base}{page_number(number - 1)}">Wheels before these</a>'] if number > 1 else []
    after = [f'<a href="{base}{page_number(number + 1)}" rel="next">Wheels after these</a>'] if more else []
    return f"\n<p>{' '.join(before + after)}</p>" if before or after else ""


def _evidence_of(file: IndexFile) -> ListedEvidence | None:
    return file.certificate.evidence if file.certificate else None


def _provenance_of(file: IndexFile) -> ListedProvenance | None:
    return file.certificate.provenance if file.certificate else None


_Rows = Callable[[IndexFile], str]
_BLOCKS: Final[Sequence[tuple[Callable[[IndexFile], object], _Rows]]] = (
    (_evidence_of, lambda file: evidence_rows(_evidence_of(file))),
    (lambda file: build_key(_provenance_of(file)), lambda file: rows_of(build_facts(_provenance_of(file)))),
    (attrgetter("external"), lambda file: rows_of(external_facts(file.external))),
    (attrgetter("release", "uploaded_at", "attestation"), release_rows),
)
"""Facts that wheels of one platform usually share: how they are compared, and their rows."""


def _platform_section(platform: str, wheels: _Wheels) -> str:
    """Render the wheels of one platform: each, then their common facts."""
    _, first = wheels[0]
    shared: list[str] = []
    own: list[_Rows] = []
    for key, rows in _BLOCKS:
        of_first = key(first)
        if all(key(file) == of_first for _, file in wheels[1:]):
            shared.append(rows(first))
        else:
            own.append(rows)
    sections = "\n".join([_wheel_section(place, file, own) for place, file in wheels])
    title = escape(platform_title(platform))
    return f'<section class="platform">\n<h2>{title}</h2>\n{sections}\n{table_of(shared)}\n</section>'


def _wheel_section(place: _Place, file: IndexFile, own: Iterable[_Rows]) -> str:
    anchor = escape(wheel_anchor(file))
    rows = [wheel_rows(file), *[of(file) for of in own]]
    title = f"Python {place.python}" if place.python else anchor
    yanked = f'<p class="verdict none">Yanked: {escape(file.yanked)}</p>\n' if file.yanked is not None else ""
    return (
        f'<section class="wheel" id="{anchor}">\n<h3><a href="#{anchor}">{title}</a></h3>\n{yanked}'
        f"{table_of(rows)}\n</section>"
    )
