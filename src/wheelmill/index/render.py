"""Pages of an index for installers and programs, all rendered from one model.

Each tree has a project list and project details, in HTML and JSON. HTML follows PEP 503 at repository version 1.4,
where PEP 833 freezes it; JSON follows PEP 691 at API version 1.4.
https://packaging.python.org/en/latest/specifications/simple-repository-api/

``wheels.json`` has everything that an index lists. A file for each release has the names and hashes of its wheels. So
the next build checks in a few kilobytes that it keeps the promises of this one. A release has at most 240 wheels, which
never change: its file is read only if its manifest lists others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import CodeType
from typing import Final, Protocol

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup
from pydantic_core import to_json

from wheelmill.index.rows import Said, facts_of, html_row, json_row, rows_for_page
from wheelmill.index.tree import SOURCES, SOURCES_HASH, WHEELS_JSON, IndexFile, Site, Tree, VersionFiles
from wheelmill.names import ProjectName, ReleaseTag, Sha256
from wheelmill.system import own_installation
from wheelmill.system.files import sha256_of_bytes

API_VERSION: Final = "1.4"
LINKS: Final = b"<!-- links -->"
"""Marks the place of the links in the template of a project page: they are on many pages, but rendered once."""

Page = tuple[str, Iterable[bytes]]
"""A path below the root of the site, and what stands there, in pieces."""


def pages_of(site: Site, aliased: Site | None = None) -> Iterator[Page]:
    """Render pages for installers and programs one at a time: those of 100,000 wheels do not fit into memory.

    Installers see `aliased`, the site with its aliases; the wheels alone if None.
    """
    templates = site_templates()
    style = Markup((own_installation.INDEX / "static" / "style.css").read_text())  # noqa: S704 - our own
    yield "404.html", [templates.get_template("404.html").render(style=style).encode()]
    yield WHEELS_JSON, wheels_json(site)
    listed = aliased or site
    yield from tree_pages(listed, listed.versions, templates)


def tree_pages(
    site: Site, every: Mapping[ProjectName, Sequence[VersionFiles]], templates: Environment
) -> Iterator[Page]:
    """Render the trees of a site, given all versions of every project."""
    for tree in site.trees:
        yield from _project_list(tree, templates)
    for project, versions in every.items():
        yield from _project_details(site, project, versions, templates)


def pages_of_sources(content: bytes) -> Iterator[Page]:
    """Render the list of sources and its hash, so that clients learn of new sources without a new release."""
    yield SOURCES, [content]
    yield SOURCES_HASH, [f"{sha256_of_bytes(content)}  {SOURCES}\n".encode()]


class _CompiledTemplates(BytecodeCache):
    """In-process cache of compiled templates: compiling takes longer than rendering a small site."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED: Final = _CompiledTemplates()


def site_templates() -> Environment:
    """Load the templates of a site, which escape all values and fail at undefined names."""
    return Environment(
        loader=FileSystemLoader(own_installation.INDEX / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_COMPILED,
    )


def _project_list(tree: Tree, templates: Environment) -> Iterator[Page]:
    template = templates.get_template("project_list.html")
    yield f"{tree.folder}/index.html", [template.render(tree=tree, version=API_VERSION).encode()]
    projects = [{"name": project} for project in tree.projects]
    yield f"{tree.folder}/index.json", [to_json({"meta": _META, "projects": projects})]


def _project_details(
    site: Site, project: ProjectName, versions: Sequence[VersionFiles], templates: Environment
) -> Iterator[Page]:
    """Render the pages of one project in every tree; each version's rows are written once for all of them."""
    status = site.status_of(project)
    template = templates.get_template("project_detail.html")
    html_head, html_tail = template.render(project=project, status=status, version=API_VERSION).encode().split(LINKS)
    json_head = {
        "meta": _META,
        "name": project,
        "project-status": {"status": status.status, **({"reason": status.reason} if status.reason else {})},
    }
    html = {version: "\n".join(map(html_row, version.files)).encode() for version in versions}
    json = {version: b",\n".join(map(json_row, version.files)) for version in versions}
    for tree in site.trees:
        if (listed := tree.versions.get(project)) is None:
            continue
        path = f"{tree.folder}/{project}/index.html"
        links = b"\n".join([html[version] for version in listed])
        yield path, [html_head, rows_for_page(path, links), html_tail]
        path = f"{tree.folder}/{project}/index.json"
        head = to_json({**json_head, "versions": _versions(listed)}).removesuffix(b"}")
        rows = b",\n".join([json[version] for version in listed])
        yield path, [head, b',"files":[\n', rows_for_page(path, rows), b"\n]}\n"]


def _versions(listed: Iterable[VersionFiles]) -> list[str]:
    """Return the version numbers in ascending order."""
    return [str(version) for version in sorted({each.name.version for each in listed})]


_META: Final = {"api-version": API_VERSION}


WHEELS_SCHEMA: Final = "wheelmill.wheels/1"


def wheels_json(site: Site) -> Iterator[bytes]:
    """Write ``wheels.json`` in pieces, a wheel a line, in the order of the index."""
    statuses = {project: site.status_of(project) for project in site.versions}
    head = {
        "schema": WHEELS_SCHEMA,
        "trees": [tree.folder for tree in site.trees],
        "projects": {
            project: {"status": status.status, "reason": status.reason} for project, status in statuses.items()
        },
    }
    yield to_json(head).removesuffix(b"}") + b',"wheels":['
    paths = _narrower_paths(site)
    said: Said = {}
    separator = b"\n"
    for version in chain.from_iterable(site.versions.values()):
        yield separator + b",\n".join(facts_of(version, paths[version], said))
        separator = b",\n"
    yield b"\n]}\n"


def _narrower_paths(site: Site) -> Mapping[VersionFiles, list[str]]:
    """Map each version to the paths of its narrower trees."""
    paths: dict[VersionFiles, list[str]] = defaultdict(list)
    for tree in site.trees[1:]:
        for version in chain.from_iterable(tree.versions.values()):
            paths[version].append(tree.path)
    return paths


HASHES: Final = "hashes/index.json"
"""The list of releases, each with the hash of its file."""
HASHES_SCHEMA: Final = "wheelmill.hashes/1"


def pages_of_hashes(site: Site) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Write the wheels that a site lists, by release."""
    releases: dict[ReleaseTag, list[IndexFile]] = defaultdict(list)
    for file in chain.from_iterable(site.files.values()):
        if file.release:
            releases[file.release].append(file)
    listed: dict[ReleaseTag, Sha256] = {}
    for tag, files in sorted(releases.items()):
        content = hashes_in_lines(files)
        listed[tag] = sha256_of_bytes(content)
        yield path_of(tag), [content]
    yield HASHES, [to_json({"schema": HASHES_SCHEMA, "releases": listed}), b"\n"]


def path_of(release: ReleaseTag) -> str:
    """Return the path of a release's hash file."""
    return f"hashes/{release}.sha256"


class Hashed(Protocol):
    """Wheel with its hash."""

    @property
    def filename(self) -> str:
        """File name of the wheel."""

    @property
    def sha256(self) -> Sha256:
        """SHA-256 of the wheel's bytes."""


def hashes_in_lines(wheels: Iterable[Hashed]) -> bytes:
    """Write hashes as sha256sum does, in sorted lines."""
    return "".join(sorted([f"{wheel.sha256}  {wheel.filename}\n" for wheel in wheels])).encode()


def hashes_from_lines(content: bytes) -> dict[str, Sha256]:
    """Read the output of `hashes_in_lines`, by file name."""
    lines = [line.partition("  ") for line in content.decode().splitlines()]
    if "".join(sorted(f"{sha256}  {name}\n" for sha256, _, name in lines)).encode() != content:
        raise ValueError("expected lines of hashes and names, sorted")
    return {name: Sha256(sha256) for sha256, _, name in lines}
