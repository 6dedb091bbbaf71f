"""``compatibility.yml``: which combinations can exist."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from wheelmill.names import CudaTag, CudaVersion, Platform, PythonVersion, TorchVersion


@dataclass(frozen=True, kw_only=True)
class CudaRelease:
    """What is known of one CUDA release."""

    toolkit: str
    """The toolkit release that is built with: ``13.0.2``."""
    minimum_driver: str
    """The oldest Linux driver that runs it: ``580.65.06``."""
    host_gcc: int
    """The newest major release of GCC that its nvcc takes."""
    architectures: frozenset[str]
    """Compute capabilities that its compiler knows: ``9.0``, ``9.0a``."""


@dataclass(frozen=True, kw_only=True)
class TorchRelease:
    """What is known of one torch minor release."""

    release: str
    """The patch release that is built against: ``2.11.0``."""
    cuda: Mapping[Platform, frozenset[CudaVersion]]
    """The CUDA releases it is published for."""
    python: frozenset[PythonVersion]
    default_cuda: CudaVersion
    """The CUDA of its wheel on PyPI for linux_x86_64."""
    old_cxx_abi: frozenset[CudaVersion] = frozenset()
    """CUDA releases whose wheels have the C++ ABI from before C++11
    (https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html): ``torch._C._GLIBCXX_USE_CXX11_ABI`` is false.
    """
    glibc: str
    """The oldest glibc that its wheels run on: ``2.28``."""


@dataclass(frozen=True, kw_only=True)
class Compatibility:
    """``compatibility.yml``: which combinations can exist."""

    cuda: Mapping[CudaVersion, CudaRelease]
    torch: Mapping[TorchVersion, TorchRelease]
    torch_index: str
    """The simple index of torch's own builds for one CUDA; ``{cuda}`` is ``130``."""
    pythons: tuple[PythonVersion, ...]
    """Pythons that packages without torch are built for."""
    platforms: tuple[Platform, ...]

    @functools.cached_property
    def torch_pythons(self) -> tuple[PythonVersion, ...]:
        """Pythons that some torch is published for, ascending."""
        return tuple(sorted(frozenset[PythonVersion]().union(*(torch.python for torch in self.torch.values()))))

    def torch_backend(self, torch: TorchVersion, cuda: CudaVersion, platform: Platform) -> CudaTag | None:
        """Which of torch's own indexes to install it from, by the CUDA that they are for.

        None where the usual package index has it, which is so for one CUDA on x86_64 Linux. Torch's own indexes have
        it for every platform, so a torch that is not known yet comes from there, too.
        https://docs.astral.sh/uv/guides/integration/pytorch/#installing-pytorch
        """
        known = self.torch.get(torch)
        usual = known and known.default_cuda == cuda and platform == Platform("linux", "x86_64")
        return None if usual else cuda.tag
