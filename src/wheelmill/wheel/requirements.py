"""Requirements of a project that decide for which torches and CUDA majors it can be built."""

from __future__ import annotations

import functools
import re
from contextlib import suppress
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import Specifier
from packaging.utils import canonicalize_name

from wheelmill.names import TORCH, CudaVersion, Platform, PythonVersion, TorchNeed, TorchVersion
from wheelmill.wheel.label import has_release_of

LINUX_MARKERS: Final = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}
"""Values of environment markers on every platform that wheels are built for (PEP 508)."""
NEWEST_PATCH: Final = 99
"""Patch release newer than any: a source that requires Python 3.9.2 can be built with Python 3.9."""

_NAMES_CUDA: Final = re.compile(r"(?:^|-)cu(?:da)?(1\d)\d?x?(?:-|$)")
"""CUDA major in a name or an extra: nvidia-cublas-cu12, spconv-cu120, cupy-cuda12x, jax-cuda13-plugin, jax[cuda13]."""
_VERSIONED_AS_CUDA: Final = frozenset({"cuda-bindings", "cuda-python", "cuda-toolkit", "nvidia-cuda-runtime"})
"""Projects whose major version is that of CUDA."""


def is_bound(requirement: Requirement) -> bool:
    """Return True if a requirement of no extra leaves out some torches or CUDA majors."""
    if "extra" in str(requirement.marker):
        return False
    if canonicalize_name(requirement.name) == TORCH:
        return bool(str(requirement.specifier))
    return not all(_is_for_cuda(requirement, major) for major in range(10, 20))


@functools.lru_cache(maxsize=4096)  # a plan asks for 100,000 cells
def admits(text: str, cuda: CudaVersion, torch: TorchNeed | None, python: PythonVersion, platform: Platform) -> bool:
    """Return True if a wheel with this requirement can be installed beside a CUDA and a torch.

    Wheels for many torches keep the requirement, and so does one whose marker excludes the Python or the platform.
    """
    requirement = Requirement(text)
    release = f"{python.major}.{python.minor}"
    markers = {"python_version": release, "python_full_version": f"{release}.{NEWEST_PATCH}"}
    markers |= LINUX_MARKERS | {"platform_machine": platform.machine}
    with suppress(UndefinedComparison, UndefinedEnvironmentName):
        if requirement.marker is None or requirement.marker.evaluate(markers):
            if canonicalize_name(requirement.name) != TORCH:
                return _is_for_cuda(requirement, cuda.major)
            return not isinstance(torch, TorchVersion) or has_release_of(torch, requirement.specifier)
    return True


def _is_for_cuda(requirement: Requirement, major: int) -> bool:
    name = canonicalize_name(requirement.name)
    if name in _VERSIONED_AS_CUDA:
        return all(_has_release_of(major, clause) for clause in requirement.specifier)
    texts = (name, *map(canonicalize_name, requirement.extras))
    named = {match[1] for text in texts if (match := _NAMES_CUDA.search(text))}
    return not named or str(major) in named


def _has_release_of(major: int, clause: Specifier) -> bool:
    if clause.operator in ("==", "==="):
        return clause.version.partition(".")[0] == str(major)
    return clause.contains(f"{major}.0") or clause.contains(f"{major}.99")
