"""Builds on this machine: with the toolkit that it has, once for equal inputs, and what nvcc keeps once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.conftest import DEMO, Command, another_person
from wheelmill.build.environment import complete_toolkit, provide_toolkit
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import CudaVersion, PythonVersion
from wheelmill.wheel.gpu_code import DeviceCode, read_device_code

pytestmark = pytest.mark.real


def test_the_same_inputs_are_built_once(wheelmill: Command, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    build = ("build", "wheelmill-demo", "--here", "--config", DEMO, "--python", "3.12", "--cuda", "13.0")
    first = wheelmill(*build, "--gpu", "sm_90", env=env)
    again = wheelmill(*build, "--gpu", "9.0", env=env)
    assert "built before with the same inputs" in again.stderr
    assert first.stdout == again.stdout
    assert Path(first.stdout.strip()).name.startswith("wheelmill_demo-1.0.0+cu130-cp312-")


def test_a_wheel_is_compiled_by_the_toolkit_that_cuda_home_names(wheelmill: Command, tmp_path: Path) -> None:
    """It has NVIDIA's own files, laid out as their installer leaves them."""
    toolkit = "cuda-toolkit[nvcc,cccl,crt,nvvm,cudart]==13.0.2"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "wheels"), toolkit]
    subprocess.run(install, check=True)
    home = tmp_path / "wheels" / "nvidia" / "cu13"
    complete_toolkit(home)
    (home / "version.json").write_text('{"cuda": {"version": "13.0.2"}}')
    environment = another_person(tmp_path / "home") | {"CUDA_HOME": str(home)}
    build = (
        "build",
        "wheelmill-demo",
        "--config",
        DEMO,
        "--cuda",
        "13.0",
        "--python",
        "{}.{}".format(*sys.version_info),
    )
    wheelmill(*build, "--output", tmp_path / "built", env=environment)
    (wheel,) = tmp_path.glob("built/*.whl")
    assert json.loads(wheelmill("show", wheel, "--json").stdout)["built"]["toolkit"] == "13.0.2"
    (log,) = tmp_path.glob("built/*.log")
    assert "cuda-toolkit[" not in log.read_text()


PTX_90 = "-gencode=arch=compute_90,code=compute_90"
BOTH_90 = "-gencode=arch=compute_90,code=[compute_90,sm_90]"
PTX_120 = "-gencode=arch=compute_120,code=compute_120"


@pytest.fixture
def nvcc(tmp_path: Path) -> Path:
    """That of CUDA 13.0, which this machine has or NVIDIA's wheels bring."""
    python = PythonVersion(*sys.version_info[:2])
    packages = PackageFolder(directory=tmp_path / "packages", python=python, interpreter=Path(sys.executable))
    home = provide_toolkit(CudaVersion(13, 0), "13.0.2", packages, log=tmp_path / "log")
    if home.is_relative_to(packages.directory):
        complete_toolkit(home)
    return home / "bin" / "nvcc"


def compiled(nvcc: Path, folder: Path, *flags: str) -> DeviceCode:
    (folder / "kernel.cu").write_text("__global__ void twice(float* values) { values[threadIdx.x] *= 2; }\n")
    subprocess.run([nvcc, "-fatbin", *flags, "-o", "kernel.fatbin", "kernel.cu"], cwd=folder, check=True)
    return read_device_code((folder / "kernel.fatbin").read_bytes())


def test_nvcc_keeps_what_is_asked_for_again_once(nvcc: Path, tmp_path: Path) -> None:
    once = compiled(nvcc, tmp_path, BOTH_90)
    assert once.ptx == ("compute_90",)
    assert compiled(nvcc, tmp_path, BOTH_90, PTX_90, PTX_90).sizes == once.sizes
    other = compiled(nvcc, tmp_path, BOTH_90, PTX_120)
    assert (other.ptx, other.sizes["compute_90"]) == (("compute_90", "compute_120"), once.sizes["compute_90"])
