"""Finding a CUDA home, or making one."""

import ctypes
import json
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import get_args

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import TARGET, TOOLKIT_PARTS, write_toolkit
from tests.wheels import write_wheel
from wheelmill.build.environment import (
    HEADERS,
    complete_toolkit,
    has_toolkit,
    install_own_wheels,
    library_variables,
    provide_toolkit,
)
from wheelmill.config.model.package_fields import Component, OwnWheel
from wheelmill.errors import BuildError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import CudaVersion, PythonVersion

CUDA_12 = CudaVersion(12, 9)
CUDA_13 = CudaVersion(13, 0)
RELEASE = "12.9.99"
"""No toolkit that a machine of ours could have."""


@pytest.fixture
def nowhere(tmp_path: Path) -> PackageFolder:
    """An environment that nothing is installed into."""
    return PackageFolder(directory=tmp_path / "no environment", python=PythonVersion(3, 11))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole toolkit that CUDA_HOME names."""
    home = write_toolkit(tmp_path / "cuda", RELEASE)
    monkeypatch.setenv("CUDA_HOME", str(home))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    return home


def test_an_installed_toolkit_of_the_right_release_is_taken(
    home: Path, nowhere: PackageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert provide_toolkit(CUDA_12, RELEASE, nowhere, log=tmp_path / "log") == home
    assert has_toolkit(CUDA_12, RELEASE)
    assert not has_toolkit(CUDA_12, "12.9.98")
    assert has_toolkit(CUDA_13, "13.0.99"), "its wheels have the compiler"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(home))
    assert provide_toolkit(CUDA_12, RELEASE, nowhere, log=tmp_path / "log") == home


@pytest.mark.parametrize(
    ("part", "content"),
    [
        *(("version.json", json.dumps({"cuda": {"version": release}})) for release in ("12.9.9", "12.9", "13.0.2")),
        *(("version.json", content) for content in ("", "[]", '{"cuda": null}', '{"cuda": {}}', "\xff")),
        *((part, None) for part in (*TOOLKIT_PARTS, "version.json")),
    ],
)
def test_a_toolkit_of_another_release_or_one_that_is_not_whole_is_passed_over(
    part: str, content: str | None, home: Path, nowhere: PackageFolder, tmp_path: Path
) -> None:
    (home / part).unlink()
    if content is not None:
        (home / part).write_text(content, encoding="latin-1")
    with pytest.raises(BuildError, check=coded("no-toolkit")):
        provide_toolkit(CUDA_12, RELEASE, nowhere, log=tmp_path / "log")


@pytest.mark.usefixtures("home")
def test_cuda_12_must_be_installed_because_no_wheel_has_its_compiler(nowhere: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("no-toolkit", "12.9.98", "CUDA_HOME", "/usr/local/cuda-12.9")):
        provide_toolkit(CUDA_12, "12.9.98", nowhere, log=tmp_path / "log")


@pytest.fixture
def packages(package_index: Path) -> PackageFolder:
    """An empty folder beside the package index."""
    python = PythonVersion(*sys.version_info[:2])
    return PackageFolder(directory=package_index.parent / "packages", python=python, interpreter=Path(sys.executable))


def test_wheels_become_a_cuda_home(packages: PackageFolder, package_index: Path, tmp_path: Path) -> None:
    parts = {"lib/libcudart.so.13": b"the library", "include/cuda.h": b"CUresult CUDAAPI cuInit(unsigned int Flags);"}
    files = {f"nvidia/cu13/{name}": content for name, content in parts.items()}
    write_wheel(package_index / "cuda_toolkit-13.0.99-py3-none-any.whl", files=files)
    home = provide_toolkit(CUDA_13, "13.0.99", packages, log=tmp_path / "log")
    assert home == packages.directory / "nvidia" / "cu13"
    complete_toolkit(home)
    complete_toolkit(home)
    assert (home / "lib64" / "libcudart.so").read_bytes() == b"the library"
    stub = ctypes.CDLL(str(home / "lib64" / "stubs" / "libcuda.so.1"))
    assert stub.cuInit(0) == 34  # CUDA_ERROR_STUB_LIBRARY


def test_components_have_the_metapackages_names(packages: PackageFolder, package_index: Path, tmp_path: Path) -> None:
    extras = {"profiler": "nvidia-cuda-profiler-api", "curand": "nvidia-curand", "cublas": "nvidia-cublas"}
    requires = "".join(f"Requires-Dist: {name} ; extra == '{extra}'\n" for extra, name in extras.items())
    metadata = f"Metadata-Version: 2.1\nName: cuda-toolkit\nVersion: 13.0.99\n{requires}"
    write_wheel(package_index / "cuda_toolkit-13.0.99-py3-none-any.whl", metadata=metadata)
    for name in extras.values():
        write_wheel(package_index / f"{name.replace('-', '_')}-13.0-py3-none-any.whl")
    components: tuple[Component, ...] = ("curand", "profiler-api", "nccl")
    provide_toolkit(CUDA_13, "13.0.99", packages, components=components, log=tmp_path / "log")
    assert packages.distributions().keys() == {"cuda-toolkit", "nvidia-curand", "nvidia-cuda-profiler-api"}


def test_an_incomplete_toolkit_is_passed_over_by_name(home: Path, nowhere: PackageFolder, tmp_path: Path) -> None:
    (home / "include" / "curand_kernel.h").touch()
    components: tuple[Component, ...] = ("curand", "cudnn")
    assert provide_toolkit(CUDA_12, RELEASE, nowhere, components=components, log=tmp_path / "log") == home
    with pytest.raises(BuildError, check=coded("no-toolkit", RELEASE, "cublas", home)):
        provide_toolkit(CUDA_12, RELEASE, nowhere, components=("curand", "cublas"), log=tmp_path / "log")


def test_a_release_without_wheels_is_a_build_error(packages: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("toolkit-not-installed", "13.0.99")):
        provide_toolkit(CUDA_13, "13.0.99", packages, log=tmp_path / "log")


PACKAGES, TOOLKIT = PurePosixPath("/packages"), PurePosixPath("/cuda")
WITH_NCCL = replace(TARGET, package=replace(TARGET.package, toolkit=("cublas", "nccl")))
NCCL = {"nvidia/nccl/lib/libnccl.so.2": b"the library"}


def test_every_component_is_in_the_toolkit_or_in_a_wheel_of_its_own() -> None:
    assert {*HEADERS, *get_args(OwnWheel)} == {*get_args(Component)}


@pytest.mark.parametrize(("pinned", "version"), [([], "2.30"), (["nvidia-nccl-cu13==2.28"], "2.28")])
def test_what_is_in_no_toolkit_is_installed_for_the_cuda_of_the_build_unless_torch_pinned_it(
    pinned: list[str], version: str, packages: PackageFolder, package_index: Path, tmp_path: Path
) -> None:
    for offered in ("2.28", "2.30"):
        write_wheel(package_index / f"nvidia_nccl_cu13-{offered}-py3-none-any.whl", files=NCCL)
    packages.install(pinned)
    install_own_wheels(WITH_NCCL, packages, log=tmp_path / "log")
    assert packages.distributions() == {"nvidia-nccl-cu13": version}
    assert (packages.directory / "nvidia" / "nccl" / "lib" / "libnccl.so").read_bytes() == b"the library"


def test_what_no_index_has_is_a_named_build_error(packages: PackageFolder, tmp_path: Path) -> None:
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
