"""What a build runs in, made of wheels in a folder."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from tests.unit.build.conftest import CELL, TARGET, write_toolkit
from tests.wheels import write_wheel
from wheelmill.build.environment import prepare_environment
from wheelmill.build.identity import BuildPlace
from wheelmill.config.model import ArchVariable, LockedRequirement
from wheelmill.errors import BuildError, ProcessError
from wheelmill.names import Architecture, PythonVersion
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import sha256_of

WITH_TORCH = replace(TARGET, cell=replace(CELL, python=PythonVersion(*sys.version_info[:2])), toolkit="13.0.99")
WITHOUT_TORCH = replace(WITH_TORCH, cell=replace(WITH_TORCH.cell, torch=None), torch_release=None)
FOLDER = Path("project")
PLACE = BuildPlace(sandbox="local", compilers=())


@pytest.fixture
def workspace(package_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to build in, on a machine with a toolkit and what every build needs."""
    for name in ("setuptools", "wheel"):
        write_wheel(package_index / f"{name}-99.0-py3-none-any.whl")
    monkeypatch.setenv("CUDA_HOME", str(write_toolkit(tmp_path / "cuda", "13.0.99")))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


def variables_of(target: BuildTarget, workspace: Path) -> dict[str, str]:
    unlocked = replace(target, source=FOLDER)
    return dict(prepare_environment(unlocked, PLACE, workspace, log=workspace / "log").variables)


def locked(target: BuildTarget, *wheels: Path) -> BuildTarget:
    """A target whose lock has these wheels."""
    pins = {"==".join(wheel.name.split("-")[:2]): sha256_of(wheel) for wheel in wheels}
    requirements = tuple(LockedRequirement(requirement=text, sha256=(sha256,)) for text, sha256 in pins.items())
    return replace(target, requirements=requirements)


def test_the_build_is_told_what_to_compile_for_and_with(workspace: Path) -> None:
    variables = variables_of(WITHOUT_TORCH, workspace)
    toolkit = workspace / "cuda"
    assert variables["TORCH_CUDA_ARCH_LIST"] == "9.0;12.0+PTX"
    assert variables["CUDAARCHS"] == "90-real;120"
    assert variables["CUDA_HOME"] == str(toolkit)
    assert "WHEELMILL_GENCODE" not in variables
    compilers, *others = variables["PATH"].split(os.pathsep)[:4]
    assert sorted(path.name for path in Path(compilers).iterdir()) == ["c++", "cc", "g++", "gcc"]
    assert others == [
        str(workspace / "venv" / "bin"),
        str(workspace / "packages" / "bin"),
        str(toolkit / "bin"),
    ]
    assert Path(variables["TMPDIR"]).is_relative_to(workspace)


def test_the_build_sees_no_secret(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    assert "secret" not in variables_of(WITHOUT_TORCH, workspace).values()


def test_variables_of_the_package_have_the_last_word(workspace: Path) -> None:
    package = replace(TARGET.package, env={"MAX_JOBS": "1000", "FORCE_CUDA": "1"})
    variables = variables_of(replace(WITHOUT_TORCH, package=package), workspace)
    assert (variables["MAX_JOBS"], variables["FORCE_CUDA"]) == ("1000", "1")


def test_flags_of_the_target_stand_behind_those_of_every_build(workspace: Path) -> None:
    target = replace(WITHOUT_TORCH, nvcc_flags=("--compress-mode=size", "-lineinfo"))
    seed, threads, *own = variables_of(target, workspace)["NVCC_APPEND_FLAGS"].split()
    assert (seed, threads.partition("=")[0]) == ("--frandom-seed=wheelmill", "--threads")
    assert own == ["--compress-mode=size", "-lineinfo"]


@pytest.mark.parametrize(("form", "value"), [("dotted", "9.0a;12.0"), ("digits", "90a;120"), ("cmake", "90a-real;120")])
def test_a_package_is_told_its_architectures_in_its_own_variable(
    form: Literal["dotted", "digits", "cmake"], value: str, workspace: Path
) -> None:
    env = {"CMAKE_ARGS": f"-DDEMO=on -DARCHS={{architectures:{form}}} -DMORE={{other}}"}
    package = replace(TARGET.package, arch_variable=ArchVariable(name="DEMO_ARCHS", form=form), env=env)
    architectures = (Architecture(9, 0, "a"), Architecture(12, 0, ptx=True))
    variables = variables_of(replace(WITHOUT_TORCH, package=package, architectures=architectures), workspace)
    assert variables["DEMO_ARCHS"] == value
    assert variables["CMAKE_ARGS"] == f"-DDEMO=on -DARCHS={value} -DMORE={{other}}"
    assert variables["TORCH_CUDA_ARCH_LIST"] == "9.0a;12.0+PTX"


def test_the_compiler_is_told_what_takes_the_place_of_the_sources_architectures(workspace: Path) -> None:
    package = replace(TARGET.package, gencode="replace")
    assert variables_of(replace(WITHOUT_TORCH, package=package), workspace)["WHEELMILL_GENCODE"].split() == [
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_120,code=sm_120",
        "-gencode=arch=compute_120,code=compute_120",
    ]


def test_torchs_extension_builder_is_told_of_no_family_where_its_flags_are_replaced(workspace: Path) -> None:
    """It refuses 10.0f, in torch 2.14 at least."""
    package = replace(TARGET.package, gencode="replace")
    architectures = (Architecture(9, 0, "a"), Architecture(10, 0, "f"))
    variables = variables_of(replace(WITHOUT_TORCH, package=package, architectures=architectures), workspace)
    assert variables["TORCH_CUDA_ARCH_LIST"] == "9.0a;10.0"
    assert variables["WHEELMILL_GENCODE"].endswith("-gencode=arch=compute_100f,code=sm_100f")


def test_the_memory_that_a_package_takes_bounds_its_compilers(workspace: Path) -> None:
    package = replace(TARGET.package, memory_per_job=1 << 60)
    variables = variables_of(replace(WITHOUT_TORCH, package=package), workspace)
    assert (variables["MAX_JOBS"], variables["NVCC_THREADS"]) == ("1", "1")


def test_torch_and_exactly_the_locked_requirements_are_installed(workspace: Path, package_index: Path) -> None:
    needs = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\nRequires-Dist: ninja\n"
    torch = {"torch/version.py": b"cuda: Optional[str] = '13.0'", "torch/cuda/__init__.py": b""}
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl", metadata=needs, files=torch)
    write_wheel(package_index / "ninja-2.0-py3-none-any.whl")
    old = write_wheel(package_index / "ninja-1.13-py3-none-any.whl")
    package = replace(TARGET.package, extra_deps=("torch", "ninja"))
    target = locked(replace(WITH_TORCH, package=package), old, *package_index.glob("*-99.0-*"))
    environment = prepare_environment(target, PLACE, workspace, log=workspace / "log")
    installed = environment.packages.distributions()
    assert installed == {"ninja": "1.13", "setuptools": "99.0", "torch": "2.11.0", "wheel": "99.0"}


def test_nothing_can_be_added_to_what_is_locked(workspace: Path, package_index: Path) -> None:
    write_wheel(package_index / "ninja-1.13-py3-none-any.whl")
    target = locked(WITHOUT_TORCH, *package_index.glob("*-99.0-*"))
    packages = prepare_environment(target, PLACE, workspace, log=workspace / "log").packages
    packages.install(["setuptools>=60"])
    with pytest.raises(ProcessError) as refusal:
        packages.install(["ninja"])
    assert "ninja was not found" in refusal.value.tail
    assert packages.distributions() == {"setuptools": "99.0", "wheel": "99.0"}


def test_a_requirement_with_other_bytes_is_a_build_error(workspace: Path, package_index: Path) -> None:
    target = locked(WITHOUT_TORCH, *package_index.glob("*-99.0-*"))
    write_wheel(package_index / "wheel-99.0-py3-none-any.whl", files={"wheel.py": b"evil"})
    with pytest.raises(BuildError, match=r"(?s)the build requirements cannot be installed.*[Hh]ash mismatch"):
        prepare_environment(target, PLACE, workspace, log=workspace / "log")


def test_a_version_that_is_there_with_unknown_bytes_is_replaced(workspace: Path, package_index: Path) -> None:
    needs = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\nRequires-Dist: wheel\n"
    torch = {"torch/version.py": b"cuda: Optional[str] = '13.0'", "torch/cuda/__init__.py": b""}
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl", metadata=needs, files=torch)
    target = locked(WITH_TORCH, *package_index.glob("*-99.0-*"))
    write_wheel(package_index / "wheel-99.0-py3-none-any.whl", files={"wheel.py": b"evil"})
    with pytest.raises(BuildError, match=r"(?s)the build requirements cannot be installed.*[Hh]ash mismatch"):
        prepare_environment(target, PLACE, workspace, log=workspace / "log")


def test_nothing_locked_is_a_build_error_that_says_what_to_run(workspace: Path) -> None:
    with pytest.raises(BuildError, match=r"^packages\.lock has no build requirements of demo$") as refusal:
        prepare_environment(WITHOUT_TORCH, PLACE, workspace, log=workspace / "log")
    assert refusal.value.hint == "run 'wheelmill config lock demo'"


def test_a_lock_from_before_packages_yml_changed_is_a_build_error(workspace: Path, package_index: Path) -> None:
    package = replace(TARGET.package, extra_deps=("torch", "cmake"))
    target = locked(replace(WITHOUT_TORCH, package=package), *package_index.glob("*-99.0-*"))
    with pytest.raises(BuildError, match=r"(?s)lacks build requirements.*cmake") as refusal:
        prepare_environment(target, PLACE, workspace, log=workspace / "log")
    assert refusal.value.hint == "run 'wheelmill config lock demo'"


def test_a_torch_for_another_cuda_is_a_build_error(workspace: Path, package_index: Path) -> None:
    torch = {"torch/version.py": b"cuda = '12.8'"}
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl", files=torch)
    with pytest.raises(BuildError, match=r"gives torch 2\.11\.0 for CUDA 12\.8, not 13\.0"):
        prepare_environment(WITH_TORCH, PLACE, workspace, log=workspace / "log")


def test_a_torch_that_is_nowhere_is_a_build_error(workspace: Path) -> None:
    with pytest.raises(BuildError, match=r"torch 2\.11\.0 cannot be installed"):
        prepare_environment(WITH_TORCH, PLACE, workspace, log=workspace / "log")


def test_a_requirement_that_is_nowhere_is_a_build_error(workspace: Path) -> None:
    package = replace(TARGET.package, extra_deps=("cmake",))
    target = replace(WITHOUT_TORCH, package=package, source=FOLDER)
    with pytest.raises(BuildError, match="the build requirements cannot be installed"):
        prepare_environment(target, PLACE, workspace, log=workspace / "log")


def test_a_python_that_is_nowhere_is_a_build_error_that_says_what_to_do(workspace: Path) -> None:
    target = replace(WITHOUT_TORCH, cell=replace(WITHOUT_TORCH.cell, python=PythonVersion(3, 99)))
    with pytest.raises(BuildError, match=r"no virtual environment with Python 3\.99") as failure:
        prepare_environment(target, PLACE, workspace, log=workspace / "log")
    assert failure.value.hint == "install Python 3.99 with its headers, or put it on PATH"
