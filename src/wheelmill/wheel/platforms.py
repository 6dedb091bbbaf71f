"""Platforms, the tags that installers accept on them, and the system that a tag promises (PEP 600).

Tags are computed for any platform on any machine. The promises are those of the manylinux policies in auditwheel.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.version import Version

from wheelmill.names import Platform, PythonVersion, version_or_none

if TYPE_CHECKING:
    from auditwheel.architecture import Architecture as Machine
    from auditwheel.policy import WheelPolicies

    from wheelmill.wheel.shared_objects import SharedObject

LEGACY_POLICIES: Final = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}
"""Legacy names from before PEP 600, and the minor release of glibc 2 that each stands for."""
_OLDEST_GLIBC: Final = {"x86_64": 5, "i686": 5}
"""Other architectures have manylinux tags from glibc 2.17 on (PEP 599)."""
AUTO_POLICY: Final = "auto"
"""The oldest policy that auditwheel grants a wheel."""
PUBLISHED_POLICY: Final = "manylinux_2_28"
"""The policy of published wheels: every Linux since 2018 has that glibc."""


@dataclass(frozen=True, kw_only=True)
class PlatformFacts:
    """Names of a platform in other tools."""

    title: str
    """Its name for people: ``Linux x86_64``."""
    uv: str | None = None
    """Its target triple for uv, of Linux only the machine, because the C library follows; None where uv locks nothing
    (https://docs.astral.sh/uv/reference/cli/#uv-pip-compile--python-platform)."""
    runners: tuple[str, ...] = ()
    """GitHub's own machines for it, the newest last; without them no wheels are built for it
    (https://docs.github.com/en/actions/reference/runners/github-hosted-runners)."""


PLATFORMS: Final[Mapping[Platform, PlatformFacts]] = {
    Platform("linux", "x86_64"): PlatformFacts(title="Linux x86_64", uv="x86_64", runners=("ubuntu-24.04",)),
    Platform("linux", "aarch64"): PlatformFacts(title="Linux ARM64", uv="aarch64", runners=("ubuntu-24.04-arm",)),
    Platform("win", "amd64"): PlatformFacts(title="Windows", uv="x86_64-pc-windows-msvc"),
    Platform("win", "arm64"): PlatformFacts(title="Windows ARM64", uv="aarch64-pc-windows-msvc"),
    Platform("macosx", "arm64"): PlatformFacts(title="macOS", uv="aarch64-apple-darwin"),
    Platform("macosx", "x86_64"): PlatformFacts(title="macOS on Intel", uv="x86_64-apple-darwin"),
}
"""The platforms that wheels can be asked for. A new one starts here."""
BUILT_FOR: Final = tuple(platform for platform, facts in PLATFORMS.items() if facts.runners)


@dataclass(frozen=True, order=True, slots=True)
class Libc:
    """The C library of a Linux system."""

    family: Literal["glibc", "musl"]
    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2.28``, ``glibc 2.28`` or ``musl 1.2``; raises ValueError for anything else."""
        family, _, number = text.strip().rpartition(" ")
        major, _, minor = number.partition(".")
        if family in ("", "glibc", "musl") and all(part.isascii() and part.isdigit() for part in (major, minor)):
            return cls("musl" if family == "musl" else "glibc", int(major), int(minor))
        raise ValueError(f"expected a C library such as '2.28', 'glibc 2.28' or 'musl 1.2', not {text!r}")

    def lacks(self, glibc: Version) -> bool:
        """True if it is a glibc, and an older one."""
        return self.family == "glibc" and Version(f"{self.major}.{self.minor}") < glibc

    def __str__(self) -> str:
        """``glibc 2.28``."""
        return f"{self.family} {self.major}.{self.minor}"


def platforms_of(tags: Iterable[Tag]) -> frozenset[Platform]:
    """Platforms that a wheel with these tags runs on; all that wheels can be asked for if it has the tag ``any``."""
    named = {Platform.of_tag(tag.platform) for tag in tags}
    return frozenset(PLATFORMS if None in named else {platform.plain for platform in named if platform})


@functools.cache
def tag_places(python: PythonVersion, platform: Platform, libc: Libc | None) -> dict[Tag, int]:
    """Tags that an installer for this target accepts, with their ranks in its order, the best at 0.

    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """
    platforms = list(platform_tags(platform, libc))
    version = (python.major, python.minor)
    own = cpython_tags(version, abis=[python.abi], platforms=platforms)
    others = compatible_tags(version, interpreter=python.interpreter, platforms=platforms)
    return {tag: place for place, tag in enumerate(dict.fromkeys((*own, *others)))}


def platform_tags(platform: Platform, libc: Libc | None) -> Iterator[str]:
    """Platform tags: newest manylinux or musllinux first, then the plain one."""
    if platform.is_linux and libc and libc.family == "glibc":
        for minor in range(libc.minor, _OLDEST_GLIBC.get(platform.machine, 17) - 1, -1):
            yield platform.tag(f"manylinux_{libc.major}_{minor}")
            yield from (platform.tag(policy) for policy, oldest in LEGACY_POLICIES.items() if oldest == minor)
    elif platform.is_linux and libc:
        for minor in range(libc.minor, -1, -1):
            yield platform.tag(f"musllinux_{libc.major}_{minor}")
    yield str(platform)


def promised_glibc(platform: str) -> Version | None:
    """Oldest glibc that a platform tag promises to run on: 2.28 of ``manylinux_2_28_x86_64``; None if it has none."""
    family, _, rest = platform.partition("_")
    if family in LEGACY_POLICIES:
        return Version(f"2.{LEGACY_POLICIES[family]}")
    if family != "manylinux":
        return None
    major, _, rest = rest.partition("_")
    minor = rest.partition("_")[0]
    return Version(f"{major}.{minor}") if major.isdecimal() and minor.isdecimal() else None


def newest(shared_objects: Iterable[SharedObject], family: str) -> Version | None:
    """Highest version of a family of symbols that is needed: ``GLIBC`` or ``GLIBCXX``."""
    named = {symbol.version for shared_object in shared_objects for symbol in shared_object.undefined}
    versions = (_in_family(text, family) for text in named if text)
    return max((version for version in versions if version), default=None)


def _in_family(text: str, family: str) -> Version | None:
    """Version ``2.32`` in ``GLIBC_2.32``; None for other families and for ``GLIBC_PRIVATE``."""
    named, _, number = text.partition("_")
    return version_or_none(number) if named == family else None


def symbols_newer_than(floor: Version, shared_objects: Iterable[SharedObject]) -> tuple[str, ...]:
    """Symbols that need a newer glibc: ``__libc_single_threaded@GLIBC_2.32 in torch_scatter/_C.so``."""
    return tuple(
        f"{symbol.name}@{symbol.version} in {shared_object.name}"
        for shared_object in shared_objects
        for symbol in shared_object.undefined
        if (version := _in_family(symbol.version or "", "GLIBC")) and version > floor
    )


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Libraries and symbols on every system that a platform tag stands for."""

    glibc: Version
    libraries: frozenset[str]
    """``libstdc++.so.6``."""
    versions: Mapping[str, frozenset[str]]
    """The versions of symbols, by family: ``GLIBCXX`` has ``3.4.24``."""


def policy_of(platform: str) -> Policy | None:
    """Policy of a platform tag; None for other systems and C libraries, and for newer glibcs.

    ``linux_x86_64`` promises nothing, so it gets the newest policy, the most that can be expected. A glibc between two
    policies gets the newer of them.
    """
    from auditwheel.architecture import Architecture as Machine  # only the factory has it

    machine = next((each for each in Machine if platform.endswith(f"_{each.value}")), None)
    promised = promised_glibc(platform)
    if machine is None or not platform.startswith(("linux", "manylinux")):
        return None
    policies = _policies_for(machine)
    if promised is None:
        return policies[-1] if policies else None
    return next((policy for policy in policies if policy.glibc >= promised), None)


def policy_names() -> frozenset[str]:
    """Policies that auditwheel repairs wheels for: ``manylinux_2_28``, and older names such as ``manylinux2014``."""
    from auditwheel.architecture import Architecture as Machine  # only the factory has it

    machine = Machine.x86_64  # has every policy that another machine has
    names = (name for policy in _shipped(machine) for name in (policy.name, *policy.aliases) if promised_glibc(name))
    return frozenset(name.removesuffix(f"_{machine.value}") for name in names)


def _shipped(machine: Machine) -> WheelPolicies:
    from auditwheel.libc import Libc as CLibrary  # only the factory has it
    from auditwheel.policy import WheelPolicies

    return WheelPolicies(libc=CLibrary.GLIBC, arch=machine)


@functools.cache
def _policies_for(machine: Machine) -> tuple[Policy, ...]:
    known = (
        Policy(glibc=glibc, libraries=policy.whitelist, versions=policy.symbol_versions)
        for policy in _shipped(machine)
        if (glibc := promised_glibc(policy.name))
    )
    return tuple(sorted(known, key=lambda policy: policy.glibc))
