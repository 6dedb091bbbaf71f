"""What shared objects may need under a platform tag: the manylinux policies that auditwheel ships (PEP 600)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from wheelmill.wheel.platforms import promised_glibc

if TYPE_CHECKING:
    from auditwheel.architecture import Architecture as Machine
    from auditwheel.policy import WheelPolicies


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What every system that a platform tag stands for has."""

    glibc: Version
    libraries: frozenset[str]
    """``libstdc++.so.6``."""
    versions: Mapping[str, frozenset[str]]
    """The versions of symbols, by family: ``GLIBCXX`` has ``3.4.24``."""


def policy_of(platform: str) -> Policy | None:
    """The policy of a platform tag; None where there is none: for other systems and C libraries, and newer glibcs.

    ``linux_x86_64`` promises nothing, so the newest policy is what most can be expected. A glibc between two policies
    has what the newer of them has.
    """
    from auditwheel.architecture import Architecture as Machine  # noqa: PLC0415 - only the factory has it

    machine = next((each for each in Machine if platform.endswith(f"_{each.value}")), None)
    promised = promised_glibc(platform)
    if machine is None or not platform.startswith(("linux", "manylinux")):
        return None
    policies = _policies_for(machine)
    if promised is None:
        return policies[-1] if policies else None
    return next((policy for policy in policies if policy.glibc >= promised), None)


def policy_names() -> frozenset[str]:
    """What auditwheel repairs wheels for: ``manylinux_2_28``, and older names such as ``manylinux2014``."""
    from auditwheel.architecture import Architecture as Machine  # noqa: PLC0415 - only the factory has it

    machine = Machine.x86_64  # no other one has a policy that it lacks
    names = (name for policy in _shipped(machine) for name in (policy.name, *policy.aliases) if promised_glibc(name))
    return frozenset(name.removesuffix(f"_{machine.value}") for name in names)


def _shipped(machine: Machine) -> WheelPolicies:
    from auditwheel.libc import Libc as CLibrary  # noqa: PLC0415 - only the factory has it
    from auditwheel.policy import WheelPolicies  # noqa: PLC0415 - the same

    return WheelPolicies(libc=CLibrary.GLIBC, arch=machine)


@functools.cache
def _policies_for(machine: Machine) -> tuple[Policy, ...]:
    """Every policy for a machine, the oldest glibc first."""
    known = (
        Policy(glibc=glibc, libraries=policy.whitelist, versions=policy.symbol_versions)
        for policy in _shipped(machine)
        if (glibc := promised_glibc(policy.name))
    )
    return tuple(sorted(known, key=lambda policy: policy.glibc))
