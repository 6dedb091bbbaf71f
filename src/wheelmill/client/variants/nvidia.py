"""What a machine has of the properties in the namespace ``nvidia``.

The rules are those of NVIDIA's provider, which uv has built in: https://github.com/wheelnext/nvidia-variant-provider.
CUDA's own rule for which code runs on which GPU is another one; see `wheelmill.wheel.gpu_code`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from packaging.version import Version

from wheelmill.client.records import TargetEnvironment
from wheelmill.client.variants.namespace import Namespace
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, CudaVersion
from wheelmill.wheel.gpu_code import code_for
from wheelmill.wheel.variant import DRIVER, GPU

FORCED_CUDA: Final = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"
FORCED_GPU: Final = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"
"""What the provider takes for the driver's CUDA and the GPU, where nobody says otherwise: ``12.8`` and ``9.0``."""

_OLDEST_MAJOR, _NEWEST_MAJOR, _NEWEST_MINOR = 11, 15, 20
_OLDEST_GPU: Final = Architecture(5, 0)


def nvidia_of(target: TargetEnvironment, facts: Compatibility) -> Namespace:
    """What a target has: nothing without a driver, since the provider then says nothing of a GPU either.

    Raises:
        UsageError: a variable of the provider has no version.
    """
    cuda, cuda_origin = _cuda_of(target, facts)
    gpus = _gpus_of(target)
    if cuda is None:
        return Namespace(values={}, says="no NVIDIA driver is known, which --driver gives")
    gpu = max(gpus, default=None)
    values = {DRIVER: tuple(_at_most(cuda)), "cuda_version_upper_bound": tuple(_above(cuda))}
    says = f"the driver knows CUDA {cuda} ({cuda_origin})"
    if gpu is None:
        return Namespace(values=values, says=f"{says}, and no GPU is known, which --gpu gives")
    if gpu >= _OLDEST_GPU:
        real = (f"{gpu.major}{minor}_real" for minor in range(min(gpu.minor, 9), -1, -1))  # of one digit, as in sm_90
        values[GPU] = (*real, f"{gpu.major}0_virtual")
    several = ", the newest of several that differ" if len({*gpus}) > 1 else ""
    return Namespace(values=values, says=f"{says}, and the GPU is {gpu.sm}{several}")


def code_note(values: Iterable[str], taken: Iterable[str], target: TargetEnvironment) -> str | None:
    """Say where installers and CUDA decide differently of a variant's code; None where they agree.

    Args:
        values: what it was built for: ``90_real`` is machine code, ``90_virtual`` PTX.
        taken: the values that the provider gives for the target.
        target: has the GPUs.
    """
    asked = frozenset(values)
    sass, ptx = ([*_architectures(asked, kind)] for kind in ("_real", "_virtual"))
    found = {gpu: code_for(gpu, sass, ptx) for gpu in sorted(_gpus_of(target))}
    is_taken = not asked.isdisjoint(taken)
    if is_taken and (without := [gpu.sm for gpu, code in found.items() if not code]):
        return f"installers take it for this GPU, and CUDA runs none of its code on {' and '.join(without)}"
    if found and not is_taken and all(found.values()):
        return f"CUDA would run its {' and '.join(sorted({*found.values()}))} here; installers do not take it"
    return None


def _cuda_of(target: TargetEnvironment, facts: Compatibility) -> tuple[CudaVersion | None, str]:
    """The newest CUDA that the driver knows, and how that is known."""
    by_hand = target.origins.get("driver") == "--driver"
    if not by_hand and (text := os.environ.get(FORCED_CUDA)):
        major, minor = _forced(FORCED_CUDA, text)
        return CudaVersion(major, minor), FORCED_CUDA
    if target.driver_cuda and not by_hand:
        return target.driver_cuda, "as it says itself"
    if target.driver is None:
        return None, ""
    driver = Version(target.driver)
    known = (cuda for cuda, release in facts.cuda.items() if release.driver and Version(release.driver) <= driver)
    return max(known, default=None), f"driver {target.driver}"


def _gpus_of(target: TargetEnvironment) -> Sequence[Architecture]:
    if target.origins.get("gpus") != "--gpu" and (text := os.environ.get(FORCED_GPU)):
        return [Architecture(*_forced(FORCED_GPU, text))]
    return [gpu.capability for gpu in target.gpus]


def _forced(variable: str, text: str) -> tuple[int, int]:
    try:
        version = Version(text)
    except ValueError:  # not only packaging's own: Python makes no number of thousands of digits
        raise UsageError("version-invalid", f"{variable}: expected a version such as 12.8, not {text!r:.80}") from None
    if max(version.major, version.minor) > 99:  # noqa: PLR2004 - a driver's own version, or a hundred million
        raise UsageError(
            "capability-invalid", f"{variable}: expected a CUDA or a compute capability such as 12.8, not {text!r:.80}"
        )
    return version.major, version.minor


def _at_most(cuda: CudaVersion) -> Iterator[str]:
    """Bounds that a driver reaches, the newest first."""
    for major in range(cuda.major, _OLDEST_MAJOR - 1, -1):
        newest = cuda.minor if major == cuda.major else _NEWEST_MINOR
        yield from (f"{major}.{minor}" for minor in range(newest, -1, -1))
        yield str(major)


def _above(cuda: CudaVersion) -> Iterator[str]:
    """Bounds that a driver stays below, the newest first."""
    for major in range(_NEWEST_MAJOR, cuda.major - 1, -1):
        is_own = major == cuda.major
        yield from (f"{major}.{minor}" for minor in range(_NEWEST_MINOR, cuda.minor if is_own else -1, -1))
        if not is_own:
            yield str(major)


def _architectures(values: Iterable[str], kind: str) -> Iterator[Architecture]:
    """What values of one kind name; those that name nothing are nobody's."""
    for value in values:
        try:
            if value.endswith(kind):
                yield Architecture.of_code(f"sm_{value.removesuffix(kind)}")
        except ValueError:
            continue
