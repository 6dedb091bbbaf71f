"""The pages of an index: for each tree a project list and project details, in HTML and in JSON, from one model.

HTML is PEP 503 at repository version 1.4, where its specification is frozen (PEP 833); JSON is PEP 691 at API version
1.4. https://packaging.python.org/en/latest/specifications/simple-repository-api/
Beside them ``wheels.json``: everything that an index lists, for programs. docs/index.md describes every key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from packaging.tags import Tag
from packaging.version import Version
from pydantic_core import to_json

from wheelmill.index.rows import html_row, in_utc, json_row, rows_for_page
from wheelmill.index.tree import SOURCES, SOURCES_HASH, WHEELS_JSON, IndexFile, Site, Tree
from wheelmill.names import ProjectName
from wheelmill.release.manifest import ListedCertificate
from wheelmill.system import resources
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.label import Label
from wheelmill.wheel.torch_need import torch_in_json

API_VERSION: Final = "1.4"
LINKS: Final = b"<!-- links -->"
"""Where the template of a project page has its links: they stand on many pages and are not rendered again."""

Page = tuple[str, Iterable[bytes]]
"""A path below the root of the site, and what stands there, in pieces."""


def pages_of(site: Site) -> Iterator[Page]:
    """Render what installers and programs read, a page at a time: those of 100,000 wheels do not fit into memory."""
    templates = site_templates()
    style = Markup((resources.INDEX / "static" / "style.css").read_text())  # noqa: S704 - our own
    yield "404.html", [templates.get_template("404.html").render(style=style).encode()]
    yield WHEELS_JSON, wheels_json(site)
    for tree in site.trees:
        yield from _project_list(tree, templates)
    for project, files in site.files.items():
        yield from _project_details(site, project, files, templates)


def pages_of_sources(content: bytes) -> Iterator[Page]:
    """Render the list of sources, so that clients learn of new ones without a new release, with its hash beside it."""
    yield SOURCES, [content]
    yield SOURCES_HASH, [f"{sha256_of_bytes(content)}  {SOURCES}\n".encode()]


def site_templates() -> Environment:
    """Where templates are: they escape what they are given, and fail at a name that they are not given."""
    return Environment(
        loader=FileSystemLoader(resources.INDEX / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _project_list(tree: Tree, templates: Environment) -> Iterator[Page]:
    template = templates.get_template("project_list.html")
    yield f"{tree.folder}/index.html", [template.render(tree=tree, version=API_VERSION).encode()]
    projects = [{"name": project} for project in tree.projects]
    yield f"{tree.folder}/index.json", [to_json({"meta": _META, "projects": projects})]


def _project_details(
    site: Site, project: ProjectName, files: tuple[IndexFile, ...], templates: Environment
) -> Iterator[Page]:
    """The pages of one project in every tree; its rows are written once and stand on all of them."""
    status = site.status_of(project)
    template = templates.get_template("project_detail.html")
    html_head, html_tail = template.render(project=project, status=status, version=API_VERSION).encode().split(LINKS)
    json_head = {
        "meta": _META,
        "name": project,
        "project-status": {"status": status.status, **({"reason": status.reason} if status.reason else {})},
    }
    html = {file.filename: html_row(file) for file in files}
    json = {file.filename: json_row(file) for file in files}
    for tree in site.trees:
        if (listed := tree.projects.get(project)) is None:
            continue
        path = f"{tree.folder}/{project}/index.html"
        links = b"\n".join([html[file.filename] for file in listed])
        yield path, [html_head, rows_for_page(path, links), html_tail]
        path = f"{tree.folder}/{project}/index.json"
        head = to_json({**json_head, "versions": _versions(listed)}).removesuffix(b"}")
        rows = b",\n".join([json[file.filename] for file in listed])
        yield path, [head, b',"files":[\n', rows_for_page(path, rows), b"\n]}\n"]


def _versions(files: Iterable[IndexFile]) -> list[str]:
    """Ascending. Files stand by name, so those of one version stand together."""
    return [
        str(version) for version in sorted({version for version, _ in groupby(file.name.version for file in files)})
    ]


_META: Final = {"api-version": API_VERSION}


SCHEMA: Final = "wheelmill.wheels/1"


def wheels_json(site: Site) -> Iterator[bytes]:
    """Write it in pieces, a wheel a line, in the order of the index."""
    statuses = {project: site.status_of(project) for project in site.files}
    head = {
        "schema": SCHEMA,
        "trees": [tree.folder for tree in site.trees],
        "projects": {
            project: {"status": status.status, "reason": status.reason} for project, status in statuses.items()
        },
    }
    yield to_json(head).removesuffix(b"}") + b',"wheels":['
    paths = _paths_of_files(site)
    separator = b"\n"
    for files in filter(None, site.files.values()):
        yield separator + b",\n".join([to_json(facts_of(file, paths[file.filename])) for file in files])
        separator = b",\n"
    yield b"\n]}\n"


def _paths_of_files(site: Site) -> Mapping[str, list[str]]:
    """The narrower trees that each file stands in, by its name."""
    paths: dict[str, list[str]] = defaultdict(list)
    for tree in site.trees[1:]:
        for file in chain(*tree.projects.values()):
            paths[file.filename].append(tree.path)
    return paths


def facts_of(file: IndexFile, trees: Sequence[str]) -> dict[str, object]:
    """What is known of one wheel; None for what is not."""
    name = file.name
    return {
        "filename": file.filename,
        "project": name.project,
        **_facts_of_version(name.version, name.label),
        **torch_in_json(file.torch),
        "build": "".join(map(str, name.build)) or None,
        "tags": _texts(name.tags),
        "url": file.url,
        "sha256": file.sha256,
        "size": file.size,
        "metadata_sha256": file.metadata_sha256,
        "requires_python": file.requires_python,
        "requires_dist": file.requires_dist,
        "uploaded_at": in_utc(file.uploaded_at) if file.uploaded_at else None,
        "release": file.release,
        "yanked": file.yanked,
        "trees": trees,
        "attestation": file.attestation,
        **_facts_of_certificate(file.certificate),
    }


@lru_cache
def _facts_of_version(version: Version, label: Label | None) -> dict[str, str | None]:
    return {
        "version": version.public,
        "label": version.local,
        "cuda": str(label.cuda) if label else None,
    }


@lru_cache
def _texts(tags: frozenset[Tag]) -> list[str]:
    return sorted(map(str, tags))


def _facts_of_certificate(certificate: ListedCertificate | None) -> dict[str, object]:
    """What smoke saw in a wheel and how it was built, without the lists of what stood beside it."""
    if certificate is None:
        return {"evidence": None, "tried": [], "built": None}
    evidence, provenance = certificate.evidence, certificate.provenance
    return {
        "evidence": {
            "policy": evidence.policy,
            "needed": evidence.needed,
            "glibc": evidence.glibc,
            "glibcxx": evidence.glibcxx,
            "cuda_major": evidence.cuda_major,
            "sass": evidence.sass,
            "ptx": evidence.ptx,
        },
        "tried": [
            {"python": room.python, "place": room.place, "skipped": room.skipped, "gpus": room.gpus}
            for room in certificate.clean_rooms
        ],
        "built": {
            "version": provenance.cell.version,
            "toolkit": provenance.toolkit,
            "torch": provenance.torch_release,
            "pythons": [str(python) for python in provenance.pythons],
            "architectures": [str(architecture) for architecture in provenance.architectures],
            "source_sha256": provenance.source_sha256,
            "patches": provenance.patches,
            "images": provenance.images,
            "seconds": round(provenance.seconds),
        }
        if provenance
        else None,
    }
