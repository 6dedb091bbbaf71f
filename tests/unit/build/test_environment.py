"""What a build runs in, made of wheels in a folder."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import CELL, TARGET, write_toolkit
from tests.wheels import write_wheel
from wheelmill.build.environment import prepare_environment
from wheelmill.build.identity import BuildPlace
from wheelmill.errors import BuildError
from wheelmill.names import PythonVersion

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


def test_the_build_is_told_what_to_compile_for_and_with_and_no_secret(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert others == [
        str(workspace / "venv" / "bin"),
        str(workspace / "packages" / "bin"),
        str(toolkit / "bin"),
    ]
    assert Path(variables["TMPDIR"]).is_relative_to(workspace)
    assert "secret" not in variables.values()


def test_a_python_that_is_nowhere_is_a_build_error_that_says_what_to_do(workspace: Path) -> None:
    target = replace(WITHOUT_TORCH, cell=replace(WITHOUT_TORCH.cell, python=PythonVersion(3, 99)))
    with pytest.raises(BuildError, check=coded("no-build-environment", "3.99")) as failure:
        prepare_environment(target, PLACE, workspace, log=workspace / "log")
    assert failure.value.hint == "install Python 3.99 with its headers, or put it on PATH"
