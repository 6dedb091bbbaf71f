"""What jobs made is brought group by group: little is on disk at once, and anybody in the run may have made it."""

import io
import os
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.github_server import CALLS_AN_HOUR, REPOSITORY, GitHub, serving
from tests.unit.release.conftest import certified_wheel
from tests.unit.release.github.conftest import FakeClock, store_on
from wheelmill import pipeline
from wheelmill.names import CudaVersion, Platform, ProjectName, ProjectVersion
from wheelmill.pipeline.deliveries import Delivery
from wheelmill.pipeline.matrix_plan import MatrixPlan, PlannedGroup, Shard
from wheelmill.release.github import JobArtifacts, Repository
from wheelmill.release.store import Publication
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.progress import QUIET, Clock
from wheelmill.system.records import write_record

GROUPS = 5
RUN = "7"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def github(clock: FakeClock) -> Iterator[GitHub]:
    with serving(GitHub(now=clock.now)) as server:
        yield server


def planned(count: int) -> MatrixPlan:
    groups = (
        PlannedGroup(
            group=f"demo-1.{number}-cu130",
            project=ProjectName("demo"),
            version=ProjectVersion(f"1.{number}"),
            cuda=CudaVersion.parse("13.0"),
            torch=None,
            platform=Platform.parse("linux_x86_64"),
            pythons="3.12",
            wheels=1,
        )
        for number in range(count)
    )
    return MatrixPlan(shards=(Shard(include=tuple(groups)),), waiting=())


def keep_wheel(github: GitHub, folder: Path, number: int, *, attempt: int = 1, size: int = 300_000) -> None:
    """Keep what a job of a group makes."""
    name = f"demo-1.{number}-py3-none-any.whl"
    wheel = certified_wheel(folder / str(attempt) / name, content=os.urandom(size).hex().encode())
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    files = {path.name: path.read_bytes() for path in (wheel.file.path, certificate_path(wheel.file.path))}
    github.artifacts.keep(int(RUN), f"wheels-0-demo-1.{number}-cu130-{attempt}", files)


def artifacts_on(github: GitHub, clock: FakeClock) -> JobArtifacts:
    repository = Repository.parse(REPOSITORY, github.environment)
    return JobArtifacts(repository, [RUN], Clock(now=clock.now, sleep=clock.sleep))


def test_a_release_of_many_groups_has_one_of_them_on_disk_at_once(
    github: GitHub, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(GROUPS):
        keep_wheel(github, tmp_path, number)
    disk = tmp_path / "disk"
    disk.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    largest = max(len(each.content) for each in github.artifacts.kept)
    seen: list[int] = []

    def watched(deliveries: Iterator[Delivery]) -> Iterator[Delivery]:
        for delivery in deliveries:
            seen.append(sum(path.stat().st_size for path in disk.rglob("*") if path.is_file()))
            yield delivery

    deliveries = pipeline.deliveries_of_runs(
        artifacts_on(github, clock), planned(GROUPS), lambda _folder, _plan: pipeline.Gate(), QUIET
    )
    done = pipeline.release_deliveries(watched(deliveries), store_on(github, clock), progress=QUIET)
    assert done.refusals == ()
    (manifest,) = done.releases
    assert len(manifest.wheels) == GROUPS
    assert len(seen) == GROUPS
    assert 0 < max(seen) < 1.5 * largest * 2  # wheels pack no further, so a group and its archive are two of it
    assert not any(path.is_file() for path in disk.rglob("*.whl"))


def test_what_cannot_be_read_is_named_and_holds_up_nothing(github: GitHub, clock: FakeClock, tmp_path: Path) -> None:
    for number in range(3):
        keep_wheel(github, tmp_path, number, size=10)
    hostile = io.BytesIO()
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("../../demo-1.1-py3-none-any.whl", b"out of the folder")
    kept = github.artifacts.kept
    kept[0] = type(kept[0])(id=1, run=7, name=kept[0].name, content=b"no archive")
    kept[1] = type(kept[1])(id=2, run=7, name=kept[1].name, content=hostile.getvalue())
    deliveries = pipeline.deliveries_of_runs(
        artifacts_on(github, clock), planned(3), lambda _folder, _plan: pipeline.Gate(), QUIET
    )
    done = pipeline.release_deliveries(deliveries, store_on(github, clock), progress=QUIET)
    (refusal,) = done.refusals
    assert str(refusal).startswith("demo-1.0-cu130 was not delivered whole: not a readable zip")
    assert [entry.filename for manifest in done.releases for entry in manifest.wheels] == ["demo-1.2-py3-none-any.whl"]


def test_artifacts_of_other_runs_groups_and_kinds_do_not_count(
    github: GitHub, clock: FakeClock, tmp_path: Path
) -> None:
    keep_wheel(github, tmp_path, 0, size=10)
    github.artifacts.keep(8, "wheels-0-demo-1.0-cu130-1", {"demo-1.0-py3-none-any.whl": b"of another run"})
    for name in ("plan-1", "wheels-0-demo-1.0-cu130", "other-0-demo-1.0-cu130-1", "wheels-x-demo-1.0-cu130-1"):
        github.artifacts.keep(int(RUN), name, {"a.json": b"{}"})
    artifacts = artifacts_on(github, clock)
    assert artifacts.of_group("demo-1.0-cu130") == (1,)
    assert artifacts.of_group("demo-1.0-cu13") == ()


def released(github: GitHub, clock: FakeClock, *, groups: int = 1) -> Publication:
    """Release what the jobs of the run kept."""
    deliveries = pipeline.deliveries_of_runs(
        artifacts_on(github, clock), planned(groups), lambda _folder, _plan: pipeline.Gate(), QUIET
    )
    return pipeline.release_deliveries(deliveries, store_on(github, clock), progress=QUIET)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.json", "a.json"], "File exists"),
        ([f"{'a' * 300}.json"], "File name too long"),
    ],
    ids=["twice", "long"],
)
def test_a_hostile_archive_holds_up_neither_its_group_nor_the_others(
    github: GitHub, clock: FakeClock, tmp_path: Path, names: list[str], said: str
) -> None:
    hostile = io.BytesIO()
    with zipfile.ZipFile(hostile, "w") as archive, warnings.catch_warnings(action="ignore"):
        for name in names:
            archive.writestr(name, b"{}")
    kept = github.artifacts.keep(int(RUN), "gpu-0-demo-1.0-cu130-1", {})
    github.artifacts.kept[0] = replace(kept, content=hostile.getvalue())
    for number in range(2):
        keep_wheel(github, tmp_path, number, size=10)
    done = released(github, clock, groups=2)
    (refusal,) = done.refusals
    assert str(refusal).startswith("demo-1.0-cu130 was not delivered whole: ")
    assert said in refusal.reason
    assert len(done.releases[0].wheels) == 2


@pytest.mark.parametrize("packed", [True, False])
def test_what_is_too_large_for_this_disk_leaves_nothing_on_it(
    github: GitHub, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, packed: bool
) -> None:
    keep_wheel(github, tmp_path, 0, size=10)
    kept: list[Path] = []
    bomb = os.urandom(200_000) if packed else bytes(200_000)
    for attempt in range(2, 6):
        github.artifacts.keep(int(RUN), f"wheels-0-demo-1.0-cu130-{attempt}", {"bomb.whl": bomb})
    monkeypatch.setattr("wheelmill.release.github.download.MAX_ARTIFACT", 100_000)
    disk = tmp_path / "disk"
    disk.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(disk))

    def gate_of(folder: Path, _plan: MatrixPlan) -> pipeline.Gate:
        kept.extend(folder.rglob("*"))
        return pipeline.Gate()

    (delivery,) = pipeline.deliveries_of_runs(artifacts_on(github, clock), planned(1), gate_of, QUIET)
    assert sorted(path.suffix for path in kept) == ["", ".json", ".whl"]
    said = "has more than the promised 100000 bytes" if packed else "more than 100000 bytes when unpacked"
    assert [said in str(refusal) for refusal in delivery.refusals] == [True] * 4


def test_a_used_up_quota_is_waited_for(github: GitHub, clock: FakeClock, tmp_path: Path) -> None:
    """Two hundred groups have six hundred artifacts, and all jobs of a repository have a thousand calls an hour."""
    keep_wheel(github, tmp_path, 0, size=10)
    artifacts = artifacts_on(github, clock)
    github.asked = [clock.time - 100] * CALLS_AN_HOUR
    (tmp_path / "unpacked").mkdir()
    artifacts.unpack(1, tmp_path / "unpacked")
    assert sum(clock.waited) == pytest.approx(3501, abs=2)
    assert len(list((tmp_path / "unpacked").glob("*.whl"))) == 1
