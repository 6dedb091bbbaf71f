"""Running a project's own build backend."""

import os
import sys
import uuid
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.unit.build.conftest import CELL, TARGET, write_toolkit
from tests.unit.build.test_compiler_cache import write_program
from tests.unit.system.test_sandbox import confined
from tests.wheels import write_wheel
from wheelmill.build import local
from wheelmill.build.builder import BuildTask
from wheelmill.build.compiler_cache import BuildPart, CompilerCache
from wheelmill.build.local import (
    BuildEnvironment,
    LocalBuilder,
    build_raw_wheel,
    check_system_packages,
    prepare_environment,
)
from wheelmill.build.provenance import BuildPlace
from wheelmill.config.model.files import LockedCommit
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.config.model.package_parts import SystemPackages
from wheelmill.errors import BuildError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import PythonVersion
from wheelmill.system.progress import QUIET, Progress
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


def test_the_backend_has_its_source_and_settings(source: Path, environment: BuildEnvironment, tmp_path: Path) -> None:
    package = replace(PACKAGE, build_args=BuildArguments(isolation=False, config_settings=(("--fast", "yes"),)))
    heard, log = RecordedProgress(), tmp_path / "log"
    wheel = build_raw_wheel(package, source, tmp_path / "raw", environment, log=log, progress=heard)
    assert wheel.path == tmp_path / "raw" / "demo-1.0-py3-none-any.whl"
    assert wheel.path.read_text() == f"{environment.sandbox.inside(str(source))} granted {{'--fast': 'yes'}}"
    assert "compiling" in heard.lines
    assert "compiling" in log.read_text().splitlines()


def test_a_folder_of_the_source_is_built_and_sees_what_lies_beside_it(
    source: Path, environment: BuildEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "prepare_environment", lambda *_, **__: environment)
    monkeypatch.setattr(local, "report_hits", lambda *_: nullcontext())
    (tmp_path / "README.md").touch()
    (source / "backend.py").write_text(BACKEND.replace("said =", "assert os.path.exists('../README.md'); said ="))
    locked = LockedCommit(git="https://git.example/demo", ref="v1", subdirectory="demo", commit="0" * 40)
    target = replace(TARGET, package=PACKAGE, source=locked)
    task = BuildTask(target=target, source=tmp_path, workspace=tmp_path, log=tmp_path / "log", progress=Progress())
    LocalBuilder().compile_part(task, BuildPart(number=1, of=1))
    (wheel,) = (tmp_path / "raw").iterdir()
    assert wheel.read_text().startswith(environment.sandbox.inside(str(tmp_path / "demo")))


@pytest.mark.parametrize("failure", ["SystemExit", "ValueError"])
def test_a_failing_backend_is_a_build_error(failure: str, source: Path, environment: BuildEnvironment) -> None:
    (source / "backend.py").write_text(f"raise {failure}('no compiler here')")
    log = source.parent / "log"
    with pytest.raises(BuildError, check=coded("build-failed", "demo", "no compiler here", log)):
        build_raw_wheel(PACKAGE, source, source.parent / "raw", environment, log=log, progress=Progress())


def test_a_project_whose_settings_cannot_be_read_names_no_log(source: Path, environment: BuildEnvironment) -> None:
    (source / "pyproject.toml").write_text("[build-system")
    log = source.parent / "log"
    with pytest.raises(BuildError, check=coded("build-failed", "demo", "pyproject.toml")) as failure:
        build_raw_wheel(PACKAGE, source, source.parent / "raw", environment, log=log, progress=Progress())
    assert not log.exists()
    assert str(log) not in str(failure.value)


def test_the_unit_that_compiles_is_shown(source: Path, environment: BuildEnvironment) -> None:
    (source / "backend.py").write_text(BACKEND.replace('"compiling"', '"[1/2] nvcc -c -c csrc/kernel.cu -o kernel.o"'))
    heard = RecordedProgress()
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
    package, heard = replace(PACKAGE, timeout=3), RecordedProgress()
    with pytest.raises(BuildError, check=coded("build-failed", "3 s")):
        build_raw_wheel(package, source, source.parent / "raw", environment, log=log, progress=heard)
    assert "compiling" in heard.lines
    assert [path for path in Path("/proc").glob("[0-9]*/cmdline") if seconds.encode() in content_of(path)] == []


def content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended meanwhile
        return b""


WITHOUT_TORCH = replace(
    TARGET,
    cell=replace(CELL, python=PythonVersion(*sys.version_info[:2]), torch=None),
    toolkit="13.0.99",
    torch_release=None,
)
PLACE = BuildPlace(sandbox="local", compilers=())


@pytest.fixture
def workspace(package_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to build in, on a machine with a toolkit and what every build needs."""
    for name in ("setuptools", "wheel"):
        write_wheel(package_index / f"{name}-99.0-py3-none-any.whl")
    monkeypatch.setenv("CUDA_HOME", str(write_toolkit(tmp_path / "cuda", "13.0.99")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


def test_the_build_knows_its_targets_and_no_secret(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    package = replace(TARGET.package, memory_per_job=1 << 60)
    unlocked = replace(WITHOUT_TORCH, source=Path("project"), package=package)
    environment = prepare_environment(unlocked, PLACE, workspace, log=workspace / "log")
    assert environment.packages.distributions() == {"setuptools": "99.0", "wheel": "99.0"}
    variables = environment.variables
    toolkit = workspace / "cuda"
    assert variables["TORCH_CUDA_ARCH_LIST"] == "9.0;12.0+PTX"
    assert variables["CUDA_HOME"] == str(toolkit)
    assert (variables["MAX_JOBS"], variables["NVCC_THREADS"]) == ("1", "1"), "the compilers share the memory"
    compilers, *others = variables["PATH"].split(os.pathsep)[:4]
    assert sorted(path.name for path in Path(compilers).iterdir()) == ["c++", "cc", "g++", "gcc"]
    assert others == [str(workspace / "venv" / "bin"), str(workspace / "packages" / "bin"), str(toolkit / "bin")]
    assert Path(variables["TMPDIR"]).is_relative_to(workspace)


@confined
def test_a_hook_replaces_neither_the_python_nor_the_packages_that_are_used_after_it(workspace: Path) -> None:
    """uv calls the Python outside, and its cache has the same files as the packages."""
    target = replace(WITHOUT_TORCH, source=Path("project"))
    environment = prepare_environment(target, PLACE, workspace, log=workspace / "log")
    code = """
import os, sys
for name in ("venv/bin/python", "venv/bin/new", "packages/new", "tmp/new"):
    try:
        os.close(os.open(os.path.join(sys.argv[1], name), os.O_WRONLY | os.O_CREAT))
    except OSError:
        continue
    print(name)
"""
    words: list[str | Path] = [environment.python, "-c", code, workspace]
    assert environment.sandbox.run(words, cwd=workspace, env=environment.variables) == "tmp/new\n"


def test_programs_outside_of_the_system_keep_what_is_beside_them_and_a_home_its_secrets(tmp_path: Path) -> None:
    for name in ("bin", "lib64/gcc", "include", "share/cmake-4.0", "share/keyrings", "etc"):
        (tmp_path / name).mkdir(parents=True)
    variables = {"PATH": f"{tmp_path}/bin:relative", "LD_LIBRARY_PATH": f"{tmp_path}/etc"}
    given = {str(path.relative_to(tmp_path)) for path in local._tools(variables)}  # noqa: SLF001
    assert given == {"bin", "lib64", "include", "share/cmake-4.0", "etc"}
    assert "secret" not in variables.values()


def test_a_python_that_is_nowhere_is_a_build_error_that_says_what_to_do(workspace: Path) -> None:
    target = replace(WITHOUT_TORCH, cell=replace(WITHOUT_TORCH.cell, python=PythonVersion(3, 99)))
    with pytest.raises(BuildError, check=coded("no-build-environment", "Python 3.99", "PATH")):
        prepare_environment(target, PLACE, workspace, log=workspace / "log")


WANTED = SystemPackages(dnf=("a-devel", "b-devel"), apt=("liba-dev", "libb-dev"))
SYSTEM_PACKAGES_PACKAGE = replace(TARGET.package, system_packages=WANTED)
ANY = "#!/bin/sh\n"
DPKG_QUERY = r"""#!/bin/sh
case $3 in
liba-dev) printf 'installed\ninstalled\n' ;; # for two architectures
libb-dev) echo config-files ;;
*) exit 1 ;;
esac
"""
RPM = '#!/bin/sh\n[ "$3" = a-devel ]\n'

Machine = Callable[[Mapping[str, str]], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Let this machine have these programs and no others."""

    def has(programs: Mapping[str, str]) -> None:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        for name, content in programs.items():
            write_program(tmp_path / "bin" / name, content)

    return has


@pytest.mark.parametrize(
    ("programs", "missing", "line"),
    [
        ({"apt-get": ANY, "dpkg-query": DPKG_QUERY}, "libb-dev", "sudo apt-get install libb-dev"),
        ({"dnf": ANY, "rpm": RPM}, "b-devel", "sudo dnf install b-devel"),
    ],
    ids=["apt", "dnf"],
)
def test_a_missing_program_has_a_line(programs: Mapping[str, str], missing: str, line: str, machine: Machine) -> None:
    machine(programs)
    with pytest.raises(BuildError, check=coded("system-packages-absent", "system_packages", missing, line)):
        check_system_packages(SYSTEM_PACKAGES_PACKAGE, QUIET)


def test_what_is_there_is_enough(machine: Machine) -> None:
    machine({"apt-get": ANY, "dpkg-query": DPKG_QUERY})
    heard = RecordedProgress()
    check_system_packages(replace(SYSTEM_PACKAGES_PACKAGE, system_packages=SystemPackages(apt=("liba-dev",))), heard)
    check_system_packages(TARGET.package, heard)
    assert heard.steps == []


@pytest.mark.parametrize("programs", [{}, {"dnf": ANY}], ids=["neither", "one without names"])
def test_an_unlisted_system_is_told_and_the_build_goes_on(programs: Mapping[str, str], machine: Machine) -> None:
    machine(programs)
    heard = RecordedProgress()
    check_system_packages(replace(SYSTEM_PACKAGES_PACKAGE, system_packages=SystemPackages(apt=WANTED.apt)), heard)
    (step,) = heard.steps
    assert step.startswith("the entry of demo: system_packages: none is named for this system")
    assert step.endswith("elsewhere they are liba-dev libb-dev")


def test_nothing_is_prepared_for_a_build_that_would_miss_one(machine: Machine, tmp_path: Path) -> None:
    machine({"dnf": ANY, "rpm": RPM})
    workspace = tmp_path / "workspace"
    target = replace(TARGET, package=SYSTEM_PACKAGES_PACKAGE)
    task = BuildTask(target=target, source=tmp_path, workspace=workspace, log=tmp_path / "log", progress=QUIET)
    with pytest.raises(BuildError, check=coded("system-packages-absent", "b-devel")):
        LocalBuilder().compile(task, "auto")
    assert not workspace.exists()
