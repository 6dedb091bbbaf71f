"""Libraries of NVIDIA's that are in no toolkit, and what leads compilers to them."""

import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import get_args

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import TARGET
from tests.wheels import write_wheel
from wheelmill.build.components import HEADERS, install_own_wheels, library_variables
from wheelmill.config.model import OwnWheel
from wheelmill.config.package_fields import Component
from wheelmill.errors import BuildError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import PythonVersion

PACKAGES, TOOLKIT = PurePosixPath("/packages"), PurePosixPath("/cuda")
WITH_NCCL = replace(TARGET, package=replace(TARGET.package, toolkit=("cublas", "nccl")))
NCCL = {"nvidia/nccl/lib/libnccl.so.2": b"the library"}


@pytest.fixture
def packages(package_index: Path) -> PackageFolder:
    """An empty folder beside the package index."""
    python = PythonVersion(*sys.version_info[:2])
    return PackageFolder(directory=package_index.parent / "packages", python=python, interpreter=Path(sys.executable))


def test_every_component_is_in_the_toolkit_or_in_a_wheel_of_its_own() -> None:
    assert {*HEADERS, *get_args(OwnWheel)} == {*get_args(Component)}


def test_what_is_in_no_toolkit_is_installed_for_the_cuda_of_the_build(
    packages: PackageFolder, package_index: Path, tmp_path: Path
) -> None:
    write_wheel(package_index / "nvidia_nccl_cu13-2.30-py3-none-any.whl", files=NCCL)
    install_own_wheels(WITH_NCCL, packages, log=tmp_path / "log")
    assert (packages.directory / "nvidia" / "nccl" / "lib" / "libnccl.so").read_bytes() == b"the library"


def test_what_torch_pinned_stays(packages: PackageFolder, package_index: Path, tmp_path: Path) -> None:
    for version in ("2.28", "2.30"):
        write_wheel(package_index / f"nvidia_nccl_cu13-{version}-py3-none-any.whl", files=NCCL)
    packages.install(["nvidia-nccl-cu13==2.28"])
    install_own_wheels(WITH_NCCL, packages, log=tmp_path / "log")
    assert packages.distributions() == {"nvidia-nccl-cu13": "2.28"}


def test_what_no_index_has_is_a_build_error_that_names_it(packages: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("toolkit-component-absent", "nvidia-nccl-cu13")):
        install_own_wheels(WITH_NCCL, packages, log=tmp_path / "log")


def test_compilers_and_cmake_are_led_to_what_is_in_no_toolkit() -> None:
    variables = library_variables(("curand", "cudnn", "nccl"), PACKAGES, TOOLKIT)
    assert variables["CPATH"] == "/packages/nvidia/cudnn/include:/packages/nvidia/nccl/include"
    assert variables["CMAKE_PREFIX_PATH"] == "/packages/nvidia/cudnn:/packages/nvidia/nccl"
    libraries = "/packages/nvidia/cudnn/lib:/packages/nvidia/nccl/lib:/cuda/lib64/stubs"
    assert variables["LIBRARY_PATH"] == libraries


def test_without_components_only_the_stub_of_the_driver_is_added() -> None:
    variables = library_variables((), PACKAGES, TOOLKIT)
    assert variables == {
        "LIBRARY_PATH": "/cuda/lib64/stubs",
        "LDFLAGS": "-Wl,-s -Wl,-rpath-link=/cuda/lib64 -Wl,-rpath-link=/cuda/lib64/stubs",
    }
