"""Alias wheels: empty wheels that require another one, under a name that is easier to ask for.

Their bytes depend only on these fields and are not compressed, because releases of zlib differ. A rebuilt alias has the
hash in lock files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.names import ProjectName, read_requirement
from wheelmill.wheel.name import WheelName

EVERYWHERE: Final = frozenset({Tag("py3", "none", "any")})
"""The tags of every alias."""
EXTRAS: Final = "extras"
"""How the label of an alias with extras begins."""
_WHEEL: Final = b"Wheel-Version: 1.0\nGenerator: wheelmill\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, kw_only=True)
class AliasWheel:
    """METADATA of an alias, its only content."""

    project: ProjectName
    version: Version
    summary: str
    requires_python: str | None = None
    requires_dist: tuple[str, ...]
    extras: tuple[str, ...] = ()

    @property
    def name(self) -> WheelName:
        """File name of the alias."""
        return WheelName(project=self.project, version=self.version, build=(), tags=EVERYWHERE)

    @property
    def metadata(self) -> bytes:
        """Content of METADATA; version 2.1 is the first with extras (PEP 566), and every installer reads it."""
        fields = [
            ("Metadata-Version", "2.1"),
            ("Name", self.project),
            ("Version", str(self.version)),
            ("Summary", self.summary),
            *(("Requires-Python", text) for text in [self.requires_python] if text),
            *(("Provides-Extra", extra) for extra in self.extras),
            *(("Requires-Dist", requirement) for requirement in self.requires_dist),
        ]
        return "".join(f"{key}: {value}\n" for key, value in fields).encode()

    @property
    def content(self) -> bytes:
        """Bytes of the wheel."""
        from wheelmill.wheel.archive import pack_members  # noqa: PLC0415 - not for clients, which look at aliases alone
        from wheelmill.wheel.record import record_of_members  # noqa: PLC0415 - the same

        dist_info = f"{self.project.replace('-', '_')}-{self.version}.dist-info"
        members = {f"{dist_info}/METADATA": self.metadata, f"{dist_info}/WHEEL": _WHEEL}
        return pack_members({**members, f"{dist_info}/RECORD": record_of_members(members, f"{dist_info}/RECORD")})


def stands_for(version: str, requires_dist: Sequence[str]) -> ProjectName | None:
    """Project that a wheel is an alias of: it requires only that project's same, labelled version; None if no alias."""
    if "+" not in version or len(requires_dist) != 1:
        return None
    try:
        required = read_requirement(requires_dist[0])
    except ValueError:
        return None
    return canonicalize_name(required.name) if str(required.specifier) == f"=={version}" else None


def chosen_by_extras(version: str, requires_dist: Sequence[str]) -> ProjectName | None:
    """Project that a wheel is an alias of by extras (``demo-gpu[cuda13]``); None if it is none.

    The version has the label of these aliases: ``1.0+extras.13.12``. Each requirement is an alias for an extra:
    ``demo-cu13<=1.0,>=1.0; extra == "cuda13"``.
    """
    if f"+{EXTRAS}." not in version or not all("extra ==" in each for each in requires_dist):
        return None
    try:
        names = {canonicalize_name(read_requirement(each).name.rpartition("-cu")[0]) for each in requires_dist}
    except ValueError:
        return None
    return names.pop() if len(names) == 1 else None
