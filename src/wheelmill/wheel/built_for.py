"""What the local version of anybody's wheel says it was built for.

Our own labels have one form; others write ``cu12torch2.8cxx11abiTRUE``, ``torch2100cu128``, ``cu.12.8.torch.2.10``,
``pt28cu128``, ``cu128torch2.9.0andhigher``, with dates and commits between.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Self

from wheelmill.names import CudaVersion, TorchVersion

_ABI: Final = "cxx11abi"


@dataclass(frozen=True, kw_only=True)
class BuiltFor:
    """CUDA, torch and C++ ABI, as far as a name tells."""

    cuda_major: int | None = None
    cuda: CudaVersion | None = None
    """None too when only the major release is named: ``cu12``."""
    torch: TorchVersion | None = None
    and_newer: bool = False
    """Whether torch is the oldest it works with, not the only one."""
    cxx11_abi: bool | None = None

    @classmethod
    @functools.cache
    def parse(cls, local: str) -> Self:
        """Read a local version; what it does not say stays None."""
        cuda = _number_behind("cu", local)
        torch, rest = _torch_in(local)
        _, abi, value = local.rpartition(_ABI)
        major, _, minor = cuda.partition(".")
        if not minor and len(major) == 3:  # noqa: PLR2004 - cu128; cu12 names the major release only
            major, minor = major[:2], major[2:]
        return cls(
            cuda_major=int(major) if major else None,
            cuda=CudaVersion(int(major), int(minor.partition(".")[0])) if minor else None,
            torch=torch,
            and_newer=rest.startswith("andhigher"),
            cxx11_abi=value.startswith("true") if abi else None,
        )

    @classmethod
    def of_installed(cls, version: str) -> Self:
        """Read what a version says behind its ``+``; one that is no version (PEP 440) can say it, too."""
        return cls.parse(version.lower().partition("+")[2])


def _torch_in(local: str) -> tuple[TorchVersion | None, str]:
    """torch, and what stands behind it."""
    for word in ("torch", "pt"):
        number = _number_behind(word, local)
        if not number:
            continue
        rest = local.partition(word)[2].lstrip(".")[len(number) :]
        major, _, minor = number.partition(".")
        if not minor and len(major) > 1:  # torch2100 has a patch release behind it, pt210 has none
            major, minor = major[0], major[1:-1] if word == "torch" and len(major) > 2 else major[1:]  # noqa: PLR2004
        if minor:
            return TorchVersion(int(major), int(minor.partition(".")[0])), rest
    return None, ""


def _number_behind(word: str, text: str) -> str:
    """Digits and dots right behind a word, or behind the dot that follows it; empty when there are none."""
    while word in text:
        text = text.partition(word)[2]
        if number := "".join(takewhile(lambda c: c in "0123456789.", text.removeprefix("."))).rstrip("."):
            return number
    return ""
