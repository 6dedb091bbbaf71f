"""A plan as ``wheelmill plan --matrix`` prints it and jobs hand it on, and the targets that it stands for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wheelmill.config.model import Config
from wheelmill.names import CudaVersion, Platform, ProjectName, ProjectVersion, PythonVersion, TorchVersion
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.system.record_files import read_record


@dataclass(frozen=True, kw_only=True)
class PlannedGroup:
    """One group: what one job builds."""

    group: str
    project: ProjectName
    version: ProjectVersion
    cuda: CudaVersion
    torch: TorchVersion | None
    platform: Platform
    pythons: str
    """All that its wheels are for, with commas between them."""
    wheels: int
    """How many it has to make."""
    run: str = ""
    """The run that has built them, so that they only have to be released; empty where nothing is built yet."""

    @property
    def filters(self) -> Filters:
        """What its job builds, whether or not that is published by now."""
        return Filters(
            projects=(self.project,),
            versions=(self.version,),
            pythons=tuple(map(PythonVersion.parse, self.pythons.split(","))),
            cudas=(self.cuda,),
            torches=(self.torch,) if self.torch else (),
            platforms=(self.platform,),
            groups=(self.group,),
            force=True,
        )


@dataclass(frozen=True, kw_only=True)
class Shard:
    """The groups of one matrix of jobs."""

    include: tuple[PlannedGroup, ...]


@dataclass(frozen=True, kw_only=True)
class MatrixPlan:
    """What ``wheelmill plan --matrix`` prints."""

    shards: tuple[Shard, ...]
    waiting: tuple[str, ...]
    """Groups for a later run: they require wheels of the others, or are more than one run takes."""

    @property
    def groups(self) -> Iterator[PlannedGroup]:
        """The groups of all shards."""
        return itertools.chain.from_iterable(shard.include for shard in self.shards)

    def targets(self, config: Config) -> tuple[BuildTarget, ...]:
        """Plan the same groups again, from the configuration of the same commit.

        Raises:
            UsageError: the configuration has no such group.
        """
        plans = (make_plan(config, group.filters, published={}) for group in self.groups)
        return tuple(itertools.chain.from_iterable(plan.targets for plan in plans))


def read_plan(path: Path) -> MatrixPlan:
    """Read a file with the output of ``wheelmill plan --matrix``.

    Raises:
        IntegrityError: it is no such file.
    """
    return read_record(path, MatrixPlan)
