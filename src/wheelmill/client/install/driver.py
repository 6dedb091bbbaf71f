"""The driver that wheels need, looked at before they are downloaded, as conda does by its ``__cuda``.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from wheelmill.client.choose.facts import is_older, minimum_driver
from wheelmill.client.records import Resolution, TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import NoWheelError
from wheelmill.names import CudaVersion
from wheelmill.wheel.name import WheelName

_RUNTIME: Final = "nvidia-cuda-runtime"
"""NVIDIA's wheels of the CUDA runtime, which torch requires: the version is that of CUDA. Of CUDA 12 and older it has a
suffix, ``-cu12``."""


@dataclass(frozen=True, kw_only=True)
class DriverNeed:
    """What one wheel needs of the driver."""

    wheel: str
    """``flash-attn 2.8.3+cu130torch2.11``."""
    driver: str
    """The oldest: ``580.65.06``."""


def needs_of_wheels(wheels: Iterable[WheelName], facts: Compatibility) -> Iterator[DriverNeed]:
    """What wheels need of the driver, as far as their names tell their CUDA."""
    for name in wheels:
        cuda = name.built_for.cuda or _cuda_of_runtime(name)
        if cuda and (driver := minimum_driver(cuda, facts)):
            yield DriverNeed(wheel=f"{name.project} {name.version}", driver=driver)


def needs_of_choices(resolution: Resolution, facts: Compatibility) -> Iterator[DriverNeed]:
    """What chosen wheels, and the torch beside them, need of the driver."""
    for choice in resolution.choices.values():
        candidate, named = choice.candidate, f"{choice.project} {choice.candidate.version}"
        if candidate.inside and candidate.inside.driver:
            yield DriverNeed(wheel=named, driver=candidate.inside.driver)
        elif candidate.label.cuda and (driver := minimum_driver(candidate.label.cuda, facts)):
            yield DriverNeed(wheel=named, driver=driver)
    cuda = resolution.environment.cuda
    if resolution.torch and cuda and (driver := minimum_driver(cuda, facts)):
        yield DriverNeed(wheel=f"torch {resolution.torch} for CUDA {cuda}", driver=driver)


def _cuda_of_runtime(name: WheelName) -> CudaVersion | None:
    base, _, suffix = name.project.partition("-cu1")
    if base != _RUNTIME or (suffix and not suffix.isdecimal()):
        return None
    return CudaVersion(name.version.major, name.version.minor)


def check_driver(needs: Iterable[DriverNeed], environment: TargetEnvironment) -> str | None:
    """Look whether the driver of a machine runs what is about to be downloaded.

    Returns:
        A warning where no driver was found: what is installed may run elsewhere.

    Raises:
        NoWheelError: it is too old.
    """
    if not environment.platform.is_linux:
        return None  # the minimum is another one on Windows
    newest = max(needs, key=lambda need: Version(need.driver), default=None)
    if newest is None:
        return None
    wants = f"{newest.wheel} needs NVIDIA driver {newest.driver} or newer"
    if environment.driver is None:
        return f"{wants}, and no driver was found here"
    if not is_older(environment, newest.driver):
        return None
    origin = environment.origins.get("driver")
    raise NoWheelError(
        "driver-too-old",
        f"{wants}, and that of this machine is {environment.driver}{f' ({origin})' if origin else ''}; "
        "nothing was downloaded",
        hint=f"update the driver, or take wheels for an older CUDA; --driver {newest.driver} installs them in any case",
    )
