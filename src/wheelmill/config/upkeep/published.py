"""What the package index says of torch: its newest releases, and what their wheels for Linux are made for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.errors import IntegrityError, UnreadableError, UsageError
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.names import TORCH, CudaVersion, Platform, ProjectVersion, PythonVersion, TorchVersion
from wheelmill.system.files import sha256_of_bytes
from wheelmill.web.pages import SIDECAR_SUFFIX, Link
from wheelmill.wheel.metadata import read_metadata
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import BUILT_FOR, promised_glibc

if TYPE_CHECKING:
    from wheelmill.web.client import Web

_CUDA_RUNTIMES: Final = frozenset(
    {"nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime", "cuda-toolkit"}
)
"""Projects that torch's wheels pin, and that have the version of a CUDA release."""

LINUX_X86_64: Final = Platform("linux", "x86_64")
_MARKERS: Final = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
}
"""The values of environment markers on linux_x86_64 (PEP 508)."""


@dataclass(frozen=True, kw_only=True)
class PublishedTorch:
    """The newest patch release of a torch minor release that has wheels for linux_x86_64."""

    release: ProjectVersion
    python: Mapping[Platform, frozenset[PythonVersion]]
    """The Pythons of its wheels, by the platforms that it has wheels for."""
    glibc: Version | None
    """The oldest that wheels for linux_x86_64 promise to run on; None for the tag ``linux_x86_64``, which promises
    none."""
    default_cuda: CudaVersion | None
    """The CUDA of the wheels for linux_x86_64; None when their METADATA is not there or does not name one."""
    cuda: Mapping[Platform, frozenset[CudaVersion]] = field(default_factory=dict)
    """What torch's own indexes have it for, by platform; nothing where they were not asked or do not have it."""


@dataclass(frozen=True, kw_only=True)
class TorchWheel:
    """A wheel of torch for one of the platforms that wheels are built for."""

    file: Link
    version: Version
    platform: Platform
    pythons: frozenset[PythonVersion]
    platform_tags: frozenset[str]


def published_torch(since: TorchVersion) -> Mapping[TorchVersion, PublishedTorch]:
    """Look up the torch minor releases from one on: one project page, and one METADATA for each of them.

    Final releases count, yanked files do not.

    Raises:
        UsageError: the index does not have torch.
        NetworkError: the index does not answer.
        IntegrityError: a METADATA does not have the hash that the index gives for it.
    """
    with open_index() as web:
        if not (files := torch_files(web)):
            raise UsageError("torch-not-in-index", f"the package index has no project {TORCH}")
        return {torch: _torch_of(wheels, web) for torch, wheels in _newest_wheels(files, since).items()}


def torch_files(web: Web, index: str | None = None) -> tuple[Link, ...]:
    """List the files of torch on the package index, or on another one; see `files_of`."""
    return files_of(TORCH, web, index)


def wheels_among(files: Iterable[Link]) -> Iterator[TorchWheel]:
    """Read the names of files; those of wheels for our platforms count, yanked ones do not."""
    return (wheel for file in files if (wheel := _wheel(file)))


def _newest_wheels(files: Iterable[Link], since: TorchVersion) -> dict[TorchVersion, list[TorchWheel]]:
    releases: dict[Version, list[TorchWheel]] = {}
    for wheel in wheels_among(files):
        version = wheel.version
        is_release = not version.is_prerelease and not version.local
        if is_release and TorchVersion(version.major, version.minor) >= since:
            releases.setdefault(version, []).append(wheel)
    counted = [
        version for version, wheels in releases.items() if any(wheel.platform == LINUX_X86_64 for wheel in wheels)
    ]
    # Ascending, so that the newest patch release of a minor release is the one that stays.
    return {TorchVersion(version.major, version.minor): releases[version] for version in sorted(counted)}


def _wheel(file: Link) -> TorchWheel | None:
    """Read the name of a file; None for one that does not count."""
    try:
        name = WheelName.parse(file.filename)
    except UnreadableError:
        return None
    tags = frozenset(platform for platform in name.platforms if platform.startswith(("manylinux", "linux")))
    platform = next((platform for platform in BUILT_FOR if platform in set(map(Platform.of_tag, tags))), None)
    pythons = frozenset(python for tag in name.tags if (python := _cpython(tag.abi)))
    if file.yanked is not None or platform is None or not pythons:
        return None
    return TorchWheel(file=file, version=name.version, platform=platform, pythons=pythons, platform_tags=tags)


def _cpython(abi: str) -> PythonVersion | None:
    try:
        return PythonVersion.parse(abi)
    except ValueError:  # "none", and Pythons before 3.8 such as "cp37m"
        return None


def _torch_of(wheels: list[TorchWheel], web: Web) -> PublishedTorch:
    usual = [wheel for wheel in wheels if wheel.platform == LINUX_X86_64]
    return PublishedTorch(
        release=ProjectVersion(str(wheels[0].version)),
        python=pythons_of(wheels),
        glibc=promised_by(wheels),
        default_cuda=_default_cuda(min(usual, key=lambda wheel: wheel.file.filename).file, web),
    )


def pythons_of(wheels: Iterable[TorchWheel]) -> Mapping[Platform, frozenset[PythonVersion]]:
    """The Pythons of wheels, by their platforms."""
    by_platform: dict[Platform, frozenset[PythonVersion]] = {}
    for wheel in wheels:
        by_platform[wheel.platform] = by_platform.get(wheel.platform, frozenset()) | wheel.pythons
    return by_platform


def promised_by(wheels: Iterable[TorchWheel]) -> Version | None:
    """The oldest glibc that wheels for linux_x86_64 promise to run on; None where they promise none."""
    tags = (tag for wheel in wheels if wheel.platform == LINUX_X86_64 for tag in wheel.platform_tags)
    return max((glibc for tag in tags if (glibc := promised_glibc(tag))), default=None)


def _default_cuda(file: Link, web: Web) -> CudaVersion | None:
    answer = web.get(file.url + SIDECAR_SUFFIX)
    if not answer.ok:
        return None
    # An index need not give the hash of a METADATA.
    function, _, digest = (file.core_metadata or file.legacy_metadata or "").partition("=")
    if function == "sha256" and digest != sha256_of_bytes(answer.content):
        raise IntegrityError(
            "metadata-hash-differs", f"{file.filename}.metadata does not have the hash that the package index gives"
        )
    try:
        return _pinned_cuda(read_metadata(answer.content).requires_dist or ())
    except ValueError:
        return None


def _pinned_cuda(requirements: Iterable[Requirement]) -> CudaVersion | None:
    """The CUDA release that requirements pin; None when it is none or more than one. Raises ValueError on odd pins."""
    pinned = {
        CudaVersion.parse(pin.version)
        for requirement in requirements
        if canonicalize_name(requirement.name) in _CUDA_RUNTIMES
        and (requirement.marker is None or requirement.marker.evaluate(_MARKERS))
        for pin in requirement.specifier
        if pin.operator == "=="
    }
    return pinned.pop() if len(pinned) == 1 else None
