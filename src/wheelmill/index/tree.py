"""What an index lists: the one model that every page, for installers, programs and people, is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

from wheelmill.config.model import Package, Status, StatusEntry
from wheelmill.names import CudaVersion, ProjectName, ReleaseTag, Sha256, StableTorch, TorchNeed, TorchVersion
from wheelmill.plan.targets import Plan
from wheelmill.release.manifest import ListedCertificate
from wheelmill.wheel.label import Label
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.torch_need import needed_torch, runs_beside

WHEELS_JSON: Final = "wheels.json"
"""Everything that the index lists, for programs; and for the next build, which compares itself with it."""

SOURCES: Final = "sources.yml"
"""Other people's wheels that clients of this index know; see `SOURCES_HASH`."""
SOURCES_HASH: Final = f"{SOURCES}.sha256"
"""The hash of `SOURCES` in the form of sha256sum: a client that has these bytes asks for no more."""

_ACTIVE: Final = StatusEntry(status=Status.ACTIVE, reason=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexFile:
    """One wheel of an index."""

    name: WheelName
    """What its file name says."""
    filename: str
    url: str
    """Absolute, or relative to the root of the site."""
    sha256: Sha256
    size: int
    """Bytes."""
    requires_python: str | None
    requires_dist: tuple[str, ...]
    metadata_sha256: Sha256 | None
    """Of the sidecar beside the wheel; None when there is no sidecar (PEP 658)."""
    uploaded_at: datetime | None = None
    release: ReleaseTag | None = None
    """None for a wheel of a folder, which no release has."""
    certificate: ListedCertificate | None = None
    """What smoke saw, and how the wheel was built; None for a wheel of a folder."""
    attestation: str | None = None
    """The address of the attestation of who built it."""
    yanked: str | None = None
    """Why it is yanked; None when it is not (PEP 592)."""

    @property
    def project(self) -> ProjectName:
        """The project that it is a wheel of."""
        return self.name.project

    @property
    def torch(self) -> TorchNeed | None:
        """The torch that its label names; where that names a CUDA only, any from the one that it requires on."""
        named = self.name.built_for
        return named.torch or (needed_torch(self.requires_dist) if named.cuda else None)

    def serves(self, torch: TorchVersion) -> bool:
        """Whether it is for a torch; one that needs none is for all."""
        match self.name.built_for.torch:
            case TorchVersion() as named:
                return named == torch
            case StableTorch() as named if torch not in named:
                return False
            case _:
                return runs_beside(self.requires_dist, torch)

    @property
    def is_for_candidate(self) -> bool:
        """Whether it is for a release candidate of torch: no other tree than its own has it."""
        return bool((label := self.name.label) and label.torch and label.torch.is_candidate)


@dataclass(frozen=True, kw_only=True)
class Tree:
    """One simple index: a choice of the site's wheels, for one CUDA and torch or for all."""

    path: str
    """Of its folder in the site: empty, ``cu130``, ``cu130/torch2.11``."""
    projects: Mapping[ProjectName, tuple[IndexFile, ...]]
    """Sorted by name; the files of each by file name."""

    @property
    def folder(self) -> str:
        """Of its project list: ``simple``, ``cu130/torch2.11/simple``."""
        return f"{self.path}/simple" if self.path else "simple"


@dataclass(frozen=True, kw_only=True)
class Site:
    """Every tree of an index, the one with all wheels for releases of torch first."""

    trees: tuple[Tree, ...]
    statuses: Mapping[ProjectName, StatusEntry] = field(default_factory=dict)
    """Of projects that are not plainly active (PEP 792)."""

    @property
    def projects(self) -> Mapping[ProjectName, tuple[IndexFile, ...]]:
        """Every project, with all its files but those for release candidates of torch."""
        return self.trees[0].projects

    @cached_property
    def files(self) -> Mapping[ProjectName, tuple[IndexFile, ...]]:
        """Every project, with all its files."""
        every = {project: {file.filename: file for file in files} for project, files in self.projects.items()}
        for tree in self.trees:
            for project, files in tree.projects.items():
                every.setdefault(project, {}).update((file.filename, file) for file in files if file.is_for_candidate)
        return {project: tuple(files.values()) for project, files in sorted(every.items())}

    @property
    def torches(self) -> Mapping[CudaVersion, Sequence[TorchVersion]]:
        """The torches of the narrower trees, ascending, by their CUDA."""
        found: dict[CudaVersion, set[TorchVersion]] = {}
        for tree in self.trees:
            if label := Label.parse(tree.path.replace("/", "")):
                found.setdefault(label.cuda, set()).update([label.torch] if label.torch else [])
        return {cuda: sorted(found[cuda]) for cuda in sorted(found)}

    def status_of(self, project: ProjectName) -> StatusEntry:
        """What the index says of a whole project."""
        return self.statuses.get(project, _ACTIVE)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """What the factory means to build, beside what it has built: pages for people show both."""

    packages: Mapping[ProjectName, Package]
    plan: Plan
    """Made as if nothing were published: its targets are what is wanted, its skips what cannot be or failed."""
    drivers: Mapping[CudaVersion, str]
    """The oldest Linux driver that runs each CUDA release."""
