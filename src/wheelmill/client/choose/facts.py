"""Known facts about a target: the builds of its torch, and the CUDA that its driver runs."""

from __future__ import annotations

from typing import Final

from packaging.version import Version

from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility, TorchRelease
from wheelmill.names import CudaVersion, Platform, PythonVersion

_BEST_KNOWN: Final = Platform.parse("linux_x86_64")


def cudas_of(release: TorchRelease, platform: Platform) -> frozenset[CudaVersion]:
    """List the CUDAs that a torch is published for; platforms without facts, such as Windows, count as Linux."""
    return release.cuda.get(platform, release.cuda.get(_BEST_KNOWN, frozenset()))


def pythons_of(release: TorchRelease, platform: Platform) -> frozenset[PythonVersion]:
    """List the Pythons that a torch is published for; platforms without facts are treated as in `cudas_of`."""
    return release.python.get(platform, release.python.get(_BEST_KNOWN, frozenset()))


def abi_of(target: TargetEnvironment, facts: Compatibility) -> bool | None:
    """Find the C++ ABI of the target's torch: as detected or given, else as that torch was published."""
    if target.cxx11_abi is not None or target.torch is None or target.cuda is None:
        return target.cxx11_abi
    release = facts.torch.get(target.torch)
    return target.cuda not in release.old_cxx_abi if release else None


def minimum_driver(cuda: CudaVersion, facts: Compatibility) -> str | None:
    """Find the oldest driver for a CUDA release, by the nearest known release of the same major."""
    known = [version for version in facts.cuda if version.major == cuda.major]
    nearest = min(known, key=lambda version: abs(version.minor - cuda.minor), default=None)
    return facts.cuda[nearest].minimum_driver if nearest else None


def driver_cuda_of(target: TargetEnvironment, facts: Compatibility) -> CudaVersion | None:
    """Find the newest CUDA of a target's driver, as the driver reports it, else by the known releases.

    None if there is no driver, or it is older than all known releases.
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
    """True if a target's driver is known to be older; Windows numbers the same driver differently."""
    known = target.driver if target.platform.is_linux else None
    return known is not None and Version(known) < Version(driver)
