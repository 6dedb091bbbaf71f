"""The bills of materials in a wheel, whoever wrote them (PEP 770).

https://cyclonedx.org/docs/1.6/json/ and https://spdx.github.io/spdx-spec/v2.3/
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from wheelmill.errors import UnreadableError
from wheelmill.wheel.archive import read_member

SBOMS: Final = "sboms"
"""The folder in ``.dist-info``."""
OWN_SBOM: Final = "wheelmill.cdx.json"
"""https://cyclonedx.org/specification/overview/#recognized-file-patterns"""
MAX_SBOM: Final = 8 << 20
"""Bytes, of one and of all in a wheel together. One of some hundred components has 100 kB."""
_MOST: Final = 20
"""Of a wheel, that are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SbomComponent:
    """What is in a wheel, or took part in its build."""

    name: str
    version: str | None = None
    scope: str | None = None
    """``excluded``: it took part in the build and is not in the wheel."""


@dataclass(frozen=True, kw_only=True)
class Sbom:
    """One bill."""

    member: str
    """Its path in the wheel."""
    form: str
    """``CycloneDX 1.6``, ``SPDX-2.3``; empty for one that cannot be read."""
    components: tuple[SbomComponent, ...] = ()
    fault: str | None = None
    """Why it cannot be read."""

    @property
    def contained(self) -> tuple[SbomComponent, ...]:
        """Those that are in the wheel."""
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
    """Read the bills of a wheel; of one that cannot be read it is said why."""
    folder = f"{dist_info}/{SBOMS}/"
    names = [name for name in archive.namelist() if name.startswith(folder) and not name.endswith("/")]
    left = MAX_SBOM
    for name in sorted(names)[:_MOST]:
        try:
            content = read_member(archive, name, left)
            left -= len(content)
            yield read_sbom(name, content)
        except UnreadableError as error:
            yield Sbom(member=name, form="", fault=str(error))


def read_sbom(member: str, content: bytes) -> Sbom:
    """Read a bill in JSON.

    Raises:
        UnreadableError: it is neither CycloneDX nor SPDX.
    """
    try:
        found = msgspec.json.decode(content, type=_CycloneDx)
        return Sbom(member=member, form=f"{found.form} {found.version}", components=found.components)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        spdx = msgspec.json.decode(content, type=_Spdx)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadableError("sbom-unknown", "it is neither CycloneDX nor SPDX in JSON") from None
    packages = (SbomComponent(name=each.name, version=each.version) for each in spdx.packages)
    return Sbom(member=member, form=spdx.form, components=tuple(packages))
