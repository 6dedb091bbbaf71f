"""Facts about a build and bills of materials, as wheels hold them (PEP 770).

``.dist-info/wheelmill-build.json`` does not depend on the machine, the day or the build time: equal builds have equal
wheels. Bills of any author are read.

https://cyclonedx.org/docs/1.6/json/ and https://spdx.github.io/spdx-spec/v2.3/
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from wheelmill.errors import UnreadableError
from wheelmill.names import Sha256
from wheelmill.wheel.archive import read_member

BUILD_FACTS: Final = "wheelmill-build.json"
MAX_BUILD_FACTS: Final = 1 << 20
"""Bytes. Real ones have some thousand."""
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of msgspec for content that is not the wanted JSON."""


@dataclass(frozen=True, kw_only=True)
class SourceFacts:
    """Source that was compiled."""

    kind: Literal["sdist", "commit", "folder"]
    """A source distribution of the package index, a commit of a repository, or a folder on this disk."""
    sha256: Sha256
    """Hash of the source distribution; otherwise of the names and contents of all files, before patches."""
    sdist: str | None = None
    """Its file name."""
    repository: str | None = None
    """Its URL; None if it is on a local disk."""
    commit: str | None = None
    ref: str | None = None
    """Name of the commit: a tag or a branch."""
    subdirectory: str | None = None
    """The folder that was built; None for the top."""


@dataclass(frozen=True, kw_only=True)
class AppliedPatch:
    """Patch of the source; its text is in the bill of materials."""

    file: str
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class BuildFacts:
    """Source, target and tools of a wheel's build."""

    schema: Literal["wheelmill.build-facts/1"] = "wheelmill.build-facts/1"
    wheelmill: str
    """Version of the wheelmill that built it."""
    project: str
    version: str
    """Upstream's, without the label."""
    python: str
    """Python that it was built with."""
    pythons: tuple[str, ...]
    """Pythons that it is for."""
    platform: str
    source: SourceFacts
    patches: tuple[AppliedPatch, ...]
    licence: str | None
    """An SPDX expression."""
    on_package_index: bool
    """True if the package index has this project, from the same home."""
    cuda: str
    """``13.0``."""
    toolkit: str
    """The release of the CUDA toolkit: ``13.0.2``."""
    torch: str | None
    """Release of torch that it was compiled against; None if it needs none."""
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
    """Encode build facts as the file in a wheel."""
    return msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n"


def read_build_facts(content: bytes) -> BuildFacts:
    """Read build facts from an untrusted wheel; raises UnreadableError if these are none."""
    try:
        return msgspec.json.decode(content, type=BuildFacts)
    except _UNREADABLE as error:
        raise UnreadableError("build-facts-invalid", f"{BUILD_FACTS} cannot be read: {error}") from None


SBOMS: Final = "sboms"
"""Folder in ``.dist-info``."""
OWN_SBOM: Final = "wheelmill.cdx.json"
"""https://cyclonedx.org/specification/overview/#recognized-file-patterns"""
MAX_SBOM: Final = 8 << 20
"""Bytes, of one and of all in a wheel together. One of some hundred components has 100 kB."""
_MAX_BILLS: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class SbomComponent:
    """Component of a wheel or of its build."""

    name: str
    version: str | None = None
    scope: str | None = None
    """``excluded``: it took part in the build and is not in the wheel."""


@dataclass(frozen=True, kw_only=True)
class Sbom:
    """Bill of materials in a wheel."""

    member: str
    """Its path in the wheel."""
    form: str
    """``CycloneDX 1.6``, ``SPDX-2.3``; empty for one that cannot be read."""
    components: tuple[SbomComponent, ...] = ()
    fault: str | None = None
    """Reason why it cannot be read."""

    @property
    def contained(self) -> tuple[SbomComponent, ...]:
        """Components in the wheel."""
        return tuple(each for each in self.components if each.scope != "excluded")


class _CycloneDx(msgspec.Struct, frozen=True, rename={"form": "bomFormat", "version": "specVersion"}):
    form: str
    version: str
    components: tuple[SbomComponent, ...] = ()


class _SpdxPackage(msgspec.Struct, frozen=True, rename={"version": "versionInfo"}):
    name: str
    version: str | None = None


class _Spdx(msgspec.Struct, frozen=True, rename={"form": "spdxVersion"}):
    form: str
    packages: tuple[_SpdxPackage, ...] = ()


def sboms_in(archive: zipfile.ZipFile, dist_info: str) -> Iterator[Sbom]:
    """Read the bills of a wheel; an unreadable one has the reason instead."""
    folder = f"{dist_info}/{SBOMS}/"
    names = [name for name in archive.namelist() if name.startswith(folder) and not name.endswith("/")]
    left = MAX_SBOM
    for name in sorted(names)[:_MAX_BILLS]:
        try:
            content = read_member(archive, name, left)
            left -= len(content)
            yield read_sbom(name, content)
        except UnreadableError as error:
            yield Sbom(member=name, form="", fault=str(error))


def read_sbom(member: str, content: bytes) -> Sbom:
    """Read a bill in JSON; raises UnreadableError if it is neither CycloneDX nor SPDX."""
    with suppress(*_UNREADABLE):
        bill = msgspec.json.decode(content, type=_CycloneDx)
        return Sbom(member=member, form=f"{bill.form} {bill.version}", components=bill.components)
    try:
        spdx = msgspec.json.decode(content, type=_Spdx)
    except _UNREADABLE:
        raise UnreadableError("sbom-unknown", "it is neither CycloneDX nor SPDX in JSON") from None
    packages = (SbomComponent(name=each.name, version=each.version) for each in spdx.packages)
    return Sbom(member=member, form=spdx.form, components=tuple(packages))
