"""Types of the objects that the client's commands print with ``--json``, as in docs/reference; null is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from wheelmill.client.choose.explain import Combination
from wheelmill.client.choose.wheel_summary import CodeInside, WheelFacts
from wheelmill.client.install.distributions import PackageChange
from wheelmill.client.install.import_test import Trial
from wheelmill.client.records import SourceKind, SourceOutcome, TargetKeys, WheelInspection
from wheelmill.names import CudaVersion, Platform
from wheelmill.wheel.label import TorchKeys


class Refusal(TypedDict):
    """One reason against a wheel."""

    stage: str
    """Subject: ``torch``, ``python``, ``gpu`` ..."""
    reason: str


class DetectedGpu(TypedDict):
    """A GPU of a target."""

    name: str | None
    capability: str
    """``9.0``"""


class DetectedTarget(TargetKeys):
    """Target that wheels are chosen for; unknown facts are null."""

    schema: Literal["wheelmill.environment/1"]
    python_release: str | None
    """``3.12.1``"""
    free_threaded: bool
    interpreter: str | None
    libc: str | None
    """``glibc 2.36``"""
    torch_release: str | None
    """``2.11.0+cu130``"""
    cuda_major: int | None
    cpu_only: bool
    """True if torch is built without CUDA."""
    cxx11_abi: bool | None
    """The C++ ABI of torch."""
    driver: str | None
    """``580.65.06``"""
    driver_cuda: CudaVersion | None
    """The newest CUDA that the driver knows."""
    gpus: list[DetectedGpu]
    tags: list[str]
    """Tags of wheels that may be installed, best first."""
    origins: dict[str, str]
    """Origin of each value, by its key."""


class Chosen(TorchKeys):
    """A wheel that was chosen."""

    version: str
    filename: str
    url: str
    sha256: str | None
    """Null where the source does not say it."""
    size: int | None
    """Bytes."""
    source: str
    notes: Sequence[str]
    required_by: Sequence[str]
    """The chosen projects whose wheels require it."""


class ResolutionContent(TypedDict):
    """The wheels for one target."""

    environment: TargetKeys
    resolved: dict[str, Chosen]
    """By project."""
    unresolved: dict[str, str]
    """The reason, by project."""
    suggestions: dict[str, str | None]
    """Hints for each of them."""
    warnings: Sequence[str]
    sources: Sequence[SourceOutcome]


class Resolve(ResolutionContent):
    """The wheels that were chosen."""

    schema: Literal["wheelmill.resolve/1"]


class KnownSource(TypedDict):
    """A home of wheels."""

    name: str
    kind: SourceKind
    url: str
    projects: list[str]
    """Empty where it may have any."""
    description: str
    gpus: list[str]
    """The only ones that its wheels are for; empty where it does not say."""
    platforms: Sequence[Platform]
    """The only ones that it has wheels for; empty where it does not say."""


class SearchContent(TypedDict):
    """Sources of wheels."""

    schema: Literal["wheelmill.search/1"]
    sources: list[KnownSource]


class Available(TypedDict):
    """The combinations that packages have wheels for."""

    schema: Literal["wheelmill.available/1"]
    platform: Platform
    projects: dict[str, Sequence[Combination]]
    sources: Sequence[SourceOutcome]


class Assessed(TypedDict):
    """A wheel, compared with the target."""

    filename: str
    url: str
    source: str
    fits: bool
    refusals: list[Refusal]


class AssessedWheel(Assessed, TorchKeys):
    """A wheel, compared with the target and inspected."""

    inside: WheelInspection | None
    """Result of the inspection; null if it was not inspected."""
    note: str | None
    """The reason if it was not inspected."""


class Explain(TypedDict):
    """The wheels of a package, the nearest first."""

    schema: Literal["wheelmill.explain/1"]
    namesake: bool
    """True if the package index has another project of this name."""
    environment: str
    candidates: list[AssessedWheel]
    suggestion: str | None
    sources: Sequence[SourceOutcome]


class AssessedVariantWheel(Assessed):
    """A wheel with or without a variant, compared with the target."""

    version: str
    variant: str | None
    """Its label; null for a plain wheel."""
    properties: Mapping[str, Mapping[str, Sequence[str]]] | None
    """By namespace and feature."""
    notes: Sequence[str]


class ExplainVariants(TypedDict):
    """The variant wheels of a package. Experimental, as PEP 825 is a draft."""

    schema: Literal["wheelmill.explain-variants/1"]
    environment: str
    machine: dict[str, str]
    """Properties of the machine by each variant provider."""
    wheels: list[AssessedVariantWheel]
    gets: str | None
    """The file that this machine gets."""
    uv_takes: str | None
    """The file that uv would take."""
    command: str | None
    """Command that installs it."""
    warnings: Sequence[str]
    sources: Sequence[SourceOutcome]


class WheelShown(WheelFacts, TorchKeys):
    """Contents of a wheel, and its own metadata."""

    project: str
    version: str
    build: str | None
    tags: list[str]
    cuda: CudaVersion | None
    cuda_major: int | None
    code: CodeInside | None
    """Null where it was not read."""


class Show(WheelShown):
    """A wheel, and with ``--beside`` another one."""

    schema: Literal["wheelmill.show/1"]
    beside: NotRequired[WheelShown]


class Changed(TypedDict):
    """Changes of a command to an environment and to files."""

    packages: Sequence[PackageChange]
    dry_run: NotRequired[Literal[True]]
    """There with ``--dry-run``: nothing was changed."""
    diff: NotRequired[dict[str, str]]
    """With ``--dry-run``: a unified diff of each file, by its path."""


class ProjectChange(Changed):
    """Changes of a project."""

    project: str
    """The file."""
    changed: bool
    """True if files were changed."""
    notes: Sequence[str]
    environments: list[ResolutionContent]
    """One for each target."""


class Add(ProjectChange):
    """Wheels added to a project."""

    schema: Literal["wheelmill.add/1"]


class Update(ProjectChange):
    """Wheels chosen again for a project."""

    schema: Literal["wheelmill.update/1"]
    before: dict[str, list[str]]
    """The versions that were declared before, by project, torch among them: ``2.8.*``."""
    newer_torches: list[ResolutionContent]
    """With ``--upgrade-torch``: what each environment would have for each torch that is newer, the oldest first."""


class Remove(Changed):
    """Packages removed from a project."""

    schema: Literal["wheelmill.remove/1"]
    project: str
    removed: list[str]


class LockedVersion(TypedDict):
    """A package of a lock."""

    name: str
    version: str


class LockContent(TypedDict):
    """Content of a new lock."""

    schema: Literal["wheelmill.lock/1"]
    lock: str
    """The file."""
    changed: bool
    packages: list[LockedVersion]


class InstalledWheel(TypedDict):
    """A file that was installed."""

    filename: str
    sha256: str
    size: int


class InstallationContent(Changed):
    """Installed and removed packages."""

    installed: dict[str, InstalledWheel]
    removed: Sequence[str]


class Install(InstallationContent):
    """Installed packages."""

    schema: Literal["wheelmill.install/1"]


class Sync(InstallationContent):
    """Packages installed and removed to match a lock."""

    schema: Literal["wheelmill.sync/1"]


class Listed(TorchKeys):
    """An installed wheel."""

    project: str
    version: str
    cuda: str | None


class List(TypedDict):
    """The installed wheels that were built for a CUDA or a torch."""

    schema: Literal["wheelmill.list/1"]
    packages: list[Listed]


class Test(TypedDict):
    """Import and run tests of installed wheels."""

    schema: Literal["wheelmill.test/1"]
    packages: list[Trial]


class DoctorFault(TypedDict):
    """Something that is wrong."""

    code: str
    subject: str
    """Faulty thing, such as a package."""
    detail: str
    mended_by: Sequence[str]
    """Commands, one after the other."""


class Doctor(TypedDict):
    """Faults of an environment, its project and its lock."""

    schema: Literal["wheelmill.doctor/1"]
    faults: list[DoctorFault]
    looked_at: dict[str, str]


class CacheFiles(TypedDict):
    """Files of the cache."""

    files: int
    bytes: int
    leftovers: int
    """Bytes that killed commands left."""


class CacheInfo(CacheFiles):
    """Content of the cache."""

    schema: Literal["wheelmill.cache-info/1"]
    folder: str
    oldest: str | None
    """Last use of the file that was unused for longest (ISO 8601)."""


class CacheClean(CacheFiles):
    """Files deleted from the cache."""

    schema: Literal["wheelmill.cache-clean/1"]
