"""What is known of a target beyond what it has: what its torch is published for, and which CUDA its driver runs."""

from __future__ import annotations

from typing import Final

from packaging.version import Version

from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility, TorchRelease
from wheelmill.names import CudaVersion, Platform, PythonVersion

_BEST_KNOWN: Final = Platform.parse("linux_x86_64")


def cudas_of(release: TorchRelease, platform: Platform) -> frozenset[CudaVersion]:
    """What a torch is published for.

    For a platform that the facts do not have, such as Windows, that is taken to be the same as for Linux.
    """
    return release.cuda.get(platform, release.cuda.get(_BEST_KNOWN, frozenset()))


def pythons_of(release: TorchRelease, platform: Platform) -> frozenset[PythonVersion]:
    """The Pythons that a torch is published for; for platforms that the facts do not have, as in `cudas_of`."""
    return release.python.get(platform, release.python.get(_BEST_KNOWN, frozenset()))


def abi_of(target: TargetEnvironment, facts: Compatibility) -> bool | None:
    """Which C++ ABI the target's torch has: as detected or given, else as that torch was published."""
    if target.cxx11_abi is not None or target.torch is None or target.cuda is None:
        return target.cxx11_abi
    release = facts.torch.get(target.torch)
    return target.cuda not in release.old_cxx_abi if release else None


def minimum_driver(cuda: CudaVersion, facts: Compatibility) -> str | None:
    """The oldest driver for a CUDA release, by that of its nearest known release of the same major."""
    known = [version for version in facts.cuda if version.major == cuda.major]
    nearest = min(known, key=lambda version: abs(version.minor - cuda.minor), default=None)
    return facts.cuda[nearest].minimum_driver if nearest else None


def driver_cuda_of(target: TargetEnvironment, facts: Compatibility) -> CudaVersion | None:
    """The newest CUDA that a target's driver knows: as it says itself, else as the known releases tell.

    None where there is no driver, or only one that is older than all of them.
    """
    if target.driver_cuda or target.driver is None:
        return target.driver_cuda
    known = [
        cuda
        for cuda, release in facts.cuda.items()
        if release.driver and Version(release.driver) <= Version(target.driver)
    ]
    return max(known, default=None)


def is_older(target: TargetEnvironment, driver: str) -> bool:
    """Whether a target's driver is known to be older than one; Windows has other numbers for the same driver."""
    known = target.driver if target.platform.is_linux else None
    return known is not None and Version(known) < Version(driver)
