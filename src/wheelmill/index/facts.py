"""One wheel as ``wheels.json`` has it, for programs. None stands for unknown.

docs/what-an-index-has.md describes every key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from msgspec import Raw, Struct
from msgspec.json import Encoder
from packaging.tags import Tag

from wheelmill.index.rows import in_utc
from wheelmill.index.tree import VersionFiles
from wheelmill.release.manifest import ListedEvidence, ListedProvenance, ListedRoom
from wheelmill.wheel.torch_need import torch_in_json

Part = TypeVar("Part")
_encode_facts: Final = Encoder().encode


class _Evidence(Struct):
    policy: str
    needed: tuple[str, ...]
    glibc: str | None
    glibcxx: str | None
    cuda_major: int | None
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    torch_window: dict[str, bool] | None


class _Tried(Struct):
    python: str
    place: str
    skipped: tuple[str, ...]
    gpus: tuple[str, ...]


class _Built(Struct):
    """How it was built, without the packages of its build environment."""

    version: str
    toolkit: str
    torch: str | None
    pythons: tuple[str, ...]
    architectures: tuple[str, ...]
    source_sha256: str
    patches: tuple[str, ...]
    images: tuple[str, ...]
    seconds: int
    driver: str | None
    commit: str | None


class _Facts(Struct):
    filename: str
    project: str
    version: str
    label: str | None
    cuda: str | None
    torch: object
    torch_abi: object
    build: str | None
    tags: Raw
    url: str
    sha256: str
    size: int
    metadata_sha256: str | None
    requires_python: str | None
    requires_dist: tuple[str, ...]
    uploaded_at: str | None
    release: str | None
    yanked: str | None
    trees: Raw
    attestation: str | None
    evidence: Raw | None
    tried: Raw | list[_Tried]
    built: _Built | None


Said = dict[int, Raw]
"""JSON by the identity of the object that it describes; similar wheels share most of these, see `Shared`."""


def facts_of(version: VersionFiles, trees: Sequence[str], said: Said) -> Iterator[bytes]:
    """The facts about each wheel of a version.

    Args:
        version: the wheels.
        trees: the narrower trees that they stand in.
        said: JSON of other wheels, which live as long as these.
    """
    name, label = version.name, version.name.label
    public, local, cuda = name.version.public, name.version.local, str(label.cuda) if label else None
    torch = torch_in_json(version.files[0].torch)
    in_trees = Raw(_encode_facts(trees))
    for file in version.files:
        certificate = file.certificate
        made = certificate.provenance if certificate else None
        yield _encode_facts(
            _Facts(
                filename=file.filename,
                project=name.project,
                version=public,
                label=local,
                cuda=cuda,
                torch=torch["torch"],
                torch_abi=torch["torch_abi"],
                build="".join(map(str, file.name.build)) or None,
                tags=_tags(file.name.tags),
                url=file.url,
                sha256=file.sha256,
                size=file.size,
                metadata_sha256=file.metadata_sha256,
                requires_python=file.requires_python,
                requires_dist=file.requires_dist,
                uploaded_at=in_utc(file.uploaded_at) if file.uploaded_at else None,
                release=file.release,
                yanked=file.yanked,
                trees=in_trees,
                attestation=file.attestation,
                evidence=_said(certificate.evidence, _evidence, said) if certificate else None,
                tried=_said(certificate.clean_rooms, _tried, said) if certificate else [],
                built=_built(made) if made else None,
            )
        )


def _said(part: Part, content: Callable[[Part], object], said: Said) -> Raw:
    known = said.get(id(part))
    if known is None:
        known = said[id(part)] = Raw(_encode_facts(content(part)))
    return known


@lru_cache(maxsize=4096)
def _tags(tags: frozenset[Tag]) -> Raw:
    return Raw(_encode_facts(sorted(map(str, tags))))


def _evidence(seen: ListedEvidence) -> _Evidence:
    return _Evidence(
        policy=seen.policy,
        needed=seen.needed,
        glibc=seen.glibc,
        glibcxx=seen.glibcxx,
        cuda_major=seen.cuda_major,
        sass=seen.sass,
        ptx=seen.ptx,
        torch_window={fit.torch: not fit.lacks for fit in seen.window.torches} if seen.window else None,
    )


def _tried(rooms: Sequence[ListedRoom]) -> list[_Tried]:
    return [_Tried(python=room.python, place=room.place, skipped=room.skipped, gpus=room.gpus) for room in rooms]


def _built(made: ListedProvenance) -> _Built:
    return _Built(
        version=made.built_for.version,
        toolkit=made.toolkit,
        torch=made.torch_release,
        pythons=made.pythons,
        architectures=made.architectures,
        source_sha256=made.source_sha256,
        patches=made.patches,
        images=made.images,
        seconds=round(made.seconds),
        driver=made.driver,
        commit=made.source.commit if made.source else None,
    )
