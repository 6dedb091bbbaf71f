"""What several outputs have."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from wheelmill.client.install.changes import ChangeKind
from wheelmill.client.source_records import Outcome
from wheelmill.plan.targets import Obstacle
from wheelmill.smoke.verdict import Evidence
from wheelmill.wheel.findings import Code, Level
from wheelmill.wheel.sizes import Sizes


class TorchRange(TypedDict):
    """Any torch from one on."""

    stable: str
    """The oldest: ``2.10``."""
    below: NotRequired[str]
    """The first that no longer serves."""


class TorchNeed(TypedDict):
    """What a wheel needs of torch: one release, a range of them, or neither, where both are null."""

    torch: str | None
    """``2.11``"""
    torch_abi: TorchRange | None


class SourceLooked(TypedDict):
    """What became of looking for one project in one source."""

    project: str
    source: str
    """Its name."""
    outcome: Outcome
    url: str
    """The page that decided."""
    detail: str
    """What the server said, and what to do about it; empty where the outcome says everything."""


class Refusal(TypedDict):
    """One reason against a wheel."""

    stage: str
    """What it is about: ``torch``, ``python``, ``gpu`` ..."""
    reason: str


class PackageChange(TypedDict):
    """What happened to a package of an environment, or would happen."""

    project: str
    change: ChangeKind
    before: str | None
    """The version; null where it was not installed."""
    after: str | None
    """The version; null where it is removed."""
    size: int | None
    """Bytes of the file that is installed; null where that is not known."""


class Changed(TypedDict):
    """What a command did to an environment and to files."""

    packages: list[PackageChange]
    dry_run: NotRequired[Literal[True]]
    """There with ``--dry-run``: nothing was changed."""
    diff: NotRequired[dict[str, str]]
    """With ``--dry-run``: a unified diff of each file, by its path."""


class CellOf(TorchNeed):
    """A combination that a wheel is built for."""

    id: str
    project: str
    version: str
    """Upstream's, without a label."""
    python: str
    """``3.12``, ``3.13t``"""
    cuda: str
    """``13.0``"""
    platform: str
    """``linux_x86_64``"""


class TargetOf(CellOf):
    """A wheel that is built."""

    policy: str
    group: str
    """What one job builds."""
    architectures: list[str]
    """GPU architectures: ``9.0``, ``12.0+PTX``."""


class SkipOf(CellOf):
    """A wheel that is not built."""

    kind: Obstacle
    reason: str


class Counts(TypedDict):
    """How many there are."""

    cells: int
    wheels: int
    skips: int


class Planned(TypedDict):
    """What is built, and what is not."""

    targets: list[TargetOf]
    skips: list[SkipOf]
    counts: Counts


class FindingOf(TypedDict):
    """A fault of a wheel."""

    code: Code
    level: Level
    detail: str
    allowed: NotRequired[str]
    """Why packages.yml allows it."""


class VerdictOf(TypedDict):
    """What smoke says of one wheel."""

    file: str
    sha256: str
    ok: bool
    findings: list[FindingOf]
    """What it is refused for."""
    warnings: list[FindingOf]
    evidence: Evidence | None
    """Null where its bytes could not be read."""
    sizes: Sizes | None
    """In bytes."""
    kernels: str | None
    """Where its kernels ran, or why they did not; null for a wheel that was refused."""
