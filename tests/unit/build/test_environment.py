"""What a build runs in, made of wheels in a folder."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.build.conftest import CELL, TARGET, write_toolkit
from tests.wheels import write_wheel
from wheelmill.build.environment import prepare_environment
from wheelmill.errors import BuildError
from wheelmill.names import PythonVersion
from wheelmill.plan.records import BuildTarget

WITH_TORCH = replace(TARGET, cell=replace(CELL, python=PythonVersion(*sys.version_info[:2])), toolkit="13.0.99")
WITHOUT_TORCH = replace(WITH_TORCH, cell=replace(WITH_TORCH.cell, torch=None), torch_release=None)


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
    return dict(prepare_environment(target, workspace, log=workspace / "log").variables)


def test_the_build_is_told_what_to_compile_for_and_with(workspace: Path) -> None:
    variables = variables_of(WITHOUT_TORCH, workspace)
    toolkit = workspace.parent / "cuda"
    assert variables["TORCH_CUDA_ARCH_LIST"] == "9.0;12.0+PTX"
    assert variables["CUDA_HOME"] == str(toolkit)
    assert variables["PATH"].split(os.pathsep)[:2] == [str(workspace / "venv" / "bin"), str(toolkit / "bin")]
    assert Path(variables["TMPDIR"]).is_relative_to(workspace)


def test_the_build_sees_no_secret(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    assert "secret" not in variables_of(WITHOUT_TORCH, workspace).values()


def test_variables_of_the_package_have_the_last_word(workspace: Path) -> None:
    package = replace(TARGET.package, env=(("MAX_JOBS", "1000"), ("FORCE_CUDA", "1")))
    variables = variables_of(replace(WITHOUT_TORCH, package=package), workspace)
    assert (variables["MAX_JOBS"], variables["FORCE_CUDA"]) == ("1000", "1")


def test_torch_and_the_requirements_are_installed(workspace: Path, package_index: Path) -> None:
    torch = {"torch/__init__.py": b"class version: cuda = '13.0'"}
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl", files=torch)
    write_wheel(package_index / "ninja-1.13-py3-none-any.whl")
    package = replace(TARGET.package, extra_deps=("torch", "ninja"))
    environment = prepare_environment(replace(WITH_TORCH, package=package), workspace, log=workspace / "log")
    installed = environment.venv.distributions()
    assert installed == {"ninja": "1.13", "setuptools": "99.0", "torch": "2.11.0", "wheel": "99.0"}


def test_a_torch_for_another_cuda_is_a_build_error(workspace: Path, package_index: Path) -> None:
    torch = {"torch/__init__.py": b"class version: cuda = '12.8'"}
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl", files=torch)
    with pytest.raises(BuildError, match=r"gives torch 2\.11\.0 for CUDA 12\.8, not 13\.0"):
        prepare_environment(WITH_TORCH, workspace, log=workspace / "log")


def test_a_requirement_that_is_nowhere_is_a_build_error(workspace: Path) -> None:
    with pytest.raises(BuildError, match="the build requirements cannot be installed"):
        prepare_environment(WITH_TORCH, workspace, log=workspace / "log")


def test_a_python_that_is_nowhere_is_a_build_error_that_says_what_to_do(workspace: Path) -> None:
    target = replace(WITHOUT_TORCH, cell=replace(WITHOUT_TORCH.cell, python=PythonVersion(3, 99)))
    with pytest.raises(BuildError, match=r"no virtual environment with Python 3\.99") as failure:
        prepare_environment(target, workspace, log=workspace / "log")
    assert failure.value.hint == "install Python 3.99 with its headers, or put it on PATH"
