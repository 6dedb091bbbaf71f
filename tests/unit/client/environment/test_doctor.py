from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.client.targets import LINUX
from wheelmill.client.environment.doctor import faults_of_environment, faults_of_project
from wheelmill.client.environment.failures import explain_failure
from wheelmill.client.environment.faults import Code
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.config.load import load_config
from wheelmill.names import project_name
from wheelmill.system import resources

FACTS = load_config(resources.CONFIG).compatibility
FLASH = project_name("flash-attn")


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("2.8.3+cu130torch2.11", None),
        ("2.8.3+cu13torch2.11cxx11abiTRUE", None),
        ("2.8.3+cu130torch2.10", Code.TORCH),
        ("2.8.3+cu128torch2.11", Code.CUDA),
        ("2.8.3+cu13torch2.11cxx11abiFALSE", Code.ABI),
        ("2.8.3", None),
    ],
)
def test_a_wheel_for_another_torch_is_found(version: str, code: Code | None) -> None:
    environment = replace(LINUX, cxx11_abi=True)
    found = faults_of_environment(environment, [(FLASH, version)], FACTS)
    assert [fault.code for fault in found] == ([code] if code else [])


def test_an_old_driver_is_found() -> None:
    (fault,) = faults_of_environment(replace(LINUX, driver="535.104.05"), [], FACTS)
    assert fault.code is Code.DRIVER
    assert "580.65.06" in fault.detail


def test_what_is_installed_twice_is_found() -> None:
    (fault,) = faults_of_environment(LINUX, [(FLASH, "2.8.3"), (FLASH, "2.7.4")], FACTS)
    assert fault.code is Code.DUPLICATE


def test_what_two_folders_list_in_one_version_is_no_fault() -> None:
    assert list(faults_of_environment(LINUX, [(FLASH, "2.8.3"), (FLASH, "2.8.3")], FACTS)) == []


def test_what_the_usual_index_may_replace_is_found(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\ndependencies = ["flash-attn", "mamba-ssm @ https://x.example/mamba_ssm-1-py3-none-any.whl"]\n'
        '[tool.wheelmill]\npackages = ["flash-attn", "mamba-ssm"]\n'
    )
    found = [(fault.code, fault.subject) for fault in faults_of_project(Pyproject.read(path))]
    assert found == [(Code.SHADOWED, "flash-attn"), (Code.HASH, "mamba-ssm")]


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
        ("ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E", "undefined-symbol"),
        ("CUDA error: cudaErrorCallRequiresNewerDriver", "driver-too-old"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040)", "driver-too-old"),
        ("ImportError: libcudart.so.12: cannot open shared object file", "cuda-library"),
        ("ImportError: /lib/libc.so.6: version `GLIBC_2.32' not found", "glibc"),
        ("ImportError: libtorch_cuda.so: cannot open shared object file", "torch-library"),
        ("ModuleNotFoundError: No module named 'einops'", "import"),
        ("python exited with -11", "crash"),
    ],
)
def test_failures_have_a_name(printed: str, code: str) -> None:
    assert explain_failure(printed).code == code
