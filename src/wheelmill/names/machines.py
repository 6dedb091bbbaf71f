"""What wheels are made for: CUDA releases, Pythons, platforms and GPU architectures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from wheelmill.names.text import CudaTag
from wheelmill.names.word import Word, release_numbers

_PLATFORM: Final = re.compile(r"(?P<system>linux|win|macosx(?:_[0-9]+)*)_(?P<machine>[a-z][a-z0-9_]*)")


@dataclass(frozen=True, order=True, slots=True)
class CudaVersion(Word):
    """A CUDA release, major and minor: what wheels of one label share. Patch releases do not matter here."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> CudaVersion:
        """Read ``13.0``, ``13.0.2``, ``130`` or ``cu130``."""
        example = "a CUDA version such as '13.0' or 'cu130'"
        digits = text.strip().removeprefix("cu")
        if digits.isascii() and digits.isdigit() and len(digits) >= 3:  # noqa: PLR2004 - "12" is no version
            digits = f"{digits[:-1]}.{digits[-1]}"
        major, minor, *_ = release_numbers(digits, example)
        if not 10 <= major < 100 or minor > 9:  # noqa: PLR2004 - cu92 and cu1310 could not be read back; 1281 is a slip
            raise ValueError(f"expected {example}, not {text!r}")
        return cls(major, minor)

    @property
    def tag(self) -> CudaTag:
        """The form that labels and index paths use: ``cu130``."""
        return CudaTag(f"cu{self.major}{self.minor}")

    def __str__(self) -> str:
        """``13.0``."""
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, order=True, slots=True)
class PythonVersion(Word):
    """A CPython minor release, free-threaded or not (PEP 703)."""

    major: int
    minor: int
    free_threaded: bool = False

    @classmethod
    def parse(cls, text: str) -> PythonVersion:
        """Read ``3.12``, ``3.13t``, ``312`` or ``cp312``."""
        example = "a Python version such as '3.12' or '3.13t'"
        digits = text.strip().removeprefix("cp")
        free_threaded = digits.endswith("t")
        digits = digits.removesuffix("t")
        if digits.isascii() and digits.isdigit() and len(digits) > 1:
            digits = f"{digits[:1]}.{digits[1:]}"
        major, minor, *_ = release_numbers(digits, example)
        return cls(major, minor, free_threaded)

    @property
    def interpreter(self) -> str:
        """The interpreter part of a wheel tag: ``cp312`` (PEP 425)."""
        return f"cp{self.major}{self.minor}"

    @property
    def abi(self) -> str:
        """The ABI part of a wheel tag: ``cp312``, or ``cp313t`` when free-threaded."""
        return f"{self.interpreter}{'t' if self.free_threaded else ''}"

    def __str__(self) -> str:
        """``3.12`` or ``3.13t``."""
        return f"{self.major}.{self.minor}{'t' if self.free_threaded else ''}"


@dataclass(frozen=True, order=True, slots=True)
class Platform(Word):
    """A system and a machine that wheels run on, as the platform tag of a plain wheel writes them (PEP 425)."""

    system: str
    """``linux``, ``win`` or ``macosx``, the last with a release where one is known: ``macosx_14_0``."""
    machine: str
    """The processor as its system calls it: ``x86_64`` and ``aarch64`` on Linux, ``amd64`` on Windows."""

    @classmethod
    def parse(cls, text: str) -> Platform:
        """Read ``linux_x86_64``, ``win_amd64`` or ``macosx_14_0_arm64``."""
        parts = _PLATFORM.fullmatch(text.strip())
        if parts is None:
            raise ValueError(f"expected a platform such as 'linux_x86_64' or 'win_amd64', not {text!r}")
        return cls(**parts.groupdict())

    @classmethod
    def of_tag(cls, tag: str) -> Platform | None:
        """The platform that a wheel's platform tag is for, whatever its C library; None for ``any``."""
        plain = re.sub(r"^(many|musl)linux[0-9]*(_[0-9]+_[0-9]+)?_", "linux_", tag)
        return cls(**parts.groupdict()) if (parts := _PLATFORM.fullmatch(plain)) else None

    @property
    def is_linux(self) -> bool:
        """Whether its wheels are told apart by their C library."""
        return self.system == "linux"

    def tag(self, policy: str) -> str:
        """The platform tag of a policy on this machine: ``manylinux_2_28_x86_64`` (PEP 600)."""
        return f"{policy}_{self.machine}"

    def __str__(self) -> str:
        """``linux_x86_64``."""
        return f"{self.system}_{self.machine}"


@dataclass(frozen=True, order=True, slots=True)
class Architecture(Word):
    """One GPU architecture to compile for, as ``TORCH_CUDA_ARCH_LIST`` writes it: ``9.0``, ``9.0a``, ``12.0+PTX``.

    https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
    """

    major: int
    minor: int
    feature: str = ""
    """``a`` (this architecture only), ``f`` (its family) or nothing (forward compatible)."""
    ptx: bool = False

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Read a compute capability with an optional feature letter and ``+PTX``."""
        number = text.strip()
        ptx = number.endswith("+PTX")
        number = number.removesuffix("+PTX")
        feature = number[-1:] if number[-1:] in ("a", "f") else ""
        example = "a compute capability such as '9.0', '9.0a' or '12.0+PTX'"
        major, minor = release_numbers(number.removesuffix(feature), example, lengths=(2,))
        return cls(major, minor, feature, ptx)

    @classmethod
    def of_code(cls, code: str) -> Architecture:
        """Read ``sm_90a`` or ``compute_90a``, as `sm` and `compute` write it: the last digit is the minor part."""
        name = code.partition("_")[2]
        number = name.rstrip("af")
        return cls.parse(f"{number[:-1]}.{number[-1:]}{name.removeprefix(number)}")

    @property
    def capability(self) -> str:
        """``9.0a``: the name, without ``+PTX``."""
        return f"{self.major}.{self.minor}{self.feature}"

    @property
    def sm(self) -> str:
        """``sm_90a``: what cuobjdump and the evidence call the machine code for it."""
        return f"sm_{self.major}{self.minor}{self.feature}"

    @property
    def compute(self) -> str:
        """``compute_90a``: what the evidence calls portable assembly for it."""
        return self.sm.replace("sm_", "compute_")

    def __str__(self) -> str:
        """``12.0+PTX``."""
        return f"{self.capability}{'+PTX' if self.ptx else ''}"


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU."""

    capability: Architecture
    name: str | None = None
    """``NVIDIA H100``; None when only its compute capability was given."""
