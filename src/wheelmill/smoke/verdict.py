"""Result of a smoke test: evidence, verdict and certificate."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.build.provenance import Provenance
from wheelmill.errors import SmokeError
from wheelmill.names import Sha256
from wheelmill.system.records import Count, fields_of, read_record, write_record
from wheelmill.wheel.findings import Finding
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.torch_symbols import TorchWindow

SUFFIX: Final = ".tested.json"
GPU_SUFFIX: Final = ".gpu.json"
"""Suffix of the certificate that a machine with a GPU makes for a wheel that passed elsewhere."""
THIS_MACHINE: Final = "this machine"
"""The place of a clean environment that is no container."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedEvidence:
    """Facts that a wheel's bytes show, as far as wheels that were built alike share them."""

    policy: str
    """The platform that its tags promise: ``manylinux_2_34_x86_64``."""
    needed: tuple[str, ...]
    """Libraries that it expects from elsewhere: ``libcudart.so.13``."""
    glibc: str | None
    """The newest glibc that a symbol asks for: ``2.32``."""
    glibcxx: str | None
    """The newest libstdc++ that a symbol asks for: ``3.4.29``."""
    cuda_major: Count | None
    """Major release of its CUDA libraries; None if it is linked to none, or statically."""
    sass: tuple[str, ...]
    """GPU architectures with machine code: ``sm_90``."""
    ptx: tuple[str, ...]
    """GPU architectures with portable assembly: ``compute_120``."""
    torch_window: TorchWindow | None = None
    """Torches in which its symbols exist; None if it needs none, or was not examined for that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence(ListedEvidence):
    """Facts that a wheel's bytes show."""

    undefined_symbols: int
    """Unversioned symbols that it expects from Python, torch, CUDA or the driver."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRoom:
    """Clean environment, without what is installed in it, which would take most of an index's memory."""

    place: str = THIS_MACHINE
    """Or the base image of a container: ``docker.io/library/almalinux:8@sha256:...``."""
    python: str
    """The interpreter's version: ``3.12.1``."""
    skipped: tuple[str, ...]
    """Skipped tests with their reasons: ``import demo: this machine has no NVIDIA driver``."""
    gpus: tuple[str, ...] = ()
    """GPUs on which the smoke script launched kernels: ``NVIDIA H200, driver 580.65.06``."""

    @property
    def imported(self) -> bool:
        """True if its modules were imported with all their dependencies, without a stub."""
        return not any(reason.startswith("import") for reason in self.skipped)


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanRoom(ListedRoom):
    """Clean environment in which a wheel was installed and imported."""

    installed: dict[str, str]
    """Every distribution in it, by name."""


def kernels_in(rooms: Collection[CleanRoom]) -> str:
    """Describe where kernels of a wheel ran, or why they did not: ``tried on NVIDIA H200, driver 580.65.06``."""
    if gpus := dict.fromkeys(gpu for room in rooms for gpu in room.gpus):
        return f"tried on {'; '.join(gpus)}"
    why = dict.fromkeys(reason for room in rooms for reason in room.skipped)
    return f"not tried on a GPU: {'; '.join(why) or 'it has no smoke script'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SmokeResult:
    """Evidence and findings about one wheel."""

    provenance: Provenance | None
    """Facts about its build; None for a wheel that was not built here."""
    findings: tuple[Finding, ...] = ()
    """Reasons to refuse it, warnings, and what packages.yml allows, with its reason."""
    evidence: Evidence | None
    """None if the file is not a readable wheel."""
    clean_rooms: tuple[CleanRoom, ...]
    """Every clean environment that it passed, for each Python that it is for; none if it was refused."""
    sizes: Sizes | None = None
    """Size of each part; None if the wheel has more code than is read from a server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict(SmokeResult):
    """Result of the smoke test of one wheel."""

    file: WheelFile

    @property
    def ok(self) -> bool:
        """True if the wheel may be released."""
        return not any(finding.refuses for finding in self.findings)

    def __str__(self) -> str:
        """List the findings, one per line."""
        lines = (f"  {_weight_of(finding)}{finding.code}: {finding.detail}" for finding in self.findings)
        return "\n".join((f"{self.file.filename} {'passed' if self.ok else 'is refused'}", *lines))


def _weight_of(finding: Finding) -> str:
    if finding.refuses:
        return ""
    return "warning: " if finding.reason is None else f"allowed ({finding.reason}): "


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate(SmokeResult):
    """Proof that a wheel passed, stored beside it and bound to it by its hash."""

    sha256: Sha256
    evidence: Evidence
    """Its own, since a file that is not a readable wheel has no certificate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TestedWheel:
    """Wheel on disk that passed smoke; a release takes no other."""

    __test__ = False  # pytest collects classes named Test*

    file: WheelFile
    certificate: Certificate
    attestation: str | None = None
    """Address of an attestation by its builder."""
    gpu_certificate: Path | None = None
    """The certificate of a machine with a GPU; its clean environments are part of the wheel's own certificate, too."""
    bundles: tuple[bytes, ...] = ()
    """The verified attestation itself: lines of JSON."""


def verdict_of(wheel: TestedWheel) -> Verdict:
    """Restore the verdict on a wheel that passed from its certificate."""
    return Verdict(file=wheel.file, **fields_of(wheel.certificate, SmokeResult))


def certificate_path(wheel: Path, suffix: str = SUFFIX) -> Path:
    """Path of a wheel's certificate, beside the wheel."""
    return wheel.with_name(wheel.name + suffix)


def certify(verdict: Verdict, suffix: str = SUFFIX) -> TestedWheel:
    """Write the certificate of a passing verdict beside its wheel; raises SmokeError with the findings of any other."""
    if verdict.evidence is None or not verdict.ok:
        raise SmokeError("wheels-refused", str(verdict))
    certificate = Certificate(sha256=verdict.file.sha256, **fields_of(verdict, SmokeResult))
    write_record(certificate_path(verdict.file.path, suffix), certificate)
    return TestedWheel(file=verdict.file, certificate=certificate)


def tested_wheel_at(path: Path) -> TestedWheel | None:
    """Read a wheel with the certificate beside it; None if there is none, or if it belongs to other bytes."""
    kept = certificate_path(path)
    if not kept.exists():
        return None
    file = WheelFile.at(path)
    certificate = read_record(kept, Certificate)
    return TestedWheel(file=file, certificate=certificate) if certificate.sha256 == file.sha256 else None
