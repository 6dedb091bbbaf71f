"""Local versions: the label, which says which CUDA and torch a wheel was built for, and what others write there.

A label is ``2.8.3+cu128torch2.8``; without torch ``+cu130``. Local versions are PEP 440's own extension point
(https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers), so every
installer keeps the label, and an exact pin can name it.

Our own labels have one form; others write ``cu12torch2.8cxx11abiTRUE``, ``torch2100cu128``, ``cu.12.8.torch.2.10``,
``pt28cu128``, ``cu128torch2.9.0andhigher``, with dates and commits between.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Final, Self

from packaging.version import Version

from wheelmill.names import CudaVersion, ProjectVersion, StableTorch, TorchNeed, TorchVersion

CANDIDATES: Final = "rc"
"""The part of an index with the trees of wheels for release candidates of torch."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """The CUDA, and the torch if it links to torch, of a wheel."""

    cuda: CudaVersion
    torch: TorchVersion | None

    @classmethod
    def parse(cls, local: str) -> Self | None:
        """Read the label from a local version; None when it is not one of ours.

        What an upstream version already had stands before the label, behind a dot: ``git1a2b.cu130torch2.11``.
        """
        head, found, tail = local.rpartition("cu")
        cuda, names_torch, torch = tail.partition("torch")
        if not found or (head and not head.endswith(".")):
            return None
        try:
            label = cls(cuda=CudaVersion.parse(cuda), torch=TorchVersion.parse(torch) if names_torch else None)
        except ValueError:
            return None
        return label if head + str(label) == local else None

    @cached_property
    def trees(self) -> tuple[str, ...]:
        """The parts of an index that its wheels stand in, from wide to narrow: ``cu130``, ``cu130/torch2.11``.

        Wheels for a release candidate of torch stand apart from all others: in ``rc/cu130/torch2.16rc1`` alone.
        """
        wide = (str(self.cuda.tag),)
        if self.torch is None:
            return wide
        narrow = f"{self.cuda.tag}/torch{self.torch}"
        return (f"{CANDIDATES}/{narrow}",) if self.torch.is_candidate else (*wide, narrow)

    def on(self, version: ProjectVersion) -> Version:
        """Put the label on an upstream version."""
        joint = "." if Version(version).local else "+"
        return Version(f"{version}{joint}{self}")

    def __str__(self) -> str:
        """``cu128torch2.8``, ``cu130torch2.16rc1`` or ``cu130``."""
        return f"{self.cuda.tag}torch{self.torch}" if self.torch else self.cuda.tag


_ABI: Final = "cxx11abi"


@dataclass(frozen=True, kw_only=True)
class BuiltFor:
    """What the local version of anybody's wheel says that it was built for: CUDA, torch and C++ ABI."""

    cuda_major: int | None = None
    cuda: CudaVersion | None = None
    """None too when only the major release is named: ``cu12``."""
    torch: TorchNeed | None = None
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
            torch=StableTorch(oldest=torch) if torch and rest.startswith("andhigher") else torch,
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
            minor, _, patch = minor.partition(".")
            candidate = "".join(takewhile("0123456789".__contains__, rest[2:])) if rest.startswith("rc") else ""
            is_candidate = candidate and not patch.strip("0.")  # those of a patch release keep its ABI
            return TorchVersion(int(major), int(minor), int(candidate) if is_candidate else None), rest
    return None, ""


def _number_behind(word: str, text: str) -> str:
    """Numbers with dots between them, right behind a word or behind the dot that follows it; empty for none."""
    while word in text:
        text = text.partition(word)[2]
        number = "".join(takewhile(lambda c: c in "0123456789.", text.removeprefix(".")))
        if number[:1].isdigit():
            return number.partition("..")[0].rstrip(".")
    return ""
