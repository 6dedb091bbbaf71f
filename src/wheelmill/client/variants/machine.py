"""Known variant properties of a machine, and the order of preference among fitting variants.

The rules of the namespace ``nvidia`` are those of NVIDIA's provider, which uv has built in:
https://github.com/wheelnext/nvidia-variant-provider. CUDA has another rule for the code that a GPU runs; see
`wheelmill.wheel.gpu_code`.

https://peps.python.org/pep-0825/#variant-ordering
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.choose.fit import driver_cuda_of
from wheelmill.client.records import Aspect, Mismatch, TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, CudaVersion, read_requirement
from wheelmill.system.hardware import x86_64_level
from wheelmill.web.pages import printable
from wheelmill.wheel.gpu_code import code_for
from wheelmill.wheel.variant import DRIVER, GPU, NAMESPACE, PROVIDERS, Priorities, Properties, Provider, VariantMetadata


@dataclass(frozen=True, kw_only=True)
class Namespace:
    """The properties of a machine in one namespace."""

    values: Mapping[str, tuple[str, ...]]
    """Values of each feature that fit, best first; the weightiest feature first."""
    says: str
    """Origin, or why there is nothing: ``the driver knows CUDA 12.8 (--driver), and the GPU is sm_90``."""


FORCED_CUDA: Final = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"
FORCED_GPU: Final = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"
"""Variables that replace the driver's CUDA and the GPU for the provider: ``12.8`` and ``9.0``."""

_OLDEST_MAJOR, _NEWEST_MAJOR, _NEWEST_MINOR = 11, 15, 20
_OLDEST_GPU: Final = Architecture(5, 0)


def nvidia_of(target: TargetEnvironment, facts: Compatibility) -> Namespace:
    """Find the properties of a target: none without a driver, since the provider then reports no GPU either."""
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
        real = (f"{gpu.major}{minor}_real" for minor in range(min(gpu.minor, 9), -1, -1))  # one digit, as in sm_90
        values[GPU] = (*real, f"{gpu.major}0_virtual")
    several = ", the newest of several that differ" if len({*gpus}) > 1 else ""
    return Namespace(values=values, says=f"{says}, and the GPU is {gpu.sm}{several}")


def code_note(values: Iterable[str], taken: Iterable[str], target: TargetEnvironment) -> str | None:
    """Describe where installers and CUDA decide differently on a variant's code; None if they agree.

    ``values`` are the variant's, such as ``90_real`` for machine code and ``90_virtual`` for PTX; ``taken`` are those
    that the provider gives for the target.
    """
    code_on = _code_on_gpus(values, target)
    is_taken = not frozenset(values).isdisjoint(taken)
    if is_taken and (without := [gpu.sm for gpu, code in code_on.items() if not code]):
        return f"installers take it for this GPU, and CUDA runs none of its code on {' and '.join(without)}"
    if code_on and not is_taken and all(code_on.values()):
        return f"CUDA would run its {' and '.join(sorted({*code_on.values()}))} here; installers do not take it"
    return None


def runs_by_cuda(properties: Properties, target: TargetEnvironment, machine: Machine) -> bool:
    """True if CUDA runs a variant for GPUs, as far as is known: by the major release of the driver, and by its code."""
    features, driver = properties[NAMESPACE], machine[NAMESPACE].values.get(DRIVER)
    majors = {bound.partition(".")[0] for bound in features.get(DRIVER, ())}
    code_on = _code_on_gpus(features[GPU], target) if GPU in features else {}
    return not driver or ((not majors or not majors.isdisjoint(driver)) and (not code_on or any(code_on.values())))


def _code_on_gpus(values: Iterable[str], target: TargetEnvironment) -> Mapping[Architecture, str]:
    """Kind of a variant's code for each GPU of a target, by CUDA's own rule; empty if none runs there."""
    asked = frozenset(values)
    sass, ptx = ([*_architectures(asked, kind)] for kind in ("_real", "_virtual"))
    return {gpu: code_for(gpu, sass, ptx) for gpu in sorted(_gpus_of(target))}


def _cuda_of(target: TargetEnvironment, facts: Compatibility) -> tuple[CudaVersion | None, str]:
    """Find the newest CUDA that the driver supports, and the origin of this fact."""
    by_hand = target.origins.get("driver") == "--driver"
    if not by_hand and (text := os.environ.get(FORCED_CUDA)):
        major, minor = _forced(FORCED_CUDA, text)
        return CudaVersion(major, minor), FORCED_CUDA
    if target.driver_cuda and not by_hand:
        return target.driver_cuda, "as it says itself"
    return driver_cuda_of(replace(target, driver_cuda=None), facts), f"driver {target.driver}"


def _gpus_of(target: TargetEnvironment) -> Sequence[Architecture]:
    if target.origins.get("gpus") != "--gpu" and (text := os.environ.get(FORCED_GPU)):
        return [Architecture(*_forced(FORCED_GPU, text))]
    return [gpu.capability for gpu in target.gpus]


def _forced(variable: str, text: str) -> tuple[int, int]:
    try:
        version = Version(text)
    except ValueError:  # also Python's own: it parses no number of thousands of digits
        raise UsageError("version-invalid", f"{variable}: expected a version such as 12.8, not {text!r:.80}") from None
    if max(version.major, version.minor) > 99:  # noqa: PLR2004 - a driver's own version, or a hundred million
        raise UsageError(
            "capability-invalid", f"{variable}: expected a CUDA or a compute capability such as 12.8, not {text!r:.80}"
        )
    return version.major, version.minor


def _at_most(cuda: CudaVersion) -> Iterator[str]:
    """Yield the bounds that a driver reaches, the newest first."""
    for major in range(cuda.major, _OLDEST_MAJOR - 1, -1):
        newest = cuda.minor if major == cuda.major else _NEWEST_MINOR
        yield from (f"{major}.{minor}" for minor in range(newest, -1, -1))
        yield str(major)


def _above(cuda: CudaVersion) -> Iterator[str]:
    """Yield the bounds that a driver stays below, the newest first."""
    for major in range(_NEWEST_MAJOR, cuda.major - 1, -1):
        is_own = major == cuda.major
        yield from (f"{major}.{minor}" for minor in range(_NEWEST_MINOR, cuda.minor if is_own else -1, -1))
        if not is_own:
            yield str(major)


def _architectures(values: Iterable[str], kind: str) -> Iterator[Architecture]:
    """Parse the values of one kind; those that name no architecture are skipped."""
    for value in values:
        try:
            if value.endswith(kind):
                yield Architecture.of_code(f"sm_{value.removesuffix(kind)}")
        except ValueError:
            continue


Machine = Mapping[str, Namespace]
"""Namespaces by their name."""

_BUILT_IN: Final = {
    NAMESPACE: ("nvidia-variant-provider", Version("0.0.1"), PROVIDERS[NAMESPACE].plugin_api),
    "x86_64": ("x86-64-variant-provider", Version("0.2.1"), "x86_64_variant_provider"),
}
"""Providers that uv 0.13 replaces, with its version of each: a list that requires another one is ignored, as by uv."""
_ABI_DEPENDENCY: Final = "abi_dependency"
_SHOWN: Final = 12
"""Values of a feature, in text."""
_X86_64: Final = frozenset({"x86_64", "amd64"})


def machine_of(target: TargetEnvironment, facts: Compatibility) -> Machine:
    """Find the properties of a target in the known namespaces."""
    return {NAMESPACE: nvidia_of(target, facts), "x86_64": _processor_of(target)}


def machine_for(metadata: VariantMetadata, machine: Machine) -> Machine:
    """Select the namespaces of one list; those with an unknown provider are empty, with the reason."""
    return {
        name: Namespace(values={}, says=reason)
        if (reason := _why_unknown(name, metadata.providers.get(name)))
        else machine[name]
        for name in metadata.default_priorities.namespace
    }


def mismatches_of_properties(properties: Properties, machine: Machine) -> Iterator[Mismatch]:
    """Yield every property that a machine lacks: of each feature it must have one value."""
    for name, features in properties.items():
        for feature, values in features.items():
            if frozenset(values).isdisjoint(machine[name].values.get(feature, ())):
                asked = property_text(name, feature, values)
                yield Mismatch(aspect=Aspect.VARIANT, reason=f"asks for {asked}; {machine[name].says}")


def property_text(namespace: str, feature: str, values: tuple[str, ...]) -> str:
    """Write a property as PEP 825 does, with its first values: ``nvidia :: sm_arch :: 80_real or 90_real``."""
    more = len(values) - _SHOWN
    named = " or ".join(values[:_SHOWN])
    return f"{namespace} :: {feature} :: {named}{f' or {more} more' if more > 0 else ''}"


def _why_unknown(namespace: str, provider: Provider | None) -> str | None:
    """Explain why the properties of a namespace are unknown; None if uv has its provider built in."""
    if namespace == _ABI_DEPENDENCY:
        return "no installer compares that with what is installed: uv passes over it"
    if provider is None:
        return "the list names no provider that could be asked"
    if provider.optional:
        return "its provider is optional, and installers ask no optional ones"
    if namespace in _BUILT_IN and provider.requires:
        project, version, plugin_api = _BUILT_IN[namespace]
        with suppress(ValueError):
            required = [*map(read_requirement, provider.requires)]
            fits = all(canonicalize_name(each.name) == project and version in each.specifier for each in required)
            if fits and provider.plugin_api == plugin_api:
                return None
    named = " or ".join(filter(None, (provider.plugin_api, ", ".join(provider.requires)))) or "without a name"
    return f"what this machine has of that is not known: the provider, {printable(named)}, is neither uv's nor ours"


def _processor_of(target: TargetEnvironment) -> Namespace:
    if target.platform.machine not in _X86_64:
        return Namespace(values={}, says=f"the processor is {target.platform.machine}")
    level = x86_64_level()
    if level is None:
        return Namespace(values={}, says="the level of the processor is not known")
    return Namespace(
        values={"level": tuple(f"v{each}" for each in range(level, 0, -1))},
        says=f"the processor here has level v{level}",
    )


Rank = tuple[int, int, int]
"""Ranks of a namespace, of a feature in it and of its value: lower ones are taken first."""
Ranks = Mapping[tuple[str, str, str], Rank]
"""Rank of each property that a machine has."""

_END: Final[Rank] = (sys.maxsize, 0, 0)
"""Comes after the last property: of two variants with the same first ones, the one with more properties is first."""


def ranks_of(priorities: Priorities, machine: Machine) -> Ranks:
    """Rank the properties of a machine by the priorities of a list, then by those of the machine's providers."""
    ranks: dict[tuple[str, str, str], Rank] = {}
    for place, name in enumerate(dict.fromkeys(priorities.namespace)):
        own = machine[name].values
        features = [*dict.fromkeys((*priorities.feature.get(name, ()), *own))] if own else []
        for feature, values in own.items():
            preferred = (each for each in priorities.property.get(name, {}).get(feature, ()) if each in values)
            for number, value in enumerate(dict.fromkeys((*preferred, *values))):
                ranks[name, feature, value] = place, features.index(feature), number
    return ranks


def place_of(properties: Properties, ranks: Ranks) -> tuple[Rank, ...]:
    """Rank a fitting variant by the ranks of its properties; the lowest is taken."""
    places = (
        min(ranks[name, feature, value] for value in values if (name, feature, value) in ranks)
        for name, features in properties.items()
        for feature, values in features.items()
    )
    return (*sorted(places), _END)
