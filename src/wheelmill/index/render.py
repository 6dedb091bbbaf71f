"""Pages of an index for installers and programs, all rendered from one model.

Each tree has a project list and project details, in HTML and JSON. HTML follows PEP 503 at repository version 1.4,
where PEP 833 freezes it; JSON follows PEP 691 at API version 1.4.
https://packaging.python.org/en/latest/specifications/simple-repository-api/

Rows of wheels are written without a template: an index has hundreds of thousands, each on the pages of several trees.

``wheels.json`` has everything that an index lists; docs/what-an-index-has.md describes its keys. A file for each
release has the names and hashes of its wheels. So the next build checks in a few kilobytes that it keeps the promises
of this one. A release has at most 240 wheels, which never change: its file is read only if its manifest lists others.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain
from types import CodeType
from typing import Final, TypeVar

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup
from msgspec import Raw, Struct, to_builtins
from msgspec.json import Encoder
from packaging.tags import Tag
from pydantic_core import to_json

from wheelmill.index.tree import SOURCES, SOURCES_HASH, WHEELS_JSON, IndexFile, Site, VersionFiles
from wheelmill.index.write import Page
from wheelmill.names import ProjectName, ReleaseTag, Sha256
from wheelmill.release.manifest.record import ListedFile, ListedProvenance
from wheelmill.smoke.verdict import ListedEvidence
from wheelmill.system import own_installation
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.label import torch_in_json

ROOT: Final = "\0"
"""A placeholder in rows for the relative path to the root of the site; no HTML or JSON holds this character."""
_URL: Final = b'{"url":"'


def html_row(file: IndexFile) -> str:
    """Render a link with its hash and attributes (PEP 503, 592, 658, 714 and 740, and for uv time and size of 700).

    Varying parts stand close together, constant ones in runs of at most the 258 bytes that gzip can repeat at once.
    So a page of 500 wheels has less than 30,000 bytes at gzip's level 9, and 1,200 more at level 6.
    """
    uploaded = f' data-upload-time="{in_utc(file.uploaded_at)}"' if file.uploaded_at else ""
    provenance = f' data-provenance="{escape(file.provenance)}"' if file.provenance else ""
    attributes = _attributes(file.metadata_sha256, file.requires_python, file.yanked)
    return (
        f'<a{provenance}{uploaded} href="{escape(href(file.url))}#sha256={file.sha256}" data-size="{file.size}"'
        f"{attributes}>{escape(file.filename)}</a><br>"
    )


@lru_cache(maxsize=4096)
def _attributes(metadata_sha256: Sha256 | None, requires_python: str | None, reason: str | None) -> str:
    requires = f' data-requires-python="{escape(requires_python)}"' if requires_python else ""
    core = f'"sha256={metadata_sha256}"' if metadata_sha256 else ""
    # Not under its older name: pip 22.3 to 23.1 would read it, and refuse METADATA with the name flash_attn (PEP 714).
    metadata = f" data-core-metadata={core}" if core else ""
    yanked = f' data-yanked="{escape(reason)}"' if reason else ""
    return f"{requires}{metadata}{yanked}"


def escape(text: str) -> str:
    """Escape like `html.escape`, but faster for nearly all names and URLs, which need no escaping."""
    if "&" in text or "<" in text or ">" in text or '"' in text or "'" in text:
        return html.escape(text)
    return text


class _JsonRow(Struct, kw_only=True, omit_defaults=True, rename="kebab"):
    """Entry of ``files`` (PEP 691 with 592, 700, 714 and 740)."""

    url: str
    filename: str
    hashes: dict[str, str]
    size: int
    core_metadata: dict[str, str] | bool
    requires_python: str | None = None
    upload_time: str | None = None
    yanked: str | None = None
    provenance: str | None = None


def json_row(file: IndexFile) -> bytes:
    """Encode an entry of ``files``, without unknown values."""
    url = file.url
    row = _JsonRow(
        url=url,
        filename=file.filename,
        hashes={"sha256": file.sha256},
        size=file.size,
        core_metadata={"sha256": file.metadata_sha256} if file.metadata_sha256 else False,
        requires_python=file.requires_python or None,
        upload_time=in_utc(file.uploaded_at) if file.uploaded_at else None,
        yanked=file.yanked or None,
        provenance=file.provenance,
    )
    written = _encode(row)
    return written if is_absolute(url) else _URL + ROOT.encode() + written.removeprefix(_URL)


_encode: Final = Encoder().encode


def rows_for_page(page: str, content: bytes) -> bytes:
    """Fill in the placeholder of rows for a page, given by its path below the root of the site."""
    return content.replace(ROOT.encode(), b"../" * page.count("/"))


def href(url: str) -> str:
    """Return a file's URL as rows have it."""
    return url if is_absolute(url) else f"{ROOT}{url}"


def is_absolute(url: str) -> bool:
    """Return whether a URL means the same on every page of a site."""
    return url.startswith("/") or "://" in url


@lru_cache(maxsize=4096)
def in_utc(time: datetime) -> str:
    """Format a time as PEP 700 does: ``2026-11-21T12:30:15Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


Part = TypeVar("Part")


JsonById = dict[int, Raw]
"""JSON by the identity of the object that it describes; similar wheels share most of these, see `Shared`."""


def facts_of(version: VersionFiles, trees: Sequence[str], known_json: JsonById) -> Iterator[bytes]:
    """Encode the facts about each wheel of a version; `known_json` holds the JSON of parts that other wheels share."""
    name, label = version.name, version.files[0].label
    of_version = {
        "project": name.project,
        "version": name.version.public,
        "label": name.version.local,
        "cuda": str(label.cuda) if label else None,
        **torch_in_json(version.files[0].torch),
        "trees": Raw(_encode(trees)),
    }
    for file in version.files:
        certificate = file.certificate
        made = certificate.provenance if certificate else None
        yield _encode(
            {
                "filename": file.filename,
                **of_version,
                "build": "".join(map(str, file.name.build)) or None,
                "tags": _tags(file.name.tags),
                "url": file.url,
                "sha256": file.sha256,
                "size": file.size,
                "metadata_sha256": file.metadata_sha256,
                "requires_python": file.requires_python,
                "requires_dist": file.requires_dist,
                "uploaded_at": in_utc(file.uploaded_at) if file.uploaded_at else None,
                "release": file.release,
                "yanked": file.yanked,
                "attestation": file.attestation,
                "evidence": _json_of(certificate.evidence, _evidence, known_json) if certificate else None,
                "tried": _json_of(certificate.clean_rooms, list, known_json) if certificate else [],
                "built": _built(made) if made else None,
            }
        )


def _json_of(part: Part, content: Callable[[Part], object], known_json: JsonById) -> Raw:
    known = known_json.get(id(part))
    if known is None:
        known = known_json[id(part)] = Raw(_encode(content(part)))
    return known


@lru_cache(maxsize=4096)
def _tags(tags: frozenset[Tag]) -> Raw:
    return Raw(_encode(sorted(map(str, tags))))


def _evidence(seen: ListedEvidence) -> dict[str, object]:
    window = {fit.torch: not fit.lacks for fit in seen.torch_window.torches} if seen.torch_window else None
    return {**to_builtins(seen), "torch_window": window}


def _built(made: ListedProvenance) -> dict[str, object]:
    """Return build facts, without the packages of the build environment."""
    return {
        "version": made.built_for.version,
        "toolkit": made.toolkit,
        "torch": made.torch_release,
        "pythons": made.pythons,
        "architectures": made.architectures,
        "source_sha256": made.source_sha256,
        "patches": made.patches,
        "images": made.images,
        "seconds": round(made.seconds),
        "driver": made.driver,
        "commit": made.source.commit if made.source else None,
    }


API_VERSION: Final = "1.4"
_META: Final = {"api-version": API_VERSION}
LINKS: Final = b"<!-- links -->"
"""Marks the place of the links in the template of a project page: they are on many pages, but rendered once."""


def pages_of(site: Site, aliased: Site | None = None, *, root: str = "", as_json: bool = True) -> Iterator[Page]:
    """Render pages for installers and programs one at a time: those of 100,000 wheels do not fit into memory.

    Installers see `aliased`, the site with its aliases; the wheels alone if None. `root` is the path of the site on its
    host. `as_json` adds the JSON form of installers' pages, for a host that lets clients choose.
    """
    style = Markup((own_installation.INDEX / "static" / "style.css").read_text())  # noqa: S704 - our own
    yield "404.html", [site_templates().get_template("404.html").render(style=style, root=root).encode()]
    yield WHEELS_JSON, wheels_json(site)
    listed = aliased or site
    yield from tree_pages(listed, listed.versions, as_json=as_json)


def tree_pages(site: Site, every: Mapping[ProjectName, Sequence[VersionFiles]], *, as_json: bool) -> Iterator[Page]:
    """Render the trees of a site, given all versions of every project."""
    templates = site_templates()
    template = templates.get_template("project_list.html")
    for tree in site.trees:
        yield f"{tree.folder}/index.html", [template.render(tree=tree, version=API_VERSION).encode()]
        if as_json:
            projects = [{"name": project} for project in tree.projects]
            yield f"{tree.folder}/index.json", [to_json({"meta": _META, "projects": projects})]
    for project, versions in every.items():
        yield from _details_as_html(site, project, versions, templates)
        if as_json:
            yield from _details_as_json(site, project, versions)


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


def _details_as_html(
    site: Site, project: ProjectName, versions: Sequence[VersionFiles], templates: Environment
) -> Iterator[Page]:
    """Render the pages of one project in every tree; each version's rows are written once for all of them."""
    template = templates.get_template("project_detail.html")
    page = template.render(project=project, status=site.status_of(project), version=API_VERSION)
    head, tail = page.encode().split(LINKS)
    rows = {version: "\n".join(map(html_row, version.files)).encode() for version in versions}
    for tree in site.trees:
        if listed := tree.versions.get(project):
            path = f"{tree.folder}/{project}/index.html"
            yield path, [head, rows_for_page(path, b"\n".join([rows[version] for version in listed])), tail]


def _details_as_json(site: Site, project: ProjectName, versions: Sequence[VersionFiles]) -> Iterator[Page]:
    """Write the same pages as JSON."""
    status = site.status_of(project)
    head = {
        "meta": _META,
        "name": project,
        "project-status": {"status": status.status, **({"reason": status.reason} if status.reason else {})},
    }
    rows = {version: b",\n".join(map(json_row, version.files)) for version in versions}
    for tree in site.trees:
        if listed := tree.versions.get(project):
            path = f"{tree.folder}/{project}/index.json"
            numbers = list(map(str, sorted({version.name.version for version in listed})))
            start = to_json({**head, "versions": numbers}).removesuffix(b"}")
            files = rows_for_page(path, b",\n".join([rows[version] for version in listed]))
            yield path, [start, b',"files":[\n', files, b"\n]}\n"]


WHEELS_SCHEMA: Final = "wheelmill.wheels/1"


def wheels_json(site: Site) -> Iterator[bytes]:
    """Write ``wheels.json`` in pieces, a wheel a line, in the order of the index."""
    statuses = {project: site.status_of(project) for project in site.versions}
    head = {
        "schema": WHEELS_SCHEMA,
        "trees": [tree.folder for tree in site.trees],
        "projects": {name: {"status": each.status, "reason": each.reason} for name, each in statuses.items()},
    }
    yield to_json(head).removesuffix(b"}") + b',"wheels":['
    narrower_paths: dict[VersionFiles, list[str]] = defaultdict(list)
    for tree in site.trees[1:]:
        for version in chain.from_iterable(tree.versions.values()):
            narrower_paths[version].append(tree.path)
    known_json: JsonById = {}
    separator = b"\n"
    for version in chain.from_iterable(site.versions.values()):
        yield separator + b",\n".join(facts_of(version, narrower_paths[version], known_json))
        separator = b",\n"
    yield b"\n]}\n"


HASHES: Final = "hashes/index.json"
"""The list of releases, each with the hash of its file."""
HASHES_SCHEMA: Final = "wheelmill.hashes/1"


def pages_of_hashes(site: Site) -> Iterator[Page]:
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


def hashes_in_lines(wheels: Iterable[ListedFile]) -> bytes:
    """Write hashes as sha256sum does, in sorted lines."""
    return "".join(sorted([f"{wheel.sha256}  {wheel.filename}\n" for wheel in wheels])).encode()


def hashes_from_lines(content: bytes) -> dict[str, Sha256]:
    """Read the output of `hashes_in_lines`, by file name."""
    lines = [line.partition("  ") for line in content.decode().splitlines()]
    if "".join(sorted(f"{sha256}  {name}\n" for sha256, _, name in lines)).encode() != content:
        raise ValueError("expected lines of hashes and names, sorted")
    return {name: Sha256(sha256) for sha256, _, name in lines}
