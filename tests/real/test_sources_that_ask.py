"""A source that compiles only where it finds a GPU, and for GPUs of its own choice."""

import json
from pathlib import Path

import pytest

from tests.real.conftest import Command
from wheelmill.wheel.shared_objects import shared_objects_of

pytestmark = pytest.mark.real

TARGET = ("wheelmill-demo-asks", "--python", "3.12", "--cuda", "13.0", "--torch", "2.11", "--platform", "linux_x86_64")
PACKAGES = """
packages:
  wheelmill-demo-asks:
    versions: ["1.0.0"]
    source: wheelmill-demo-asks
    build_args: "--no-build-isolation"
    extra_deps: [setuptools, torch]
    architectures: [{cuda: ">=13", list: ["8.0", "9.0+PTX"]}, {list: ["7.0"]}]
    gencode: replace
"""
SETUP = """
import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

if not torch.cuda.is_available():
    raise RuntimeError("CPU version is not implemented")
flags = ["-gencode", "arch=compute_75,code=sm_75", "-gencode=arch=compute_120a,code=[sm_120a,compute_120a]"]
for number in range(torch.cuda.device_count()):
    print("GPU", number, torch.cuda.get_device_capability(number))
setup(
    name="wheelmill-demo-asks",
    version="1.0.0",
    ext_modules=[CUDAExtension("wheelmill_demo_asks", ["asks.cu"], extra_compile_args={"nvcc": flags})],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
)
"""
KERNEL = """
#include <Python.h>
__global__ void kernel(float* values) { values[threadIdx.x] *= 2; }
void twice(float* values) { kernel<<<1, 1>>>(values); }
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "wheelmill_demo_asks", 0, -1, 0};
PyMODINIT_FUNC PyInit_wheelmill_demo_asks() { return PyModule_Create(&module); }
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    (folder / "wheelmill-demo-asks").mkdir(parents=True)
    (folder / "packages.yml").write_text(PACKAGES)
    (folder / "wheelmill-demo-asks" / "setup.py").write_text(SETUP)
    (folder / "wheelmill-demo-asks" / "asks.cu").write_text(KERNEL)
    return folder


def test_it_is_compiled_for_the_gpus_of_its_entry_alone(wheelmill: Command, config: Path, tmp_path: Path) -> None:
    wheelmill("build", *TARGET, "--config", config, "--output", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    (shared_object,) = shared_objects_of(wheel)
    assert (shared_object.device_code.sass, shared_object.device_code.ptx) == (("sm_80", "sm_90"), ("compute_90",))
    assert json.loads(wheel.with_name(f"{wheel.name}.built.json").read_text())["gpus"] == ["8.0", "9.0"]
    (log,) = tmp_path.glob("*.log")
    assert "GPU 0 (8, 0)\nGPU 1 (9, 0)\n" in log.read_text()


def test_without_an_answer_it_does_not_build(wheelmill: Command, config: Path, tmp_path: Path) -> None:
    packages = config / "packages.yml"
    packages.write_text(f"{packages.read_text()}    gpu_probe: as-is\n")
    failed = wheelmill("build", *TARGET, "--config", config, "--output", tmp_path, exit_code=4)
    assert "CPU version is not implemented" in failed.stderr
