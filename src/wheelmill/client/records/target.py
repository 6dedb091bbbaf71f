"""What wheels are chosen for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.tags import Tag
from packaging.version import Version

from wheelmill.names import Architecture, CudaVersion, Platform, PythonVersion, TorchVersion
from wheelmill.wheel.platforms import Libc, tag_places


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU."""

    capability: Architecture
    name: str | None = None
    """``NVIDIA H100``; None when only its compute capability was given."""


@dataclass(frozen=True, kw_only=True)
class TargetEnvironment:
    """What wheels are chosen for: a Python, what is installed for it, and the machine it runs on."""

    python: PythonVersion
    python_release: str | None
    """``3.12.4``; None when only the minor release is known."""
    interpreter: Path | None
    """None when the target is described by hand only."""
    platform: Platform
    """``linux_x86_64``, ``linux_aarch64``, ``win_amd64`` ..."""
    libc: Libc | None
    """None where wheels make no difference: not on Linux."""
    torch: TorchVersion | None
    """None when torch is not installed: any may be chosen."""
    torch_release: str | None = None
    """``2.11.0+cu130`` as it is installed; None when it is not, or was given by hand."""
    cuda: CudaVersion | None
    """What torch is built for, or was asked for; None when any may be chosen."""
    cpu_only: bool = False
    """Whether the installed torch is built without CUDA."""
    cxx11_abi: bool | None = None
    """Which C++ ABI torch is built with; None when that is not known."""
    driver: str | None = None
    """``580.65.06``; None when there is none, or it is not known."""
    driver_cuda: CudaVersion | None = None
    """The newest CUDA that the driver knows itself."""
    gpus: tuple[Gpu, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    """How each fact is known, by its field: ``--torch``, ``torch/version.py of .venv``, ``nvidia-smi``."""

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Tags of wheels that can be installed, the best first (PEP 425, PEP 600, PEP 656)."""
        return tuple(self.tag_places)

    @property
    def tag_places(self) -> Mapping[Tag, int]:
        """The same tags with their places in that order, the best at 0."""
        return tag_places(self.python, self.platform, self.libc)

    def __str__(self) -> str:
        """``Python 3.12, torch 2.11 and CUDA 13.0 on linux_x86_64``; what is open is called any."""
        cuda = "no CUDA" if self.cpu_only else f"CUDA {self.cuda or '(any)'}"
        return f"Python {self.python}, torch {self.torch or '(any)'} and {cuda} on {self.platform}"

    @property
    def full_python(self) -> Version:
        """The version that ``Requires-Python`` is compared with."""
        return Version(self.python_release or f"{self.python.major}.{self.python.minor}")
