"""Three full shards that are ready at the same time, on a host that allows 500 changes an hour: all are released."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.github_server import GitHub, serving
from tests.sigstore_instance import Sigstore
from tests.unit.release.conftest import NOW, certified_wheel
from tests.unit.release.github.conftest import FakeClock, store_on
from wheelmill.release.github.store import MAX_WHEELS
from wheelmill.release.publish import publish_each
from wheelmill.release.store import Publication
from wheelmill.smoke.verdict import TestedWheel

pytestmark = [pytest.mark.real, pytest.mark.nightly]

SHARDS = 3
JOB = 300 * 60
"""Seconds that a job has for its release."""


@dataclass
class Jobs:
    """Jobs that start one after the other, as those of one group of concurrency do."""

    done: list[Publication] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def attested_wheel(path: Path) -> TestedWheel:
    """A wheel that a job attested, by itself and with its METADATA."""
    wheel = certified_wheel(path)
    own = {path.name: wheel.file.sha256}
    both = {**own, f"{path.name}.metadata": "0" * 64}
    return replace(wheel, bundles=(Sigstore().attest(both), Sigstore().attest(own)))


def test_three_shards_of_240_wheels_are_released(tmp_path: Path) -> None:
    clock, jobs = FakeClock(), Jobs()
    shards = [
        [attested_wheel(tmp_path / f"demo-{shard}.{number}-py3-none-any.whl") for number in range(MAX_WHEELS)]
        for shard in range(SHARDS)
    ]
    with serving(GitHub(now=clock.now)) as github:
        began = clock.time
        for wheels in shards:
            started = clock.time
            deliveries = [wheels[first : first + 5] for first in range(0, len(wheels), 5)]
            jobs.done.append(publish_each(store_on(github, clock), deliveries, now=NOW, until=started + JOB))
            jobs.seconds.append(clock.time - started)
        assert not any(each.over or each.refusals for each in jobs.done)
        published = github.published()
        assert [len(files) for files in published.values()] == [4 * MAX_WHEELS + 2] * SHARDS
        assert max(sum(0 <= at - start < 3600 for at in github.writes) for start in github.writes) <= 500
        seconds = [round(each) for each in jobs.seconds]
        print(f"{clock.time - began:.0f} s: {seconds}; changes: {len(github.writes)}; calls: {len(github.calls)}")  # noqa: T201 - pytest shows it
