"""The variants of a list, compared with a machine: once each, however many wheels they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wheelmill.client.records import Mismatch, TargetEnvironment
from wheelmill.client.variants.machine import Machine, machine_for, mismatches_of_properties
from wheelmill.client.variants.nvidia import code_note
from wheelmill.client.variants.order import Place, place_of, ranks_of
from wheelmill.wheel.variant import DRIVER, GPU, NAMESPACE, Properties, VariantMetadata


@dataclass(frozen=True, kw_only=True)
class ListedVariant:
    """One variant of a version."""

    properties: Properties
    """What it asks for."""
    against: tuple[Mismatch, ...]
    """Every property that the machine lacks."""
    notes: tuple[str, ...]
    """What should be known of it."""
    place: tuple[Place, ...]
    """Of those that fit, the lowest is taken; nothing for others."""


ListedVariants = Mapping[str, ListedVariant]
"""All variants of a version, by their labels."""


def compare_variants(metadata: VariantMetadata, target: TargetEnvironment, machine: Machine) -> ListedVariants:
    """Compare every variant of a list.

    Args:
        metadata: the list.
        target: its torch and its GPUs are compared for what should be known.
        machine: what the target has of the namespaces that are known here.
    """
    own, found = machine_for(metadata, machine), {}
    ranks = ranks_of(metadata.default_priorities, own)
    for label, properties in metadata.variants.items():
        against = tuple(mismatches_of_properties(properties, own))
        found[label] = ListedVariant(
            properties=properties,
            against=against,
            notes=tuple(_notes(properties, target, machine)),
            place=() if against else place_of(properties, ranks),
        )
    return found


def _notes(properties: Properties, target: TargetEnvironment, machine: Machine) -> Iterator[str]:
    features = properties.get(NAMESPACE, {})
    bounds, code = features.get(DRIVER, ()), features.get(GPU, ())
    cuda, torch = target.cuda, target.torch
    if cuda and torch and bounds and str(cuda.major) not in {bound.partition(".")[0] for bound in bounds}:
        yield f"torch {torch} here is for CUDA {cuda}, which installers do not compare with {' or '.join(bounds[:4])}"
    if code and (note := code_note(code, machine[NAMESPACE].values.get(GPU, ()), target)):
        yield note
