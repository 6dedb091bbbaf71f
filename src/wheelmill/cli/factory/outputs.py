"""Types of the objects that the factory's commands print with ``--json``; docs/reference is generated from them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from wheelmill.config.maintenance.drift import ReleaseDifference, TorchDifference
from wheelmill.config.model.files import CudaImages, ImageReference
from wheelmill.conformance.rule import Observation, Severity
from wheelmill.hosting.rules import SettingCode
from wheelmill.hosting.settings import Unseen
from wheelmill.names import Architecture, CudaVersion, TorchVersion
from wheelmill.pipeline.outputs import CellOf
from wheelmill.pipeline.summary import ReportedFailure
from wheelmill.plan.groups import Estimate
from wheelmill.plan.targets import Obstacle
from wheelmill.release.store import RefusedWheel
from wheelmill.smoke.verdict import Evidence
from wheelmill.wheel.findings import Code, Level
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.torch_symbols import TableSummary


class Counts(TypedDict):
    """Counts of a plan."""

    cells: int
    wheels: int
    skips: int


class TargetOf(CellOf):
    """A wheel that is built."""

    policy: str
    group: str
    """Wheels of one job."""
    architectures: Sequence[Architecture]
    """GPU architectures: ``9.0``, ``12.0+PTX``."""


class SkipOf(CellOf):
    """A wheel that is not built."""

    kind: Obstacle
    reason: str


class Planned(TypedDict):
    """Wheels to build, and the others with their reasons."""

    targets: Iterable[TargetOf]
    skips: Iterable[SkipOf]
    counts: Counts


class FindingOf(TypedDict):
    """A fault of a wheel."""

    code: Code
    level: Level
    detail: str
    allowed: NotRequired[str]
    """Why packages.yml allows it."""


class VerdictOf(TypedDict):
    """Verdict of smoke on one wheel."""

    file: str
    sha256: str
    ok: bool
    findings: list[FindingOf]
    """Findings that refuse it."""
    warnings: list[FindingOf]
    evidence: Evidence | None
    """Null where its bytes could not be read."""
    sizes: Sizes | None
    """In bytes."""
    kernels: str | None
    """GPUs on which its kernels ran, or why they did not; null for a refused wheel."""


class GuessedKey(TypedDict):
    """Value of a key by the source."""

    key: str | None
    """Null for what no key says."""
    file: str | None
    line: int | None
    says: str


class ConfigAdd(TypedDict):
    """The entry that was made for a project."""

    schema: Literal["wheelmill.config-add/1"]
    project: str
    entry: dict[str, Any]
    """As packages.yml has it."""
    guesses: list[GuessedKey]


class NameDiffers(TypedDict):
    """Claim of packages.yml about a name."""

    project: str
    file: Literal["same", "absent"]
    alias_of: str | None
    index: str


class ImageDiffers(TypedDict):
    """A value of images.yml."""

    key: str
    file: str | None
    registry: str | Mapping[str, str] | None
    """Null where the registry no longer has the tag."""


class ConfigDrift(TypedDict):
    """Differences of the configuration from the package index and from cibuildwheel."""

    schema: Literal["wheelmill.config-drift/1"]
    differences: Sequence[TorchDifference]
    names: list[NameDiffers]
    releases: Sequence[ReleaseDifference]
    images: list[ImageDiffers]
    """Manylinux images; ``registry`` is what cibuildwheel pins."""
    unknown: Sequence[str]
    """Facts that could not be compared."""


class ConfigSymbols(TypedDict):
    """The torches whose symbols are known."""

    schema: Literal["wheelmill.config-symbols/1"]
    table: TableSummary | None
    missing: Sequence[TorchVersion]


class ConfigImages(TypedDict):
    """The base images of Docker builds."""

    schema: Literal["wheelmill.config-images/1"]
    manylinux: dict[str, ImageReference]
    """By platform."""
    plain: ImageReference
    """The one without CUDA."""
    cuda: dict[str, CudaImages]
    missing: Sequence[CudaVersion]
    """CUDA releases without images."""


class ConfigImagesRefresh(TypedDict):
    """Differences between the pinned and the current images."""

    schema: Literal["wheelmill.config-images-refresh/1"]
    differences: list[ImageDiffers]
    unknown: Sequence[str]


class MissingPackage(TypedDict):
    """A required package without a wheel."""

    project: str
    requires: str
    targets: list[str]


class PlanContent(Planned):
    """Wheels that would be built, and why the rest would not."""

    schema: Literal["wheelmill.plan/1"]
    missing: list[MissingPackage]
    estimate: Estimate


class Smoke(TypedDict):
    """Verdicts on examined wheels."""

    schema: Literal["wheelmill.smoke/1"]
    wheels: list[VerdictOf]


class CompilerCacheUse(TypedDict):
    """Objects of a build by origin, compiled or from the cache."""

    id: str
    found: int
    compiled: int


class RunContent(Planned):
    """Results of a plan on one machine."""

    schema: Literal["wheelmill.run/1"]
    wheels: list[VerdictOf]
    releases: list[str]
    """Tags."""
    failures: list[ReportedFailure]
    compiler_cache: list[CompilerCacheUse]
    left: list[str]
    """Wheels for which the time was not enough."""


class Release(TypedDict):
    """Published wheels."""

    schema: Literal["wheelmill.release/1"]
    tags: list[str]
    refused: Sequence[RefusedWheel]


class ReleaseEntry(TypedDict):
    """A published release."""

    tag: str
    published_at: str
    manifest: str
    """The sha256 of its ``manifest.json``."""
    wheels: list[str]


class FailureEntry(TypedDict):
    """A build that is not tried again."""

    id: str
    failed_at: str
    reason: str


class ReleaseLedger(TypedDict):
    """Content of the ledger."""

    schema: Literal["wheelmill.release-ledger/1"]
    releases: list[ReleaseEntry]
    failures: list[FailureEntry]
    claims: dict[str, str]
    """The run that builds a group."""
    leases: dict[str, str]
    """Since when a publication goes on."""
    downloads: dict[str, dict[str, int]]
    """By day and project."""
    changes: int
    """In the last hour."""
    findings: list[str]


class ReleaseDownloads(TypedDict):
    """Downloads of each package since its first release."""

    schema: Literal["wheelmill.release-downloads/1"]
    day: str
    projects: dict[str, int]


class Effects(TypedDict):
    """Reactions of installers to a broken rule."""

    pip: str
    uv: str


class Example(TypedDict):
    """One of the places of a finding."""

    url: str
    message: str


class IndexFinding(TypedDict):
    """A rule that an index breaks."""

    rule: str
    """``PEP 658``"""
    number: str
    """As docs/index-check.md numbers it."""
    url: str
    severity: Severity
    message: str
    effect: Effects
    count: int
    """Count of the places."""
    examples: list[Example]


class IndexCheck(TypedDict):
    """Rules that an index breaks."""

    schema: Literal["wheelmill.index-check/1"]
    findings: list[IndexFinding]
    projects: int
    pages: int
    files: int
    examined: int
    """Files whose bytes were looked at."""
    observations: Sequence[Observation]


class SettingFinding(TypedDict):
    """A setting that the workflows cannot do with."""

    code: SettingCode
    what: str
    why: str
    remedy: list[str]
    """Commands."""


class GithubCheck(TypedDict):
    """Wrong settings of a repository."""

    schema: Literal["wheelmill.github-check/1"]
    findings: list[SettingFinding]
    unseen: Sequence[Unseen]


class SummaryContent(TypedDict):
    """Results of a plan that ran in many jobs."""

    schema: Literal["wheelmill.summary/1"]
    done: Sequence[str]
    """Groups."""
    failed: Sequence[str]
    again: Sequence[str]
    """Groups that another run should go on with."""
    goes_on: NotRequired[bool]
    """With ``--run``: whether another run is to be started."""
    continues: NotRequired[Sequence[str]]
    """With ``--run``: the runs whose work is to be taken up."""
    notice: NotRequired[str]
    """With ``--run``: what a person may have to look at; empty when all went well."""
