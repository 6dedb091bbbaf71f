"""Targets taken the whole way: what is kept when out of time, and what stands where."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.releases import NOW, stopped_at, store_in
from tests.unit.build.conftest import PROVENANCE
from tests.unit.plan.conftest import target
from tests.unit.plan.examples import CONFIG
from tests.unit.release.conftest import certified_wheel
from wheelmill.build.builder import BuildTask
from wheelmill.build.local import LocalBuilder
from wheelmill.build.provenance import BuiltWheel, identity_of, inputs_of, keep_provenance, provenance_of, this_machine
from wheelmill.config.model.package_parts import RequiresDist
from wheelmill.errors import BuildError, SiteError, UsageError
from wheelmill.names import project_name
from wheelmill.pipeline import run as run_module
from wheelmill.pipeline.attested import Delivery, release_deliveries
from wheelmill.pipeline.gate import Gate
from wheelmill.pipeline.run import Factory, RunOutcome, check_testable
from wheelmill.pipeline.run import run as run_plan
from wheelmill.plan.targets import BuildTarget, Plan
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.release.store import Store
from wheelmill.smoke.environment import LocalEnvironments
from wheelmill.smoke.verdict import Verdict
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

FAST, SLOW, BROKEN = (target(python=version) for version in ("3.11", "3.12", "3.13"))


def build(built: BuildTarget, *_: object, output: Path, **__: object) -> BuiltWheel:
    """Build as if: the slow one takes a minute."""
    if built == BROKEN:
        raise BuildError("build-failed", "it does not build")
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
        file=file,
        provenance=provenance_of(file),
        findings=(),
        evidence=certificate.evidence,
        clean_rooms=certificate.clean_rooms,
    )


@pytest.fixture(autouse=True)
def _as_if(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "build_wheel", build)
    monkeypatch.setattr(run_module, "examine_wheel", examine_wheel)


@pytest.fixture
def with_provenance(monkeypatch: pytest.MonkeyPatch, _as_if: None) -> None:
    """Wheels say what they were built from, and their certificates too."""

    def build_so(target: BuildTarget, *_: object, output: Path, **__: object) -> BuiltWheel:
        cell = target.cell
        name = f"demo-{cell.label.on(cell.version)}-{cell.python.abi}-{cell.python.abi}-linux_x86_64.whl"
        file = certified_wheel(output / name).file
        inputs = identity_of(inputs_of(target, this_machine(), "auto"))
        wheel = BuiltWheel(file=file, provenance=replace(PROVENANCE, sha256=file.sha256, inputs=inputs))
        keep_provenance(wheel)
        return wheel

    def examine_so(file: WheelFile, *_: object, **__: object) -> Verdict:
        content = file.path.read_bytes()
        verdict = replace(examine_wheel(file), provenance=provenance_of(file))
        file.path.write_bytes(content)  # which that wrote anew, at another time
        return verdict

    monkeypatch.setattr(run_module, "build_wheel", build_so)
    monkeypatch.setattr(run_module, "examine_wheel", examine_so)


def run(
    targets: tuple[BuildTarget, ...],
    folder: Path,
    *,
    store: Store | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> RunOutcome:
    factory = Factory(
        builder=LocalBuilder(),
        environments=LocalEnvironments(compatibility=CONFIG.compatibility),
        policy="auto",
        store=store or store_in(folder / "releases"),
        config=CONFIG,
        output=folder,
        progress=progress or Progress(),
    )
    return run_plan(Plan(targets=targets, skips=()), factory, **options)


def names_in(folder: Path, pattern: str) -> list[str]:
    return [path.name for path in folder.glob(pattern)]


def test_what_is_done_when_the_time_is_over_is_kept(tmp_path: Path) -> None:
    report = run((BROKEN, FAST, SLOW, FAST), tmp_path, seconds=1.5)
    assert report.left == (SLOW, FAST)
    assert [failure.id for failure in report.failures] == [BROKEN.cell.id]
    assert len(report.releases) == 1
    assert names_in(tmp_path, "releases/*/*.whl") == names_in(tmp_path, "wheels/*.whl")


def test_a_run_until_smoke_leaves_the_wheels_that_passed_with_their_records(tmp_path: Path) -> None:
    report = run((FAST, BROKEN), tmp_path, publishes=False)
    assert report.releases == ()
    (wheel,) = tmp_path.glob("wheels/*.whl")
    records = (f"{wheel.name}.built.json", f"{wheel.name}.tested.json")
    assert {*names_in(tmp_path, "wheels/*")} == {wheel.name, *records}
    assert not (tmp_path / "releases").exists()
    assert not (tmp_path / "site").exists()
    store = store_in(tmp_path / "releases")
    made = Delivery(folder=tmp_path / "wheels", gate=Gate())
    (manifest,) = release_deliveries([made], store, progress=Progress()).releases
    assert [entry.filename for entry in manifest.wheels] == [wheel.name]


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(), UsageError("ended", "ended")])
def test_an_ended_run_releases_what_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException) -> None:
    def ending(built: BuildTarget, *arguments: object, output: Path, **others: object) -> BuiltWheel:
        if built == SLOW:
            raise end
        return build(built, *arguments, output=output, **others)

    monkeypatch.setattr(run_module, "build_wheel", ending)
    with pytest.raises(type(end)):
        run((FAST, SLOW), tmp_path)
    assert names_in(tmp_path, "releases/*/*.whl") == names_in(tmp_path, "wheels/*.whl")
    assert (tmp_path / "site" / "wheels.json").exists()


def test_other_peoples_files_in_the_place_of_the_site_are_refused_before_a_build(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "CNAME").write_text("wheels.example")  # which stays
    run((FAST,), tmp_path)
    assert (tmp_path / "site" / "wheels.json").exists()
    (tmp_path / "other" / "site").mkdir(parents=True)
    (tmp_path / "other" / "site" / "index.html").write_text("mine")
    with pytest.raises(SiteError, check=coded("site-would-replace", "index.html")):
        run((FAST,), tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir() if not path.name.startswith(".")] == ["site"]


def interrupted(*_arguments: object, **_others: object) -> BuiltWheel:
    raise KeyboardInterrupt


def test_an_ended_run_without_results_publishes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "build_wheel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run((FAST,), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("with_provenance")
@pytest.mark.parametrize("folder", ["wheels", "built"])
def test_after_a_kill_a_passed_wheel_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    run((FAST,), tmp_path, publishes=False)
    (tmp_path / "built").rmdir()
    (tmp_path / "wheels").rename(tmp_path / folder)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "build_wheel", pytest.fail)
        report = run((FAST,), tmp_path)
    assert len(report.verdicts) == len(report.releases) == 1
    assert len(list(tmp_path.glob("wheels/*.whl"))) == 1
    assert list(tmp_path.glob("built/*")) == []


@pytest.mark.usefixtures("with_provenance")
def test_a_wheel_that_passed_is_built_again_with_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run((FAST,), tmp_path, publishes=False)
    monkeypatch.setattr(run_module, "build_wheel", interrupted)
    assert len(run((FAST,), tmp_path, publishes=False).verdicts) == 1
    with pytest.raises(KeyboardInterrupt):
        run((FAST,), tmp_path, publishes=False, force=True)


@pytest.mark.usefixtures("with_provenance")
def test_a_wheel_that_passed_is_built_again_when_its_inputs_changed(tmp_path: Path) -> None:
    run((FAST,), tmp_path, publishes=False)
    (wheel,) = tmp_path.glob("wheels/*.whl")
    before = wheel.stat().st_mtime_ns
    changed = replace(FAST, package=replace(FAST.package, env={"CHANGED": "1"}))
    assert len(run((changed,), tmp_path).releases) == 1
    assert wheel.stat().st_mtime_ns > before


@pytest.mark.usefixtures("with_provenance")
def test_a_wheel_that_grew_is_told_and_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run((FAST,), tmp_path)
    build_small = vars(run_module)["build_wheel"]

    def build_large(built: BuildTarget, *arguments: object, output: Path, **others: object) -> BuiltWheel:
        small = build_small(built, *arguments, output=output, **others)
        file = certified_wheel(small.file.path, content=os.urandom(5000)).file
        wheel = BuiltWheel(file=file, provenance=replace(small.provenance, sha256=file.sha256))
        keep_provenance(wheel)
        return wheel

    monkeypatch.setattr(run_module, "build_wheel", build_large)
    report = run((FAST,), tmp_path, force=True)
    (finding,) = report.verdicts[0].findings
    assert finding.code is Code.GROWN
    (tag,) = report.releases
    (wheel,) = json.loads((tmp_path / "releases" / tag / "manifest.json").read_text())["wheels"]
    assert wheel["certificate"]["findings"][0]["code"] == "grown"


def test_a_wheel_that_another_run_published_meanwhile_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine_late(file: WheelFile, *_: object, **__: object) -> Verdict:
        other = certified_wheel(tmp_path / "other" / file.filename, content=b"other")
        publish(store_in(tmp_path / "releases"), [other], now=NOW)
        return examine_wheel(file)

    monkeypatch.setattr(run_module, "examine_wheel", examine_late)
    progress = RecordedProgress()
    (failure,) = run((FAST,), tmp_path, progress=progress).failures
    assert coded("gate-refused", "different content")(failure.error)
    assert str(failure.error) in progress.steps


class Choosy(DirectoryStore):
    def reason_to_refuse(self, wheel: WheelFile) -> str:  # noqa: ARG002 - it takes nothing
        return "is for newer machines"


def test_what_the_store_will_not_take_is_not_tried_out(tmp_path: Path) -> None:
    store = Choosy(directory=tmp_path / "releases", clock=stopped_at(NOW))
    report = run((FAST,), tmp_path, store=store, publishes=False)
    (failure,) = report.failures
    assert isinstance(failure.error, BuildError)
    assert str(failure.error) == "demo-1.0-cp311-cp311-linux_x86_64.whl is for newer machines"
    assert report.verdicts == ()
    assert not (tmp_path / "wheels").exists()


class Locked(DirectoryStore):
    def check_can_publish(self) -> None:
        raise UsageError("value-invalid", "there is no token")


def test_nothing_is_built_for_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    store = Locked(directory=tmp_path / "releases", clock=stopped_at(NOW))
    with pytest.raises(UsageError):
        run((FAST,), tmp_path, store=store)
    assert list(tmp_path.iterdir()) == []
    assert len(run((FAST,), tmp_path, store=store, publishes=False).verdicts) == 1


def task_for(built: BuildTarget, folder: Path) -> BuildTask:
    return BuildTask(target=built, source=folder, workspace=folder, log=folder / "log", progress=Progress())


def refuse(_environments: LocalEnvironments, target: BuildTarget, *_: object) -> None:
    raise BuildError("smoke-unsatisfiable", f"{target.cell.id} could not be tested")


def test_an_untestable_one_is_not_compiled_or_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build_checked(built: BuildTarget, *_: object, check: Callable[[BuildTask], None], **__: object) -> BuiltWheel:
        check(task_for(built, tmp_path))
        pytest.fail("it is compiled")

    monkeypatch.setattr(run_module, "build_wheel", build_checked)
    monkeypatch.setattr(LocalEnvironments, "check", refuse)
    store = store_in(tmp_path / "releases")
    report = run((FAST,), tmp_path, store=store)
    assert [(failure.id, failure.error.code) for failure in report.failures] == [(FAST.cell.id, "smoke-unsatisfiable")]
    assert store.ledger.read().failures == {}


@pytest.mark.parametrize(
    ("dependencies", "changes", "known"),
    [
        ("['numpy>=2', 'einops']", None, ["einops", "numpy>=2"]),
        ("['torch>=2.13', 'demo[gpu]', 'Beside>=1', 'numpy']", None, ["numpy"]),  # those come from elsewhere
        (
            "['a<1', 'b<1', 'c']",
            RequiresDist(remove=(project_name("a"),), replace=("b>2",), add=("d",)),
            ["c", "b>2", "d"],
        ),
        ("'numpy'", None, []),
        ("['numpy @ https://files.example/numpy.zip']", None, []),
        (r'["numpy\n--index-url http://127.0.0.1:9/"]', None, []),
        ("['-r /etc/passwd']", None, []),
        ("['numpy'", RequiresDist(add=("d",)), ["d"]),
    ],
)
def test_requirements_are_those_that_the_source_and_its_entry_name(
    dependencies: str, changes: RequiresDist | None, known: list[str], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'demo'\ndependencies = {dependencies}\n")
    package = replace(FAST.package, requires_dist=changes, requires=(project_name("beside"),))
    task = task_for(replace(FAST, package=package), tmp_path)
    environments = create_autospec(LocalEnvironments, instance=True)
    check_testable(environments, task)
    environments.check.assert_called_once_with(task.target, known, task.progress)
