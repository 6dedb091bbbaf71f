"""Portable assembly that a source and its entry both ask for is in a wheel once."""

import subprocess
import sys
from pathlib import Path

import pytest

from wheelmill.build.toolkit import complete_toolkit, provide_toolkit
from wheelmill.installers.package_folder import PackageFolder
from wheelmill.names import CudaVersion, PythonVersion
from wheelmill.wheel.fatbin import DeviceCode, read_device_code

pytestmark = pytest.mark.real

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
