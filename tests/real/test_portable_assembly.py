"""Portable assembly that a source and its entry both ask for is in a wheel once."""

import shutil
import subprocess
from pathlib import Path

import pytest

from wheelmill.wheel.fatbin import DeviceCode, read_device_code

NVCC = shutil.which("nvcc")
pytestmark = [pytest.mark.real, pytest.mark.skipif(NVCC is None, reason="nvcc is not on PATH")]
PTX_90 = "-gencode=arch=compute_90,code=compute_90"
BOTH_90 = "-gencode=arch=compute_90,code=[compute_90,sm_90]"
PTX_120 = "-gencode=arch=compute_120,code=compute_120"


def compiled(folder: Path, *flags: str) -> DeviceCode:
    (folder / "kernel.cu").write_text("__global__ void twice(float* values) { values[threadIdx.x] *= 2; }\n")
    subprocess.run([str(NVCC), "-fatbin", *flags, "-o", "kernel.fatbin", "kernel.cu"], cwd=folder, check=True)
    return read_device_code((folder / "kernel.fatbin").read_bytes())


def test_nvcc_keeps_what_is_asked_for_again_once(tmp_path: Path) -> None:
    once = compiled(tmp_path, BOTH_90)
    assert once.ptx == ("compute_90",)
    assert compiled(tmp_path, BOTH_90, PTX_90, PTX_90).sizes == once.sizes
    other = compiled(tmp_path, BOTH_90, PTX_120)
    assert (other.ptx, other.sizes["compute_90"]) == (("compute_90", "compute_120"), once.sizes["compute_90"])
