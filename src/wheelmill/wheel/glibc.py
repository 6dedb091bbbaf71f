"""glibc: what a platform tag promises and what shared objects need (PEP 600)."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from wheelmill.wheel.dynamic import Symbol
from wheelmill.wheel.platforms import LEGACY_POLICIES
from wheelmill.wheel.shared_objects import SharedObject


def promised_glibc(platform: str) -> Version | None:
    """The oldest glibc that a platform tag promises to run on; None for one that promises none.

    ``manylinux_2_28_x86_64`` gives 2.28, ``linux_x86_64`` None.
    """
    family, _, rest = platform.partition("_")
    if family in LEGACY_POLICIES:
        return Version(f"2.{LEGACY_POLICIES[family]}")
    if family != "manylinux":
        return None
    major, _, rest = rest.partition("_")
    minor = rest.partition("_")[0]
    return Version(f"{major}.{minor}") if major.isdecimal() and minor.isdecimal() else None


def newest(shared_objects: Iterable[SharedObject], family: str) -> Version | None:
    """The highest version of a family of symbols that is needed: ``GLIBC`` or ``GLIBCXX``."""
    named = {symbol.version for shared_object in shared_objects for symbol in shared_object.undefined}
    versions = (_in_family(text, family) for text in named if text)
    return max((version for version in versions if version), default=None)


def version_of(symbol: Symbol, family: str) -> Version | None:
    """``2.32`` for a symbol of version ``GLIBC_2.32``; None for other families and for ``GLIBC_PRIVATE``."""
    return _in_family(symbol.version or "", family)


def _in_family(text: str, family: str) -> Version | None:
    named, _, number = text.partition("_")
    try:
        return Version(number) if named == family else None
    except InvalidVersion:
        return None


def symbols_newer_than(floor: Version, shared_objects: Iterable[SharedObject]) -> tuple[str, ...]:
    """Name what needs a newer glibc: ``__libc_single_threaded@GLIBC_2.32 in torch_scatter/_C.so``."""
    return tuple(
        f"{symbol.name}@{symbol.version} in {shared_object.name}"
        for shared_object in shared_objects
        for symbol in shared_object.undefined
        if (version := version_of(symbol, "GLIBC")) and version > floor
    )
