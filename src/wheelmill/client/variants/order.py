"""Which of several variants that fit is taken: https://peps.python.org/pep-0825/#variant-ordering."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from wheelmill.client.variants.machine import Machine
from wheelmill.wheel.variant_metadata import Priorities, Properties

Place = tuple[int, int, int]
"""Of a namespace, of a feature in it and of a value of that: lower ones are taken first."""

_END: Final[Place] = (sys.maxsize, 0, 0)
"""Behind the last property: of two variants that are alike up to there, the one that asks for more comes first."""


def place_of(properties: Properties, priorities: Priorities, machine: Machine) -> tuple[Place, ...]:
    """Where a variant that fits stands; the lowest is taken.

    Args:
        properties: what it asks for.
        priorities: of the list that has it.
        machine: what the machine has of each namespace of the list.
    """
    return (
        *sorted(
            (
                priorities.namespace.index(name),
                _features(name, priorities, machine).index(feature),
                min(map(_values(name, feature, priorities, machine).index, _fitting(name, feature, values, machine))),
            )
            for name, features in properties.items()
            for feature, values in features.items()
        ),
        _END,
    )


def _features(namespace: str, priorities: Priorities, machine: Machine) -> Sequence[str]:
    """What the list says of their order, then the provider's."""
    return list(dict.fromkeys((*priorities.feature.get(namespace, ()), *machine[namespace].values)))


def _values(namespace: str, feature: str, priorities: Priorities, machine: Machine) -> Sequence[str]:
    own = priorities.property.get(namespace, {}).get(feature, ())
    return list(dict.fromkeys((*own, *machine[namespace].values[feature])))


def _fitting(namespace: str, feature: str, values: Sequence[str], machine: Machine) -> Sequence[str]:
    return [value for value in values if value in machine[namespace].values[feature]]
