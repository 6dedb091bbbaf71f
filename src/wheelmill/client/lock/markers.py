"""Environments as markers tell them apart (PEP 508).

https://packaging.python.org/en/latest/specifications/dependency-specifiers/#environment-markers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from packaging.markers import Environment, default_environment

from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import UsageError

_SYSTEMS: Final = {"linux": ("linux", "Linux", "posix"), "win": ("win32", "Windows", "nt")}
"""``sys_platform``, ``platform_system`` and ``os_name``, of each system of a platform."""


def marker_environment(environment: TargetEnvironment) -> Environment:
    """The values of markers in an environment."""
    platform = environment.platform
    system, name, os_name = _SYSTEMS.get(platform.system, ("darwin", "Darwin", "posix"))
    return default_environment() | {
        "implementation_name": "cpython",
        "implementation_version": str(environment.full_python),
        "os_name": os_name,
        "platform_machine": platform.machine.upper() if platform.system == "win" else platform.machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": name,
        "platform_version": "",
        "python_full_version": str(environment.full_python),
        "python_version": f"{environment.python.major}.{environment.python.minor}",
        "sys_platform": system,
    }


def full_marker(environment: TargetEnvironment) -> str:
    """The marker of an environment: its Python and its platform."""
    return f"{_python_marker(environment)} and {_platform_marker(environment)}"


def distinguishing_markers(environments: Sequence[TargetEnvironment]) -> list[str]:
    """A marker for each environment, with no more in it than sets it apart from the others.

    Raises:
        UsageError: two of them look the same to markers.
    """
    parts = []
    if len({environment.python for environment in environments}) > 1:
        parts.append([_python_marker(environment) for environment in environments])
    if len({environment.platform for environment in environments}) > 1:
        parts.append([_platform_marker(environment) for environment in environments])
    markers = [" and ".join(words) for words in zip(*parts, strict=True)] if parts else [""] * len(environments)
    if len(set(markers)) < len(markers):
        raise UsageError(
            "environments-indistinct",
            "no marker tells these environments apart: "
            + ", ".join(f"Python {each.python} on {each.platform}" for each in environments),
            hint="use one project, or one lock, for each",
        )
    return markers


def _python_marker(environment: TargetEnvironment) -> str:
    return f"python_version == '{environment.python.major}.{environment.python.minor}'"


def _platform_marker(environment: TargetEnvironment) -> str:
    seen = marker_environment(environment)
    return f"sys_platform == '{seen['sys_platform']}' and platform_machine == '{seen['platform_machine']}'"
