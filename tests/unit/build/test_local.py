"""Running a project's own build backend."""

import os
import sys
import uuid
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import TARGET
from wheelmill.build import local
from wheelmill.build.compiler_cache import CompilerCache
from wheelmill.build.environment import BuildEnvironment
from wheelmill.build.local import LocalBuilder, build_raw_wheel
from wheelmill.build.parts import BuildPart
from wheelmill.config.model import BuildArguments, LockedCommit
from wheelmill.errors import BuildError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import PythonVersion
from wheelmill.system.progress import Progress
from wheelmill.system.sandbox import Sandbox

PACKAGE = replace(TARGET.package, timeout=None)
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'

BACKEND = """
import os, pathlib

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    print("compiling")
    said = f"{os.getcwd()} {os.environ['WISH']} {config_settings}"
    pathlib.Path(wheel_directory, "demo-1.0-py3-none-any.whl").write_text(said)
    return "demo-1.0-py3-none-any.whl"
"""


INSIDE = Path("/tmp/wheelmill")


class Heard(Progress):
    """Remembers the lines it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        """Remember it."""
        self.lines.append(text)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A project that brings its own backend."""
    source = tmp_path / "demo"
    source.mkdir()
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "backend.py").write_text(BACKEND)
    return source


@pytest.fixture
def environment(tmp_path: Path) -> BuildEnvironment:
    """The tests' own interpreter."""
    python = PythonVersion(*sys.version_info[:2])
    packages = PackageFolder(directory=Path(sys.prefix), python=python)
    cache = CompilerCache(folder=tmp_path, compilers=tmp_path)
    return BuildEnvironment(
        python=Path(sys.executable),
        packages=packages,
        cache=cache,
        variables={"PATH": os.environ["PATH"], "WISH": "granted"},
        sandbox=Sandbox(writable={tmp_path: INSIDE}, readable=[Path(sys.prefix), Path(sys.base_prefix)]),
    )


def test_the_backend_runs_in_its_source_with_settings_and_variables(
    source: Path, environment: BuildEnvironment, tmp_path: Path
) -> None:
    package = replace(PACKAGE, build_args=BuildArguments(isolation=False, config_settings=(("--fast", "yes"),)))
    heard, log = Heard(), tmp_path / "log"
    wheel = build_raw_wheel(package, source, tmp_path / "raw", environment, log=log, progress=heard)
    assert wheel.path == tmp_path / "raw" / "demo-1.0-py3-none-any.whl"
    assert wheel.path.read_text() == f"{environment.sandbox.inside(str(source))} granted {{'--fast': 'yes'}}"
    assert "compiling" in heard.lines
    assert "compiling" in log.read_text().splitlines()


def test_a_folder_of_the_source_is_built_and_sees_what_lies_beside_it(
    source: Path, environment: BuildEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "prepare_environment", lambda *_, **__: environment)
    monkeypatch.setattr(local, "tell_hits", lambda *_: nullcontext())
    (tmp_path / "README.md").touch()
    (source / "backend.py").write_text(BACKEND.replace("said =", "assert os.path.exists('../README.md'); said ="))
    locked = LockedCommit(git="https://git.example/demo", ref="v1", subdirectory="demo", commit="0" * 40)
    target = replace(TARGET, package=PACKAGE, source=locked)
    part, log = BuildPart(number=1, of=1), tmp_path / "log"
    LocalBuilder().compile_part(target, tmp_path, tmp_path, part, log=log, progress=Progress())
    (wheel,) = (tmp_path / "raw").iterdir()
    assert wheel.read_text().startswith(environment.sandbox.inside(str(tmp_path / "demo")))


@pytest.mark.parametrize("failure", ["SystemExit", "ValueError"])
def test_a_backend_that_fails_is_a_build_error_that_says_why(
    failure: str, source: Path, environment: BuildEnvironment
) -> None:
    (source / "backend.py").write_text(f"raise {failure}('no compiler here')")
    log = source.parent / "log"
    with pytest.raises(BuildError) as refusal:
        build_raw_wheel(PACKAGE, source, source.parent / "raw", environment, log=log, progress=Progress())
    first, *tail, last = str(refusal.value).splitlines()
    assert first == "demo does not build:"
    assert "no compiler here" in "\n".join(tail)
    assert last == f"(the whole log: {log})"


def test_a_project_whose_settings_cannot_be_read_names_no_log(source: Path, environment: BuildEnvironment) -> None:
    (source / "pyproject.toml").write_text("[build-system")
    log = source.parent / "log"
    with pytest.raises(BuildError, check=coded("build-failed", "demo does not build", "pyproject.toml")) as failure:
        build_raw_wheel(PACKAGE, source, source.parent / "raw", environment, log=log, progress=Progress())
    assert not log.exists()
    assert "whole log" not in str(failure.value)


def test_the_unit_that_compiles_is_shown(source: Path, environment: BuildEnvironment) -> None:
    (source / "backend.py").write_text(BACKEND.replace('"compiling"', '"[1/2] nvcc -c -c csrc/kernel.cu -o kernel.o"'))
    heard = Heard()
    build_raw_wheel(PACKAGE, source, source.parent / "raw", environment, log=source.parent / "log", progress=heard)
    assert "[1/2] csrc/kernel.cu" in heard.lines


SLOW = """
import subprocess, sys

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    compiler = subprocess.Popen(["sleep", "{seconds}"])
    print("compiling", flush=True)
    compiler.wait()
"""


def test_a_build_that_takes_too_long_is_ended_with_all_it_started(source: Path, environment: BuildEnvironment) -> None:
    seconds = f"600.{uuid.uuid4().int}"  # no process of another test has this word
    (source / "backend.py").write_text(SLOW.format(seconds=seconds))
    log = source.parent / "log"
    package, heard = replace(PACKAGE, timeout=3), Heard()
    with pytest.raises(BuildError, check=coded("build-failed", "after its 3 s were over")):
        build_raw_wheel(package, source, source.parent / "raw", environment, log=log, progress=heard)
    assert "compiling" in heard.lines
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if seconds.encode() in content_of(path)] == []


def content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended meanwhile
        return b""
