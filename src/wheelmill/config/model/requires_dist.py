"""What wheels require, where a package says otherwise than its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.config.annotations import After, Entry, Items
from wheelmill.config.fields import Name, Requirements


def _each_once(requirements: tuple[str, ...], above: Mapping[str, Any]) -> tuple[str, ...]:
    names = projects_of(requirements)
    if "torch" in names:
        raise ValueError("what wheels require of torch comes from the torch that they are built for")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{twice[0]} is here more than once")
    for key, others in above.items():
        if both := [name for name in names if name in projects_of(others)]:
            raise ValueError(f"{both[0]} is also under '{key}'")
    return requirements


@dataclass(frozen=True, kw_only=True)
class RequiresDist(Entry):
    """Changes to the requirements in a wheel's METADATA, each of another project."""

    remove: Annotated[tuple[Name, ...], Items(), After(_each_once)] = ()
    """Projects that are no longer required, whatever the extra or the environment that they were required for."""
    replace: Annotated[Requirements, After(_each_once)] = ()
    """Requirements that take the place of all that is required of the same project."""
    add: Annotated[Requirements, After(_each_once)] = ()
    """Requirements on projects that were not required."""


def projects_of(requirements: Iterable[str]) -> tuple[str, ...]:
    """The names of the projects that are required, normalized."""
    return tuple(canonicalize_name(Requirement(text).name) for text in requirements)
