"""Shards: groups that are one matrix of jobs, and whose wheels are released together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Final, TypeVar

from wheelmill.config.model import MAX_JOBS

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load that groups put on the jobs that build and release them; also used as a limit of it."""

    wheels: float = 0
    size: float = 0
    """Bytes of the wheels."""
    machine_hours: float = 0
    text: float = 0
    """Characters of the JSON that their jobs are given."""

    def __add__(self, other: Load) -> Load:
        """The load of both."""
        return Load(
            wheels=self.wheels + other.wheels,
            size=self.size + other.size,
            machine_hours=self.machine_hours + other.machine_hours,
            text=self.text + other.text,
        )

    def fits(self, limit: Load) -> bool:
        """Whether it stays within a limit."""
        return all(own <= most for own, most in zip(astuple(self), astuple(limit), strict=True))


MACHINES: Final = 20
"""Jobs that a free plan runs side by side (https://docs.github.com/en/actions/reference/limits)."""

SHARD: Final = Load(wheels=math.inf, size=30e9, machine_hours=MACHINES * 24, text=80_000)
"""The most of one shard. Its jobs end within a day. Its release has 300 minutes: the changes of 240 wheels, each with
its sidecar, bill of materials and provenance, take 142 of them right after another release, and 30 GB take 100 at 10
MB/s, down and up again. GitHub indents its JSON, which adds a third, and a job is given it in a variable: Linux takes
131,072 bytes in one (``MAX_ARG_STRLEN`` of execve(2))."""

RUN: Final = Load(wheels=math.inf, size=math.inf, machine_hours=MACHINES * 24 * 5, text=400_000)
"""The most of all shards of one run. What a part compiled is kept for a week, and the job that links it may come last.
What a job hands on is a megabyte at most, counted as UTF-16
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idoutputs)."""


def divide(items: Iterable[Item], load_of: Callable[[Item], Load], limit: Load) -> tuple[Sequence[Item], ...]:
    """Divide groups among shards, or shards among runs, in their order.

    Args:
        items: what is divided; one that is more than the limit by itself stands alone.
        load_of: what one of them asks for.
        limit: the most of what each division asks for; it is a matrix of jobs, and no longer than one may be.
    """
    divided: list[list[Item]] = []
    total = Load()
    for item in items:
        load = load_of(item)
        total += load
        if not divided or len(divided[-1]) == MAX_JOBS or not total.fits(limit):
            divided.append([])
            total = load
        divided[-1].append(item)
    return tuple(divided)
