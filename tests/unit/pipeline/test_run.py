"""Targets taken the whole way: what is kept when out of time, and what stands where."""

import importlib
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.build.conftest import PROVENANCE
from tests.unit.plan.conftest import target
from tests.unit.plan.examples import CONFIG
from tests.unit.release.conftest import certified_wheel
from wheelmill import pipeline
from wheelmill.build.local import LocalBuilder
from wheelmill.build.provenance import BuiltWheel, keep_provenance
from wheelmill.errors import BuildError, UsageError
from wheelmill.plan.targets import BuildTarget, Plan
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.store import Store
from wheelmill.smoke.local import LocalEnvironments
from wheelmill.smoke.verdict import Verdict
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelFile

FAST, SLOW, BROKEN = (target(python=version) for version in ("3.11", "3.12", "3.13"))


def build(built: BuildTarget, *_: object, output: Path, **__: object) -> BuiltWheel:
    """Build as if: the slow one takes a minute."""
    if built == BROKEN:
        raise BuildError("it does not build")
    if built == SLOW:
        time.sleep(60)
    abi = built.cell.python.abi
    file = certified_wheel(output / f"demo-1.0-{abi}-{abi}-linux_x86_64.whl").file
    wheel = BuiltWheel(file=file, provenance=PROVENANCE)
    keep_provenance(wheel)
    return wheel


def examine_wheel(file: Any, *_: object, **__: object) -> Verdict:
    certificate = certified_wheel(file.path).certificate
    return Verdict(
        file=file, provenance=None, findings=(), evidence=certificate.evidence, clean_rooms=certificate.clean_rooms
    )


@pytest.fixture(autouse=True)
def _as_if(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("wheelmill.pipeline.run")  # the package's own name for it is the function
    monkeypatch.setattr(module, "build_wheel", build)
    monkeypatch.setattr(module, "examine_wheel", examine_wheel)


def run(
    targets: tuple[BuildTarget, ...], folder: Path, *, store: Store | None = None, **options: Any
) -> pipeline.RunOutcome:
    factory = pipeline.Factory(
        builder=LocalBuilder(),
        environments=LocalEnvironments(),
        policy="auto",
        store=store or DirectoryStore(directory=folder / "releases"),
        config=CONFIG,
        output=folder,
        progress=Progress(),
    )
    return pipeline.run(Plan(targets=targets, skips=()), factory, **options)


def test_what_is_done_when_the_time_is_over_is_kept(tmp_path: Path) -> None:
    report = run((BROKEN, FAST, SLOW, FAST), tmp_path, seconds=1.5)
    assert report.left == (SLOW, FAST)
    assert [failure.id for failure in report.failures] == [BROKEN.cell.id]
    assert len(report.releases) == 1
    assert [path.name for path in tmp_path.glob("releases/*/*.whl")] == [
        path.name for path in tmp_path.glob("wheels/*.whl")
    ]


def test_a_run_until_smoke_leaves_the_wheels_that_passed_with_their_records(tmp_path: Path) -> None:
    report = run((FAST, BROKEN), tmp_path, publishes=False)
    assert report.releases == ()
    (wheel,) = tmp_path.glob("wheels/*.whl")
    assert {path.name.removeprefix(wheel.name) for path in tmp_path.glob("wheels/*")} == {
        "",
        ".built.json",
        ".tested.json",
    }
    assert not (tmp_path / "releases").exists()
    assert not (tmp_path / "site").exists()
    store = DirectoryStore(directory=tmp_path / "releases")
    (manifest,) = pipeline.release_folder(tmp_path / "wheels", store, pipeline.Gate(), progress=Progress()).releases
    assert [entry.filename for entry in manifest.wheels] == [wheel.name]


class Choosy(DirectoryStore):
    def reason_to_refuse(self, wheel: WheelFile) -> str:  # noqa: ARG002 - it takes nothing
        return "is for newer machines"


def test_what_the_store_will_not_take_is_not_tried_out(tmp_path: Path) -> None:
    report = run((FAST,), tmp_path, store=Choosy(directory=tmp_path / "releases"), publishes=False)
    (failure,) = report.failures
    assert isinstance(failure.error, BuildError)
    assert str(failure.error) == "demo-1.0-cp311-cp311-linux_x86_64.whl is for newer machines"
    assert report.verdicts == ()
    assert not (tmp_path / "wheels").exists()


class Locked(DirectoryStore):
    def check_can_publish(self) -> None:
        raise UsageError("there is no token")


def test_nothing_is_built_for_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    store = Locked(directory=tmp_path / "releases")
    with pytest.raises(UsageError):
        run((FAST,), tmp_path, store=store)
    assert list(tmp_path.iterdir()) == []
    assert len(run((FAST,), tmp_path, store=store, publishes=False).verdicts) == 1
