"""``compatibility.yml``: its form, and the records that are made of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from wheelmill.config.document import KeyPath
from wheelmill.config.fields import (
    Architectures,
    EachKeyOnce,
    Entry,
    Form,
    KnownPlatform,
    Platforms,
    Text,
    UpstreamVersion,
    WholeNumber,
)
from wheelmill.config.model import Compatibility, CudaRelease, TorchRelease
from wheelmill.names import CudaVersion, PythonVersion, TorchVersion


def _numbers(text: str) -> str:
    if not all(part.isascii() and part.isdigit() for part in text.split(".")):
        raise ValueError(f"expected numbers with dots between them such as '2.28', not {text!r}")
    return text


Numbers = Annotated[Text, AfterValidator(_numbers)]


class CudaEntry(Entry):
    """One CUDA release."""

    toolkit: UpstreamVersion
    minimum_driver: Numbers
    """The oldest Linux driver that runs it."""
    host_gcc: WholeNumber
    """The newest major release of GCC that its nvcc takes."""
    architectures: Architectures


class TorchEntry(Entry):
    """One torch minor release."""

    release: UpstreamVersion
    """The patch release that is built against."""
    cuda: dict[KnownPlatform, list[CudaVersion]]
    """CUDA releases that it is published for, by platform."""
    python: Annotated[list[PythonVersion], Field(min_length=1)]
    default_cuda: CudaVersion
    """The CUDA of its wheel on PyPI for linux_x86_64."""
    old_cxx_abi: list[CudaVersion] = []
    """CUDA releases whose wheels were made with the C++ ABI from before C++11."""
    glibc: Numbers
    """The oldest glibc that its wheels run on."""


class _Facts(Entry):
    checked: dt.date
    source: Text


class CudaFacts(_Facts):
    """CUDA releases, with where and when they were looked up."""

    releases: Annotated[dict[CudaVersion, CudaEntry], EachKeyOnce]


class TorchFacts(_Facts):
    """torch releases, with where and when they were looked up."""

    index: Text
    """The simple index of torch's own builds for one CUDA; ``{cuda}`` is ``130``. Projects name it where the usual
    package index has torch for another CUDA."""
    releases: Annotated[dict[TorchVersion, TorchEntry], EachKeyOnce]


class CompatibilityFile(Form):
    """``compatibility.yml``."""

    cuda: CudaFacts
    torch: TorchFacts
    pythons: Annotated[list[PythonVersion], Field(min_length=1)]
    """Pythons that packages without torch are built for."""
    platforms: Platforms

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """A toolkit or a patch release of another release."""
        for cuda, facts in self.cuda.releases.items():
            if not facts.toolkit.startswith(f"{cuda}."):
                place = ("cuda", "releases", str(cuda), "toolkit")
                yield place, f"expected a toolkit of CUDA {cuda} such as '{cuda}.1', not '{facts.toolkit}'"
        for torch, entry in self.torch.releases.items():
            if not entry.release.startswith(f"{torch}."):
                place = ("torch", "releases", str(torch), "release")
                yield place, f"expected a release such as '{torch}.1', not '{entry.release}'"


def compatibility_of(file: CompatibilityFile) -> Compatibility:
    """Make records of the facts."""
    return Compatibility(
        cuda={
            version: CudaRelease(
                toolkit=entry.toolkit,
                minimum_driver=entry.minimum_driver,
                host_gcc=entry.host_gcc,
                architectures=frozenset(architecture.capability for architecture in entry.architectures),
            )
            for version, entry in file.cuda.releases.items()
        },
        torch={
            version: TorchRelease(
                release=entry.release,
                cuda={platform: frozenset(versions) for platform, versions in entry.cuda.items()},
                python=frozenset(entry.python),
                default_cuda=entry.default_cuda,
                old_cxx_abi=frozenset(entry.old_cxx_abi),
                glibc=entry.glibc,
            )
            for version, entry in file.torch.releases.items()
        },
        torch_index=file.torch.index,
        pythons=tuple(sorted(file.pythons)),
        platforms=tuple(file.platforms),
    )
