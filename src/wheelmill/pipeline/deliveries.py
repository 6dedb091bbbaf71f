"""Deliveries: tested wheels on their way to a release, from a folder, or group by group from the jobs of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wheelmill.errors import NetworkError, RejectedError, UnreadableError
from wheelmill.pipeline.gate import Gate, delivered_in
from wheelmill.pipeline.matrix_plan import MatrixPlan, Shard
from wheelmill.release.publish import publish_each
from wheelmill.release.store import Publication, RefusedWheel, Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.folders import remove_tree, temporary_folder
from wheelmill.system.progress import Progress

if TYPE_CHECKING:  # its client takes longer to import than a plan to make
    from wheelmill.release.github import JobArtifacts


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A folder of wheels on their way to a release."""

    folder: Path
    """The folder of the wheels and their certificates, or of folders with such wheels."""
    gate: Gate
    """Decides which wheels may be released."""
    refusals: tuple[RefusedWheel, ...] = ()
    """Wheels that could not be read."""


def release_deliveries(
    deliveries: Iterable[Delivery],
    store: Store,
    *,
    attestation: str | None = None,
    progress: Progress,
    until: float | None = None,
) -> Publication:
    """Publish the wheels that their gates admit.

    Args:
        deliveries: the wheels; each delivery is on disk until the next one is asked for.
        store: the store that gets the new releases.
        attestation: the address of the attestation of all these wheels.
        progress: shows the steps that take long.
        until: when to stop taking wheels, in seconds since the epoch.

    Raises:
        ReleaseError: the store cannot be read or written.
    """
    refused: list[RefusedWheel] = []

    def admitted() -> Iterator[list[TestedWheel]]:
        for delivery in deliveries:
            wheels, refusals = delivery.gate.admit(delivered_in(delivery.folder, "whl"))
            refused.extend((*delivery.refusals, *refusals))
            yield [replace(wheel, attestation=attestation) for wheel in wheels]

    publication = publish_each(store, admitted(), now=store.clock.utc(), progress=progress, until=until)
    return replace(publication, refusals=(*refused, *publication.refusals))


def deliveries_of_runs(
    artifacts: JobArtifacts,
    plan: MatrixPlan,
    gate_of: Callable[[Path, MatrixPlan], Gate],
    progress: Progress,
) -> Iterator[Delivery]:
    """Download what the jobs of runs made of a plan, one group at a time, to save disk space.

    Args:
        artifacts: what the jobs kept, and anybody in the runs may have put there.
        plan: its groups are wanted; a group delivers only its own wheels.
        gate_of: makes the gate for what lies in a folder and was planned.
        progress: shows each group.
    """
    groups = list(plan.groups)
    for number, group in enumerate(groups, start=1):
        if not (kept := artifacts.of_group(group.group)):
            continue
        progress.step(f"{group.group} ({number} of {len(groups)})")
        refusals: list[RefusedWheel] = []
        with temporary_folder() as folder:
            for artifact in kept:
                own = folder / str(artifact)
                own.mkdir()
                try:
                    artifacts.unpack(artifact, own)
                except (NetworkError, RejectedError, UnreadableError) as error:
                    remove_tree(own)
                    reason = f"was not delivered whole: {error}"
                    refusals.append(RefusedWheel(filename=group.group, code=error.code, reason=reason))
            planned = MatrixPlan(shards=(Shard(include=(group,)),), waiting=())
            yield Delivery(folder=folder, gate=gate_of(folder, planned), refusals=tuple(refusals))
