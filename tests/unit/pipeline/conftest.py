"""What tests of several stages plan."""

from wheelmill.names import StableTorch
from wheelmill.pipeline.matrix_plan import PlannedGroup
from wheelmill.plan.targets import Cell


def planned_group(cell: Cell, group: str = "") -> PlannedGroup:
    """The group of one wheel, under its own name or another."""
    assert not isinstance(cell.torch, StableTorch)
    return PlannedGroup(
        group=group or cell.group,
        project=cell.project,
        version=cell.version,
        cuda=cell.cuda,
        torch=cell.torch,
        platform=cell.platform,
        pythons=str(cell.python),
        wheels=1,
    )
