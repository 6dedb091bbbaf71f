"""One wheel for several Pythons: an abi3 or py3-none wheel is built once and tried on every Python it serves.

https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/#abi-tag
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from wheelmill.plan.targets import BuildTarget, Skip


def one_wheel_for_all(targets: Sequence[BuildTarget]) -> tuple[list[BuildTarget], list[Skip]]:
    """Let the oldest Python build for the others of its group; their cells become skips that say so.

    Args:
        targets: of one package, those that differ only in Python side by side.
    """
    builders: list[BuildTarget] = []
    served: list[Skip] = []
    for _, group in itertools.groupby(targets, key=lambda target: target.cell.group):
        oldest, *others = sorted(group, key=lambda target: target.cell.python)
        pythons = tuple(target.cell.python for target in (oldest, *others))
        builders.append(replace(oldest, pythons=pythons))
        reason = f"the {oldest.package.abi} wheel that Python {oldest.cell.python} builds is for it too"
        served.extend(Skip(cell=target.cell, reason=reason) for target in others)
    return builders, served
