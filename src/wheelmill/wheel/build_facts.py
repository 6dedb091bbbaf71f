"""How a wheel was built, as recorded inside it in ``.dist-info/wheelmill-build.json``.

Nothing in it depends on the machine, the day or the time that a build took: equal builds have equal wheels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from wheelmill.errors import UnreadableError
from wheelmill.names import Sha256

BUILD_FACTS: Final = "wheelmill-build.json"
MAX_BUILD_FACTS: Final = 1 << 20
"""Bytes. Real ones have some thousand."""
Schema = Literal["wheelmill.build-facts/1"]


@dataclass(frozen=True, kw_only=True)
class SourceFacts:
    """What was compiled."""

    kind: Literal["sdist", "commit", "folder"]
    """A source distribution of the package index, a commit of a repository, or a folder that somebody has."""
    sha256: Sha256
    """Of the source distribution; else of the names and contents of all files, before patches."""
    sdist: str | None = None
    """Its file name."""
    repository: str | None = None
    """Its URL; None where it is on somebody's disk."""
    commit: str | None = None
    ref: str | None = None
    """What the commit was called: a tag, a branch."""
    subdirectory: str | None = None
    """The folder that was built; None for the top."""


@dataclass(frozen=True, kw_only=True)
class AppliedPatch:
    """A patch that the source got; its text is in the bill of materials."""

    file: str
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class BuildFacts:
    """What a wheel was made from, and with what."""

    schema: Schema = "wheelmill.build-facts/1"
    wheelmill: str
    """The version of ours that built it."""
    project: str
    version: str
    """Upstream's, without the label."""
    python: str
    """The Python that it was built with."""
    pythons: tuple[str, ...]
    """The Pythons that it is for."""
    platform: str
    source: SourceFacts
    patches: tuple[AppliedPatch, ...]
    licence: str | None
    """An SPDX expression."""
    on_package_index: bool
    """Whether the package index has this project, from the same home."""
    cuda: str
    """``13.0``."""
    toolkit: str
    """The release of the CUDA toolkit: ``13.0.2``."""
    torch: str | None
    """The release of torch that it was compiled against; None where it needs none."""
    architectures: tuple[str, ...]
    """The GPU architectures that were asked for: ``9.0``, ``12.0+PTX``."""
    driver: str | None = None
    """The oldest Linux driver that loads its GPU code: ``580.65.06``."""
    compilers: tuple[str, ...] = ()
    """The compilers of its host code, by the names that they left in it."""
    cxx_standard: int | None = None
    """The C++ standard that flags for an older one were raised to."""
    variables: Mapping[str, str]
    """The flags and options of the build, by environment variable. Paths and numbers of processors, which differ from
    machine to machine, are left out."""
    build_args: tuple[str, ...] = ()
    """Settings of the build backend: ``NAME=VALUE``."""
    build_requirements: tuple[str, ...]
    """Every distribution in the build environment, pinned."""
    system_packages: tuple[str, ...] = ()
    """Development packages of the operating system, as packages.yml names them."""
    images: tuple[str, ...] = ()
    """The base images of the container that it was compiled in, by digest; none for a build without one."""


def build_facts_bytes(facts: BuildFacts) -> bytes:
    """The file inside a wheel."""
    return msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n"


def read_build_facts(content: bytes) -> BuildFacts:
    """Read the file from a wheel that anybody may have made.

    Raises:
        UnreadableError: it holds something else.
    """
    try:
        return msgspec.json.decode(content, type=BuildFacts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError("build-facts-invalid", f"{BUILD_FACTS} cannot be read: {error}") from None
