"""Which GPUs a package is compiled for, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from wheelmill.config.annotations import After, Either, Entry, Items
from wheelmill.config.fields import Architectures
from wheelmill.config.model.matrix import Part
from wheelmill.config.package_fields import ArchForm, Variable
from wheelmill.names import Architecture, Platform


@dataclass(frozen=True, kw_only=True)
class ArchitectureRule(Part):
    """The GPU architectures of a part of the matrix."""

    list: Architectures
    """As TORCH_CUDA_ARCH_LIST writes them."""


@dataclass(frozen=True, kw_only=True)
class ArchVariable(Entry):
    """A package's own variable for GPU architectures, where it does not read TORCH_CUDA_ARCH_LIST."""

    name: Variable
    form: ArchForm
    """``dotted`` writes 8.0;9.0, ``digits`` writes 80;90, ``cmake`` writes 80-real;90, whose 90 has PTX."""


ListedArchitectures = tuple[Architecture | ArchitectureRule, ...]
"""Architectures, or rules for them of which the first that matches decides; never both."""


def _of_one_kind(items: ListedArchitectures, _above: Mapping[str, Any]) -> ListedArchitectures:
    if len({type(item) for item in items}) > 1:
        raise ValueError("expected either GPU architectures or rules with a 'list' of them, not both")
    return items


ArchitecturesOrRules = Annotated[
    tuple[Annotated[Architecture | ArchitectureRule, Either(dict, ArchitectureRule, Architecture)], ...],
    Items(at_least=1),
    After(_of_one_kind),
]

DEFAULT_ARCHITECTURES: Final[ListedArchitectures] = (
    ArchitectureRule(
        platform=(Platform("linux", "aarch64"),),
        list=tuple(map(Architecture.parse, ("8.0", "9.0", "10.0", "11.0", "12.0+PTX"))),
    ),
    ArchitectureRule(list=tuple(map(Architecture.parse, ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")))),
)
"""Those of torch's own wheels (https://github.com/pytorch/pytorch/issues/172663), with PTX for what comes later.

Within a major, machine code runs on later minors, 12.1 among them. On Jetson it does not: 11.0 is Thor, and for 8.7,
Orin, torch has no wheels.
"""
