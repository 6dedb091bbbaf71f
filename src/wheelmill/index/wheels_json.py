"""``wheels.json``: everything that an index lists, for programs. docs/index.md describes every key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from packaging.tags import Tag
from packaging.version import Version
from pydantic_core import to_json

from wheelmill.index.rows import in_utc
from wheelmill.index.tree import IndexFile, Site
from wheelmill.smoke.verdict import Certificate
from wheelmill.wheel.label import Label

SCHEMA: Final = "wheelmill.wheels/1"


def wheels_json(site: Site) -> Iterator[bytes]:
    """Write it in pieces, a wheel a line, in the order of the index."""
    statuses = {project: site.status_of(project) for project in site.projects}
    head = {
        "schema": SCHEMA,
        "trees": [tree.folder for tree in site.trees],
        "projects": {
            project: {"status": status.status, "reason": status.reason} for project, status in statuses.items()
        },
    }
    yield to_json(head).removesuffix(b"}") + b',"wheels":['
    separator = b"\n"
    for files in filter(None, site.projects.values()):
        yield separator + b",\n".join([to_json(facts_of(file)) for file in files])
        separator = b",\n"
    yield b"\n]}\n"


def facts_of(file: IndexFile) -> dict[str, object]:
    """What is known of one wheel; None for what is not."""
    name = file.name
    return {
        "filename": file.filename,
        "project": name.project,
        **_versions(name.version, name.label),
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
        "trees": file.trees,
        "attestation": file.attestation,
        **_facts_of_certificate(file.certificate),
    }


@lru_cache
def _versions(version: Version, label: Label | None) -> dict[str, str | None]:
    return {
        "version": version.public,
        "label": version.local,
        "cuda": str(label.cuda) if label else None,
        "torch": str(label.torch) if label and label.torch else None,
    }


@lru_cache
def _texts(tags: frozenset[Tag]) -> list[str]:
    return sorted(map(str, tags))


def _facts_of_certificate(certificate: Certificate | None) -> dict[str, object]:
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
            {"python": room.python, "place": room.place, "skipped": room.skipped} for room in certificate.clean_rooms
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
