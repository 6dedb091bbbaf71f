"""Plan that ``wheelmill plan --matrix`` prints for the jobs of a workflow, and its targets."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wheelmill.config.model.config import Config
from wheelmill.names import CudaVersion, Platform, ProjectName, ProjectVersion, PythonVersion, TorchVersion
from wheelmill.plan.groups import RUN, SHARD, Group, Load, cost_of, divide, groups_of, waiting_groups
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Cell, Filters, PastBuilds, Plan
from wheelmill.release.ledger.records import UnreleasedGroup
from wheelmill.release.store import Quotas
from wheelmill.wheel.label import torch_in_json

if TYPE_CHECKING:
    from wheelmill.pipeline.outputs import CellOf, MatrixGroup, PlanMatrix


@dataclass(frozen=True, kw_only=True)
class PlannedGroup:
    """Group of wheels that one job builds."""

    group: str
    project: ProjectName
    version: ProjectVersion
    cuda: CudaVersion
    torch: TorchVersion | None
    platform: Platform
    pythons: str
    """The Pythons of its wheels, separated by commas."""
    wheels: int
    run: str = ""
    """The run that built them already, so that they only have to be released; empty if they are yet to be built."""

    @property
    def filters(self) -> Filters:
        """Filters for the targets that its job builds, even those that were published meanwhile."""
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
    """Groups of one matrix of jobs."""

    include: tuple[PlannedGroup, ...]


@dataclass(frozen=True, kw_only=True)
class MatrixPlan:
    """Output of ``wheelmill plan --matrix``."""

    shards: tuple[Shard, ...]
    waiting: tuple[str, ...]
    """Groups for a later run: they require wheels of the others, or are more than one run takes."""

    @property
    def groups(self) -> Iterator[PlannedGroup]:
        """Groups of all shards."""
        return itertools.chain.from_iterable(shard.include for shard in self.shards)

    def targets(self, config: Config) -> tuple[BuildTarget, ...]:
        """Plan the same groups again; raises UsageError if the configuration has no such group."""
        plans = (make_plan(config, group.filters, published={}) for group in self.groups)
        return tuple(itertools.chain.from_iterable(plan.targets for plan in plans))


def matrix_content(
    planned: Plan,
    quotas: Quotas,
    past: PastBuilds,
    unreleased: Mapping[str, UnreleasedGroup] | None = None,
    ledger: str | None = None,
    *,
    force: bool = False,
) -> PlanMatrix:
    """Return the shards of one run as GitHub reads them, ``{include: [...]}``, and the groups for a later run.

    Shards keep within ``quotas``, the limits of the place for releases, and are cut by the cost of ``past`` wheels.
    Groups in ``unreleased`` were built by an earlier run and have shards of their own. Jobs read the state ``ledger``
    without asking for the newest. ``force`` builds published wheels again.
    """
    groups, dependent = groups_of(planned), waiting_groups(planned)
    ready = [group for group in groups if group.id not in dependent]
    built_by = {name: group.run for name, group in (unreleased or {}).items()}
    contents = {group.id: group_content(group, built_by.get(group.id, ""), ledger) for group in ready}

    def load_of(group: Group) -> Load:
        cost = cost_of(group, past)
        return Load(
            wheels=len(group.targets),
            size=cost.size,
            machine_hours=0 if group.id in built_by else sum(cost.jobs),
            text=len(json.dumps(contents[group.id])),
            artifacts=group.artifacts,
        )

    loads = {group.id: load_of(group) for group in ready}
    limit = replace(SHARD, wheels=quotas.wheels or SHARD.wheels)
    runs: dict[str, list[Group]] = {}
    for group in ready:
        runs.setdefault(built_by.get(group.id, ""), []).append(group)
    divided = [shard for own in runs.values() for shard in divide(own, lambda group: loads[group.id], limit)]

    def load_of_all(shard: Sequence[Group]) -> Load:
        return sum((loads[group.id] for group in shard), Load())

    shards, *_later = divide(divided, load_of_all, RUN) or [()]
    taken = {group.id for shard in shards for group in shard}
    return {
        "schema": "wheelmill.plan-matrix/1",
        "shards": [{"include": [contents[group.id] for group in shard]} for shard in shards],
        "loads": [
            {"wheels": int(load.wheels), "size": int(load.size), "machine_hours": round(load.machine_hours, 1)}
            for load in map(load_of_all, shards)
        ],
        "waiting": [group.id for group in groups if group.id not in taken],
        "force": force,
    }


def group_content(group: Group, run: str = "", ledger: str | None = None) -> MatrixGroup:
    """Return a group in the form that a job reads."""
    cell = cell_content(group.targets[0].cell)
    parts = range(1, group.parts + 1) if group.parts > 1 else ()
    content: MatrixGroup = {
        "project": cell["project"],
        "version": cell["version"],
        "cuda": cell["cuda"],
        "torch": cell["torch"],
        "torch_abi": cell["torch_abi"],
        "platform": cell["platform"],
        "group": group.id,
        "pythons": ",".join(str(python) for target in group.targets for python in target.pythons),
        "wheels": len(group.targets),
        "runner": group.runner,
        "parts": [{"number": number, "part": f"{number}/{group.parts}"} for number in parts],
        "run": run,
    }
    if ledger:
        content["ledger"] = ledger
    return content


def cell_content(cell: Cell) -> CellOf:
    """Return a cell in its JSON form."""
    return {
        "id": cell.id,
        "project": cell.project,
        "version": cell.version,
        "python": str(cell.python),
        "cuda": str(cell.cuda),
        **torch_in_json(cell.torch),
        "platform": str(cell.platform),
    }
