"""Releases to make an index of."""

import hashlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import structs

from tests.releases import NO_CODE, manifests_in, store_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.site.pages import site_pages
from wheelmill.index.tree import Catalogue, IndexFile, Site
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.manifest.record import ListedRelease, ManifestEntry, manifest_of
from wheelmill.release.manifest.rules import listed_of
from wheelmill.release.publish import publish
from wheelmill.smoke.verdict import Certificate

Release = Callable[..., tuple[ListedRelease, ...]]

EVERY_KIND: Final = (
    "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl",
    "demo-1.0+cu130torch2.10-cp311-cp311-manylinux_2_28_x86_64.whl",
    "demo-1.0+cu128torch2.10-cp311-cp311-manylinux_2_28_x86_64.whl",
    "plain_cuda-2.0+cu130-py3-none-manylinux_2_28_x86_64.whl",
    "unlabelled-3.0-py3-none-any.whl",
)
"""With torch, for a CUDA without torch, and without a label."""


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """Release wheels of these names into a store, and return the manifests of all its releases."""

    def run(
        *names: str,
        store: str = "releases",
        content: bytes = b"",
        requires_python: str | None = None,
        requires: tuple[str, ...] = (),
        now: datetime = NOW,
    ) -> tuple[ListedRelease, ...]:
        releases = store_in(tmp_path / store)
        wheels = [
            certified_wheel(
                tmp_path / "wheels" / name, content=content, requires_python=requires_python, requires=requires
            )
            for name in names
        ]
        publish(releases, wheels, now=now)
        return manifests_in(releases)

    return run


def rendered(site: Site, aliased: Site | None = None) -> dict[str, bytes]:
    """Every page for installers and programs, whole."""
    return {path: b"".join(pieces) for path, pieces in pages_of(site, aliased)}


def people(site: Site, catalogue: Catalogue | None = None, **options: Any) -> dict[str, bytes]:
    """Every page for people, whole."""
    return {path: b"".join(pieces) for path, pieces in site_pages(site, catalogue, **options)}


def with_evidence(manifests: tuple[ListedRelease, ...], **changes: Any) -> list[ListedRelease]:
    """A release of one wheel, with other facts in its evidence."""
    ((entry,),) = (manifest.wheels for manifest in manifests)
    evidence = replace(entry.certificate.evidence, **changes)
    certificate = structs.replace(entry.certificate, evidence=evidence)
    return [structs.replace(manifests[0], wheels=(structs.replace(entry, certificate=certificate),))]


def page_of_500() -> dict[str, bytes]:
    """Both forms of the page of a project with 500 wheels for one CUDA and torch, as it is in a large index."""
    versions = [f"{major}.{minor}.0" for major in range(2) for minor in range(16)]
    pythons = ("cp39-abi3", *(f"cp3{minor}-cp3{minor}" for minor in range(9, 15)), "cp313-cp313t")
    names = [
        f"flash_attn-{version}+cu128torch2.8-{tag}-manylinux_2_28_{machine}.whl"
        for version, tag, machine in itertools.product(versions, pythons, ("x86_64", "aarch64"))
    ][:500]
    release = release_of("v2026-11-21", map(entry_named, names))
    pages = rendered(site_of_releases([release], "https://github.com/owner/name/releases/download"))
    return {name: pages[f"cu128/torch2.8/simple/flash-attn/{name}"] for name in ("index.html", "index.json")}


def release_of(tag: str, entries: Iterable[ManifestEntry]) -> ListedRelease:
    return listed_of(manifest_of(ReleaseTag(tag), [*entries], now=NOW))


def entry_named(filename: str) -> ManifestEntry:
    """An entry with hashes as random as real ones; wheels of one version have the same METADATA."""
    sha256 = Sha256(hashlib.sha256(filename.encode()).hexdigest())
    version = filename.split("-")[1]
    evidence = replace(NO_CODE, cuda_major=12)
    return ManifestEntry(
        filename=filename,
        sha256=sha256,
        size=int(sha256[:7], 16) + 1,
        metadata_sha256=Sha256(hashlib.sha256(version.encode()).hexdigest()),
        name=filename.split("-", maxsplit=1)[0],
        version=version,
        requires_python=">=3.9",
        requires_dist=("einops", "torch==2.8.*"),
        certificate=Certificate(sha256=sha256, evidence=evidence, clean_rooms=(), provenance=None),
    )


def names_of(site: Site) -> dict[str, set[str]]:
    """The file names in every tree."""
    return {tree.path: {file.filename for files in tree.projects.values() for file in files} for tree in site.trees}


def the_file_of(site: Site) -> IndexFile:
    (files,) = site.trees[0].projects.values()
    (file,) = files
    return file
