"""The one folder that all builds of a group share, one after the other."""

import os
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import CELL, TARGET, target_of
from wheelmill.build.builder import BuildTask, Compiled, build_part, build_wheel, workspace_of
from wheelmill.build.compiler_cache import BuildPart, CompiledPart
from wheelmill.build.local import LocalBuilder
from wheelmill.errors import BuildError
from wheelmill.system.progress import QUIET, Progress


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_it_is_empty_whatever_a_build_left(tmp_path: Path) -> None:
    with workspace_of(TARGET, QUIET) as workspace:
        (workspace / "source").mkdir()
        (workspace / "source" / "setup.py").touch()
        (workspace / "requirements.txt").touch()
        (workspace / "link").symlink_to(tmp_path)
    with workspace_of(TARGET, QUIET) as again:
        assert again == workspace
        assert list(again.iterdir()) == []
    assert tmp_path.exists()
    assert list(workspace.parent.iterdir()) == []


def test_a_second_build_says_that_it_waits_and_goes_on_after_the_first() -> None:
    told = threading.Event()

    class Heard(Progress):
        def step(self, text: str) -> None:
            assert text.startswith(f"{CELL.id}: waiting for another build of {CELL.group}: process {os.getpid()} (")
            told.set()

    def second() -> None:
        with workspace_of(TARGET, Heard()):
            entered.set()

    entered = threading.Event()
    thread = threading.Thread(target=second)
    with workspace_of(TARGET, QUIET):
        thread.start()
        assert told.wait(60)
        assert not entered.is_set()
    thread.join(60)
    assert entered.is_set()


@pytest.mark.parametrize(("name", "lines"), [("kernel.cpp", 1), ("kernel.cu", 0), ("kernel.cuh", 0)])
def test_no_cuda_file_is_worth_a_line(name: str, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Heard(Progress):
        def step(self, text: str) -> None:
            told.append(text)

    def compile_part(*_: object, **_others: object) -> CompiledPart:
        told.append("compiling")
        return CompiledPart(ours=1, others=0)

    monkeypatch.setattr(LocalBuilder, "compile_part", compile_part)
    (tmp_path / "demo" / "csrc").mkdir(parents=True)
    (tmp_path / "demo" / "csrc" / name).touch()
    part = BuildPart(number=1, of=1)
    build_part(target_of(tmp_path / "demo"), LocalBuilder(), part, output=tmp_path / "out", progress=Heard())
    assert ["for the CPU only" in text for text in told[: told.index("compiling")]] == [True] * lines


def test_what_the_check_refuses_is_not_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(task: BuildTask) -> None:
        assert (task.source / "kernel.cu").exists()
        raise BuildError("smoke-unsatisfiable", "it could not be tested")

    def compile_nothing(*_: object) -> Compiled:
        raise BuildError("build-failed", "it is compiled")

    monkeypatch.setattr(LocalBuilder, "compile", compile_nothing)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "kernel.cu").touch()
    build = partial(build_wheel, target_of(tmp_path / "demo"), LocalBuilder(), policy="auto", output=tmp_path / "out")
    with pytest.raises(BuildError, check=coded("smoke-unsatisfiable")):
        build(progress=QUIET, check=refuse)
    with pytest.raises(BuildError, check=coded("build-failed")):
        build(progress=QUIET)
