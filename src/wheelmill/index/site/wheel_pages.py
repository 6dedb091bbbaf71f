"""Pages of wheels: one for those with one label, where each wheel has an address of its own.

``2.8.3/cu128torch2.8/#cp312-cp312-win_amd64`` shows that wheel alone, by the style sheet; without the fragment, all of
them. Facts are from certificates, and unknown ones are left out. Those common to wheels of one platform are written
once. A file for every wheel would double the size of an index of 100,000, whose host publishes 1,000,000,000 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment
from packaging.tags import Tag

from wheelmill.index.render import escape, href, in_utc, rows_for_page
from wheelmill.index.site.coverage import platform_order, platform_title
from wheelmill.index.site.packages import PackagePage, PackageVersion, dependencies_of, install_command, torch_source_of
from wheelmill.index.site.wheels import (
    NO_PYTHON,
    Trees,
    evidence_of,
    in_url,
    list_folder,
    order_of,
    package_folder,
    page_number,
    parts_of,
    platform_of,
    provenance_of,
    pythons_of,
    wheel_anchor,
    wheels_folder,
)
from wheelmill.index.tree import Catalogue, IndexFile, SiteAddress
from wheelmill.index.write import Page
from wheelmill.names import Architecture, ProjectName, ReleaseTag
from wheelmill.release.manifest.record import MANIFEST, SBOM_SUFFIX, External, ListedProvenance
from wheelmill.smoke.verdict import THIS_MACHINE, ListedEvidence, ListedRoom
from wheelmill.system.progress import duration, number_of, size
from wheelmill.wheel.findings import ListedFinding
from wheelmill.wheel.gpu_code import CARDS, running_code
from wheelmill.wheel.label import words_for
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.torch_symbols import TorchWindow

Facts = Iterable[tuple[str, str]]
"""Titles and values, as HTML."""

_DATE: Final = len("2026-11-21")
_RUNS: Final = {
    "machine code": "runs its machine code for {}",
    "PTX": "the driver compiles its PTX for {} at first use",
}


def rows_of(facts: Facts) -> str:
    """Render facts as rows of a table, a line each; HTML makes the end tags of rows and cells optional."""
    return "\n".join([f"<tr><th>{title}<td>{text}" for title, text in facts])


def table_of(rows: Iterable[str]) -> str:
    """Render a table of such rows, some of which may be empty."""
    lines = "\n".join(filter(None, rows))
    return f'<table class="known">\n{lines}\n</table>'


@lru_cache(maxsize=4096)
def requirement_facts(requires_python: str | None, requires_dist: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the requirements in METADATA."""
    python = (("Requires Python", _code([requires_python])),) if requires_python else ()
    return (*python, ("Requires", _code(requires_dist) or "nothing"))


@lru_cache(maxsize=1024)
def evidence_facts(evidence: ListedEvidence | None) -> tuple[tuple[str, str], ...]:
    """Return the facts from a wheel's bytes."""
    if evidence is None:
        return (("Evidence", "none: it is listed as it was found"),)
    asked = (("Requires glibc", evidence.glibc), ("Requires GLIBCXX of libstdc++", evidence.glibcxx))
    return (
        ("Has machine code for", _capabilities(evidence.sass)),
        ("Has portable assembly (PTX) for", _capabilities(evidence.ptx)),
        ("Runs on", _gpus(evidence.sass, evidence.ptx)),
        ("Platform tag", _code([evidence.policy])),
        *((title, escape(newest)) for title, newest in asked if newest),
        *([("Names libraries of", f"CUDA {evidence.cuda_major}")] if evidence.cuda_major else []),
        ("Linked libraries", _code(evidence.needed) or "no libraries"),
        *([("Could load in", _window(evidence.torch_window))] if evidence.torch_window else []),
    )


@cache
def _capabilities(codes: tuple[str, ...]) -> str:
    return ", ".join(each.capability for each in sorted(map(Architecture.of_code, codes))) or "no GPU"


@cache
def _gpus(sass: tuple[str, ...], ptx: tuple[str, ...]) -> str:
    """List the GPUs that run it, and how; GPUs have their compute capability, since card names do not show it."""
    codes = [[Architecture.of_code(code) for code in each] for each in (sass, ptx)]
    lines = [
        f"<li><b>{gpu}</b> {', '.join(cards)}: {_RUNS[code[0]].format(code[1].capability)}</li>"
        for gpu, cards in CARDS.items()
        if (code := running_code(gpu, *codes))
    ]
    return f'<ul class="plain">{"".join(lines)}</ul>' if lines else "no GPU that is known here"


def _window(window: TorchWindow) -> str:
    """Render the torches that have its symbols: necessary for it to load, but not sufficient."""
    lacking = [
        f"<li>torch {fit.torch} lacks {_code(fit.lacks[:1])}{' and others' if len(fit.lacks) > 1 else ''}</li>"
        for fit in window.torches
        if fit.lacks
    ]
    cuda = " built with CUDA" if window.cuda else ""
    loading = [fit.torch for fit in window.torches if not fit.lacks]
    torches = f"torch {', '.join(loading)}{cuda}" if loading else "no torch that is known here"
    why = f", by the {number_of(window.symbols, 'symbol')} of torch that it needs" if loading and window.symbols else ""
    more = f'<ul class="plain">{"".join(lacking)}</ul>' if lacking else ""
    return f"{torches}{why}{more}"


def build_key(made: ListedProvenance | None) -> tuple[object, ...]:
    """Return the input of `build_facts`: equal for wheels that were built alike."""
    if made is None:
        return ()
    source = (made.source, made.source_sha256, made.patches)
    return (made.toolkit, made.torch_release, made.images, made.cxx_standard, made.driver, *source)


def build_facts(made: ListedProvenance | None) -> Iterator[tuple[str, str]]:
    """Yield the sources and tools of a wheel's build."""
    if made is None:
        return
    torch = f", torch {escape(made.torch_release)}" if made.torch_release else ""
    standard = f", C++{made.cxx_standard}" if made.cxx_standard else ""
    yield "Built with", f"CUDA toolkit {escape(made.toolkit)}{torch}{standard}"
    if made.driver:
        yield "Needs NVIDIA driver", f"{escape(made.driver)} or newer, on Linux"
    if made.images:
        yield "Built in", _code(made.images)
    if (source := made.source) and source.commit:
        yield "Commit", f"{_code([source.commit])} of {_code([source.repository or 'a repository on disk'])}"
    yield "Source, sha256", _hash(made.source_sha256)
    if made.patches:
        yield "Patches, sha256", " ".join(map(_hash, made.patches))


@lru_cache(maxsize=1024)
def external_facts(external: External | None) -> tuple[tuple[str, str], ...]:
    """Return the requirements of a wheel that package indexes do not have."""
    if external is None or not external.dependencies:
        return ()
    return (("Needs from the system", _code(external.dependencies)),)


def wheel_rows(file: IndexFile) -> str:
    """Render a wheel's own facts, without a template, since every wheel has them."""
    url = escape(href(file.url))
    bill = f'<br><a href="{url}{SBOM_SUFFIX}">Bill of materials</a> (SBOM, CycloneDX)' if file.release else ""
    rows = ""
    if certificate := file.certificate:
        made = certificate.provenance
        seconds = f"\n<tr><th>Compiled in<td>{duration(made.seconds)}" if made else ""
        sizes = _size_row(certificate.sizes) if certificate.sizes else ""
        rows = f"{seconds}{sizes}{_tried_rows(certificate.clean_rooms)}{_finding_rows(certificate.findings)}"
    return (
        f'<tr><th>File<td><a href="{url}" data-file>{escape(file.filename)}</a>, {size(file.size)}{bill}\n'
        f"<tr><th>sha256<td>{_hash(file.sha256)}{rows}"
    )


@lru_cache(maxsize=4096)
def _size_row(sizes: Sizes) -> str:
    return f"\n<tr><th>Unpacked<td>{escape(str(sizes))}"


@lru_cache(maxsize=4096)
def _finding_rows(findings: tuple[ListedFinding, ...]) -> str:
    rows = []
    for finding in findings:
        why = f"allowed, because: {finding.reason}" if finding.reason else "a warning"
        text = f"<code>{escape(finding.code)}</code> {escape(finding.detail)} ({escape(why)})"
        rows.append(f"\n<tr><th>Found<td>{text}")
    return "".join(rows)


@lru_cache(maxsize=4096)
def _tried_rows(rooms: tuple[ListedRoom, ...]) -> str:
    return f"\n<tr><th>Tried<td>{'<br>'.join(dict.fromkeys(map(_room, rooms)))}" if rooms else ""


def _room(room: ListedRoom) -> str:
    """Describe a test: ``installed and imported on Python 3.12.1, in almalinux:8``, with GPUs and what was left out."""
    image = room.place.partition("@")[0]
    where = f"Python {room.python}{'' if room.place == THIS_MACHINE else f', in {image}'}"
    done = f"{'installed and imported' if room.imported else 'installed'} on {where}"
    kernels = f"; kernels ran on {', '.join(room.gpus)}" if room.gpus else ""
    left_out = f"; not tried: {'; '.join(room.skipped).replace(room.place, image)}" if room.skipped else ""
    return escape(f"{done}{kernels}{left_out}")


@lru_cache(maxsize=4096)
def release_rows(folder: str, published: datetime | None, tag: ReleaseTag | None, attestation: str | None) -> str:
    """Render the publication of a wheel and the attestation of its builder."""
    day = in_utc(published)[:_DATE] if published else ""
    facts = []
    if tag:
        manifest = escape(href(f"{folder}{MANIFEST}"))
        facts.append(("Published", f'{day}, in <a href="{manifest}">release {escape(tag)}</a>'))
    if attestation:
        verify = f"<code>gh attestation verify WHEEL --repo {escape(_repository_of(attestation))}</code> checks it"
        facts.append(("Provenance", f'<a href="{escape(attestation)}">who built it</a>; {verify}'))
    return rows_of(facts)


def _repository_of(attestation: str) -> str:
    """Return the repository on GitHub that has an attestation, by its URL; a stand-in for those of other hosts."""
    url = urlsplit(attestation)
    owner, name, kind, *_ = [*url.path.strip("/").split("/"), "", "", ""]
    return f"{owner}/{name}" if url.scheme and kind in ("attestations", "releases") else "OWNER/REPO"


def _code(texts: Iterable[str]) -> str:
    return ", ".join([f"<code>{escape(text)}</code>" for text in texts])


def _hash(sha256: str) -> str:
    return f'<code class="hash" data-copy>{sha256}</code>'


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

    def __init__(
        self,
        templates: Environment,
        projects: Iterable[ProjectName],
        trees: Trees,
        catalogue: Catalogue,
        address: SiteAddress,
    ) -> None:
        template = templates.get_template("site/wheels.html")
        marks = {name: f"{_MARK}{name}{_MARK}" for name in _PARTS}
        self._shell = template.render(root="../../../../", **marks).split(_MARK)
        self._deeper = template.render(root="../../../../../", **marks).split(_MARK)
        self._projects = frozenset(projects)
        self._trees, self._catalogue = trees, catalogue
        self._address = address

    def of_version(self, package: PackagePage, version: PackageVersion) -> Iterator[Page]:
        """Render the pages of one version of a package."""
        for exact, alike in version.files.items():
            places = [(_place_of(file.name.tags), file) for file in alike]
            listed = sorted(places, key=lambda each: (each[0].order, each[1].filename))
            parts = parts_of(listed, MAX_WHEELS)
            for number, wheels in enumerate(parts, start=1):
                content = self._content(package, exact, wheels) + _page_links(number, more=number < len(parts))
                yield self._page(package.name, version.number, exact, number, content)

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
        place, first = wheels[0]
        built_for, torch = first.built_for, first.torch
        command = install_command(
            (pin := f"{package.name}=={exact}"),
            pin,
            is_shared=package.is_shared,
            dependencies=dependencies_of(first.requires_dist, self._projects),
            torch=torch_source_of(built_for.cuda, torch, place.platform, self._trees, self._catalogue),
        )
        label, needed = built_for.label, words_for(torch) if torch else built_for.torch_words
        index = list_folder(label)
        written = self._address.of_folder(index)
        link = f'<a href="{href(index)}/">{index}/</a>'
        unknown = "" if self._address.url else f"<noscript>ADDRESS is that of {link}. </noscript>"
        facts = [("For", f"{escape(str(built_for))}{', ' * bool(needed)}{needed}")]
        facts += requirement_facts(first.requires_python, first.requires_dist)
        sections = [
            _platform_section(platform, list(of_platform))
            for platform, of_platform in groupby(wheels, key=lambda wheel: wheel[0].platform)
        ]
        return (
            f'<pre data-copy data-address="{href(index)}/" data-written="{escape(written)}">'
            f"<code>{escape(command.replace('ADDRESS', written))}</code></pre>\n"
            f'<p class="quiet">{unknown}The installer takes the wheel for your Python and system.</p>\n'
            f"{table_of([rows_of(facts)])}\n"
            f'<p class="alone"><a href="#main">All wheels of this label</a></p>\n'
        ) + "\n".join(sections)


def _page_links(number: int, *, more: bool) -> str:
    base = "../" if number > 1 else ""
    before = [f'<a href="{base}{page_number(number - 1)}">Wheels before these</a>'] if number > 1 else []
    after = [f'<a href="{base}{page_number(number + 1)}" rel="next">Wheels after these</a>'] if more else []
    return f"\n<p>{' '.join(before + after)}</p>" if before or after else ""


_Rows = Callable[[IndexFile], str]
_BLOCKS: Final[Sequence[tuple[Callable[[IndexFile], object], _Rows]]] = (
    (evidence_of, lambda file: rows_of(evidence_facts(evidence_of(file)))),
    (lambda file: build_key(provenance_of(file)), lambda file: rows_of(build_facts(provenance_of(file)))),
    (attrgetter("external"), lambda file: rows_of(external_facts(file.external))),
    (
        attrgetter("release", "uploaded_at", "attestation"),
        lambda file: release_rows(file.folder, file.uploaded_at, file.release, file.attestation),
    ),
)
"""Facts that wheels of one platform usually share: how they are compared, and their rows."""


def _platform_section(platform: str, wheels: _Wheels) -> str:
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
