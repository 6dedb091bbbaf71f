"""The variant properties that a machine has, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.records import Aspect, Mismatch, TargetEnvironment
from wheelmill.client.variants.namespace import Namespace
from wheelmill.client.variants.nvidia import nvidia_of
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import read_requirement
from wheelmill.system.hardware import x86_64_level
from wheelmill.web.pages import shown
from wheelmill.wheel.variant import NAMESPACE, PROVIDERS, Properties, Provider, VariantMetadata

Machine = Mapping[str, Namespace]
"""Namespaces by their name."""

_BUILT_IN: Final = {
    NAMESPACE: ("nvidia-variant-provider", Version("0.0.1"), PROVIDERS[NAMESPACE].plugin_api),
    "x86_64": ("x86-64-variant-provider", Version("0.2.1"), "x86_64_variant_provider"),
}
"""Providers that uv 0.13 stands in for, and the version of each that it has: lists that require another one it passes
over, and so do we."""
_ABI_DEPENDENCY: Final = "abi_dependency"
_SHOWN: Final = 12
"""Values of a feature, in text."""
_X86_64: Final = frozenset({"x86_64", "amd64"})


def machine_of(target: TargetEnvironment, facts: Compatibility) -> Machine:
    """What a target has of the namespaces that are known here.

    Raises:
        UsageError: a variable of a provider has no version.
    """
    return {NAMESPACE: nvidia_of(target, facts), "x86_64": _processor_of(target)}


def machine_for(metadata: VariantMetadata, machine: Machine) -> Machine:
    """The namespaces of one list: those with a provider that is not known have nothing, and say so."""
    return {
        name: machine[name]
        if _is_built_in(name, metadata.providers.get(name))
        else Namespace(values={}, says=_why_unknown(name, metadata.providers.get(name)))
        for name in metadata.default_priorities.namespace
    }


def mismatches_of_properties(properties: Properties, machine: Machine) -> Iterator[Mismatch]:
    """Give every property that a machine lacks: of each feature it must have one value."""
    for name, features in properties.items():
        for feature, values in features.items():
            if frozenset(values).isdisjoint(machine[name].values.get(feature, ())):
                asked = property_text(name, feature, values)
                yield Mismatch(aspect=Aspect.VARIANT, reason=f"asks for {asked}; {machine[name].says}")


def property_text(namespace: str, feature: str, values: tuple[str, ...]) -> str:
    """``nvidia :: sm_arch :: 80_real or 90_real``, as PEP 825 writes properties; of many values the first."""
    more = len(values) - _SHOWN
    named = " or ".join(values[:_SHOWN])
    return f"{namespace} :: {feature} :: {named}{f' or {more} more' if more > 0 else ''}"


def _is_built_in(namespace: str, provider: Provider | None) -> bool:
    if namespace not in _BUILT_IN or provider is None or provider.optional or not provider.requires:
        return False
    project, version, plugin_api = _BUILT_IN[namespace]
    with suppress(ValueError):
        required = [*map(read_requirement, provider.requires)]
        fits = all(canonicalize_name(each.name) == project and version in each.specifier for each in required)
        return fits and provider.plugin_api == plugin_api
    return False


def _why_unknown(namespace: str, provider: Provider | None) -> str:
    if namespace == _ABI_DEPENDENCY:
        return "no installer compares that with what is installed: uv passes over it"
    if provider is None:
        return "the list names no provider that could be asked"
    if provider.optional:
        return "its provider is optional, and installers ask no optional ones"
    named = " or ".join(filter(None, (provider.plugin_api, ", ".join(provider.requires)))) or "without a name"
    return f"what this machine has of that is not known: the provider, {shown(named)}, is neither uv's nor ours"


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
