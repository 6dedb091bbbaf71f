"""The order in which fitting variants are preferred: https://peps.python.org/pep-0825/#variant-ordering."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from wheelmill.client.variants.machine import Machine
from wheelmill.wheel.variant import Priorities, Properties

Place = tuple[int, int, int]
"""Of a namespace, of a feature in it and of a value of that: lower ones are taken first."""

_END: Final[Place] = (sys.maxsize, 0, 0)
"""Behind the last property: of two variants that are alike up to there, the one that asks for more comes first."""


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """What counts most, by the priorities of a list: lower numbers do. A list may name as many as it has bytes for."""

    namespaces: Mapping[str, int]
    features: Mapping[str, Mapping[str, int]]
    """By namespace."""
    values: Mapping[tuple[str, str], Mapping[str, int]]
    """Of those that the machine has, by namespace and feature."""


def ranks_of(priorities: Priorities, machine: Machine) -> Ranks:
    """Number what a list names, and behind that what the providers do.

    Args:
        priorities: of the list.
        machine: what the machine has of each namespace of the list.
    """
    return Ranks(
        namespaces=_numbered(priorities.namespace),
        features={name: _numbered(priorities.feature.get(name, ()), each.values) for name, each in machine.items()},
        values={
            (name, feature): _numbered(
                (value for value in priorities.property.get(name, {}).get(feature, ()) if value in values), values
            )
            for name, each in machine.items()
            for feature, values in each.values.items()
        },
    )


def place_of(properties: Properties, ranks: Ranks) -> tuple[Place, ...]:
    """Where a variant that fits stands; the lowest is taken.

    Args:
        properties: what it asks for.
        ranks: those of the list that has it.
    """
    return (
        *sorted(
            (
                ranks.namespaces[name],
                ranks.features[name][feature],
                min(ranks.values[name, feature].get(value, sys.maxsize) for value in values),
            )
            for name, features in properties.items()
            for feature, values in features.items()
        ),
        _END,
    )


def _numbered(*texts: Iterable[str]) -> Mapping[str, int]:
    return {text: number for number, text in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
