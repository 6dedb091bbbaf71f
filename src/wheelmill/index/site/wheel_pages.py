"""The pages of wheels: one for those with one label, where each wheel has an address of its own.

``2.8.3/cu128torch2.8/#cp312-cp312-win_amd64`` shows that wheel alone, by the style sheet; without it, all of them. What
wheels of one platform have in common is said once. A file for every wheel would double what an index of 100,000 weighs,
whose host publishes 1,000,000,000 bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from operator import attrgetter
from typing import Final

from jinja2 import Environment

from wheelmill.index.render import Page
from wheelmill.index.rows import href, is_absolute, rows_for_page
from wheelmill.index.site.addresses import in_url, package_folder, page_number, wheel_anchor, wheels_folder
from wheelmill.index.site.coverage import platform_order, platform_title
from wheelmill.index.site.evidence import (
    Facts,
    build_facts,
    build_key,
    evidence_facts,
    release_facts,
    release_key,
    requirement_facts,
    table_of,
    wheel_facts,
)
from wheelmill.index.site.installing import dependencies_of, install_command
from wheelmill.index.site.packages import PackagePage
from wheelmill.index.site.pythons import pythons_of
from wheelmill.index.site.wheels import platform_of
from wheelmill.index.tree import IndexFile
from wheelmill.names import ProjectName
from wheelmill.wheel.torch_need import words_for

MAX_WHEELS: Final = 48
"""Of one page."""
_MARKS: Final = {name: f"\1{name}\1" for name in ("project", "version", "folder", "label", "exact", "content")}
"""Stand for what differs between pages; no template and no name has this character."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A wheel, and how people tell it from the others of its label."""

    file: IndexFile
    platform: str
    python: str
    order: tuple[object, ...]

    @classmethod
    def of(cls, file: IndexFile) -> Listed:
        """Read its tags."""
        platform, _ = platform_of(file.name.tags)
        pythons = pythons_of(file.name.tags)
        oldest = pythons.oldest if pythons else None
        python = f"Python {pythons}" if pythons else wheel_anchor(file)
        order = (*platform_order(platform), oldest is not None, oldest, file.filename)
        return cls(file=file, platform=platform, python=python, order=order)


class WheelPages:
    """Writes them."""

    def __init__(self, templates: Environment, projects: Iterable[ProjectName]) -> None:
        """Render what all of them have in common.

        Args:
            templates: those of the site.
            projects: all that are in the index.
        """
        self._shell = templates.get_template("site/wheels.html").render(root="../../../../", **_MARKS)
        self._deeper = templates.get_template("site/wheels.html").render(root="../../../../../", **_MARKS)
        self._projects = frozenset(projects)

    def of_version(self, package: PackagePage, version: str, files: Sequence[IndexFile]) -> Iterator[Page]:
        """Render the pages of one version of a package."""
        exact = attrgetter("file.name.version")
        for exact_version, of_label in groupby(sorted(map(Listed.of, files), key=exact), key=exact):
            wheels = sorted(of_label, key=attrgetter("order"))
            for number, first in enumerate(range(0, len(wheels), MAX_WHEELS), start=1):
                yield self._page(package, version, str(exact_version), wheels[first : first + MAX_WHEELS], number)

    def _page(self, package: PackagePage, version: str, exact: str, wheels: Sequence[Listed], number: int) -> Page:
        folder = wheels_folder(version, exact)
        path = f"{package_folder(package.name)}{version}/{folder}{page_number(number)}index.html"
        parts = {
            "project": package.name,
            "version": escape(version),
            "folder": in_url(version),
            "label": escape(folder.removesuffix("/")),
            "exact": escape(exact),
            "content": self._content(package, exact, wheels),
        }
        text = self._shell if number == 1 else self._deeper
        for name, part in parts.items():
            text = text.replace(_MARKS[name], part)
        return path, [rows_for_page(path, text.encode())]

    def _content(self, package: PackagePage, exact: str, wheels: Sequence[Listed]) -> str:
        first = wheels[0].file
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
            _platform_section(package.name, platform, list(of_platform))
            for platform, of_platform in groupby(wheels, key=attrgetter("platform"))
        ]
        return (
            f'<pre data-copy data-address="{href(index)}"><code>{escape(command)}</code></pre>\n'
            f'<p class="quiet"><noscript>ADDRESS is that of <a href="{href(index)}">{index}</a>. </noscript>'
            f"The installer takes the wheel for your Python and system.</p>\n{table_of(facts)}\n"
            f'<p class="alone"><a href="#main">All wheels of this label</a></p>\n'
        ) + "\n".join(sections)


_Block = tuple[Callable[[IndexFile], Hashable], Callable[[IndexFile], Facts]]


def _evidence_of(file: IndexFile) -> Facts:
    return evidence_facts(file.certificate.evidence if file.certificate else None)


_BLOCKS: Final[Sequence[_Block]] = (
    (lambda file: file.certificate.evidence if file.certificate else None, _evidence_of),
    (
        lambda file: build_key(file.certificate.provenance if file.certificate else None),
        lambda file: build_facts(file.certificate.provenance if file.certificate else None),
    ),
    (release_key, lambda file: release_facts(*release_key(file))),
)
"""What wheels of one platform usually have in common: what is compared to tell that, and the facts."""


def _platform_section(project: ProjectName, platform: str, wheels: Sequence[Listed]) -> str:
    """The wheels of one platform: what they have in common, then each."""
    shared: list[tuple[str, str]] = []
    own: list[Callable[[IndexFile], Facts]] = []
    for key, facts in _BLOCKS:
        of_first = key(wheels[0].file)
        if all(key(wheel.file) == of_first for wheel in wheels[1:]):
            shared += facts(wheels[0].file)
        else:
            own.append(facts)
    sections = "\n".join([_wheel_section(project, wheel, own) for wheel in wheels])
    title = escape(platform_title(platform))
    return f'<section class="platform">\n<h2>{title}</h2>\n{sections}\n{table_of(shared)}\n</section>'


def _wheel_section(project: ProjectName, wheel: Listed, own: Iterable[Callable[[IndexFile], Facts]]) -> str:
    file = wheel.file
    anchor = escape(wheel_anchor(file))
    facts = [*wheel_facts(file), *(fact for facts in own for fact in facts(file))]
    yanked = f'<p class="verdict none">Yanked: {escape(file.yanked)}</p>\n' if file.yanked is not None else ""
    command = f"pip install {shlex.quote(f'{project} @ {file.url}#sha256={file.sha256}')}"
    line = f"<pre data-copy><code>{escape(command)}</code></pre>\n" if is_absolute(file.url) else ""
    return (
        f'<section class="wheel" id="{anchor}">\n<h3><a href="#{anchor}">{escape(wheel.python)}</a></h3>\n{yanked}'
        f"{table_of(facts)}\n{line}</section>"
    )
