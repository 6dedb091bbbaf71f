"""Files that others may read: those of releases and of indexes, and what a wheel tells of its build."""

from typing import Literal

from typing_extensions import TypedDict

from tests.reference.outputs.parts import TorchNeed
from wheelmill.release.manifest import Manifest
from wheelmill.wheel.build_facts import BuildFacts


class ProjectStatus(TypedDict):
    """Of a project (PEP 792)."""

    status: str
    reason: str | None


class Shown(TypedDict):
    """What a wheel's bytes show."""

    policy: str
    needed: list[str]
    glibc: str | None
    glibcxx: str | None
    cuda_major: int | None
    sass: list[str]
    """``sm_90``"""
    ptx: list[str]
    """``compute_120``"""
    torch_window: dict[str, bool] | None
    """Whether it could load in each torch that is known."""


class Tried(TypedDict):
    """Where it was installed and imported."""

    python: str
    place: str
    skipped: list[str]
    """What was not tried there, and why."""
    gpus: list[str]


class Built(TypedDict):
    """How it was built."""

    version: str
    toolkit: str
    torch: str | None
    pythons: list[str]
    architectures: list[str]
    source_sha256: str
    patches: list[str]
    """Their sha256."""
    images: list[str]
    seconds: int
    driver: str | None
    commit: str | None


class IndexedWheel(TorchNeed):
    """A wheel of an index. Null is what is not known."""

    filename: str
    project: str
    version: str
    label: str | None
    cuda: str | None
    build: str | None
    tags: list[str]
    url: str
    sha256: str
    size: int
    metadata_sha256: str | None
    requires_python: str | None
    requires_dist: list[str]
    uploaded_at: str | None
    release: str | None
    yanked: str | None
    trees: list[str]
    attestation: str | None
    evidence: Shown | None
    tried: list[Tried]
    built: Built | None


class Wheels(TypedDict):
    """``wheels.json``: every wheel of an index."""

    schema: Literal["wheelmill.wheels/1"]
    trees: list[str]
    """The folders of its indexes: ``simple``, ``cu130/torch2.11/simple``."""
    projects: dict[str, ProjectStatus]
    wheels: list[IndexedWheel]


class Hashes(TypedDict):
    """``hashes/index.json``: the releases of an index, each with the sha256 of its file of hashes."""

    schema: Literal["wheelmill.hashes/1"]
    releases: dict[str, str]


OUTPUTS = (Manifest, BuildFacts, Wheels, Hashes)
