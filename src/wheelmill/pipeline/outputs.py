"""The objects for programs that say what jobs do: docs/reference is made from these types."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from wheelmill.wheel.label import TorchKeys


class GroupCell(TorchKeys):
    """A combination without its Python."""

    project: str
    version: str
    """Upstream's, without a label."""
    cuda: str
    """``13.0``"""
    platform: str
    """``linux_x86_64``"""


class CellOf(GroupCell):
    """A combination that a wheel is built for."""

    id: str
    python: str
    """``3.12``, ``3.13t``"""


class JobPart(TypedDict):
    """A part of a source that one of several jobs compiles."""

    number: int
    part: str
    """``2/4``"""


class MatrixGroup(GroupCell):
    """Wheels of one job."""

    group: str
    pythons: str
    """With commas between them."""
    wheels: int
    runner: str
    parts: list[JobPart]
    run: str
    """The run that has built them; empty where nothing is built yet."""
    ledger: NotRequired[str]
    """The state of the ledger that was planned with."""


class MatrixShard(TypedDict):
    """One matrix of jobs."""

    include: list[MatrixGroup]


class ShardLoad(TypedDict):
    """Estimated cost of a shard."""

    wheels: int
    size: int
    """Bytes."""
    machine_hours: float


class PlanMatrix(TypedDict):
    """Job matrices."""

    schema: Literal["wheelmill.plan-matrix/1"]
    shards: list[MatrixShard]
    loads: list[ShardLoad]
    """One for each shard."""
    waiting: list[str]
    """Groups for a later run."""
    force: bool
