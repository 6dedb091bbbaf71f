"""Torch and the locked requirements, for a container's Python."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.build.conftest import CELL, TARGET
from tests.wheels import write_wheel
from wheelmill.build.packages import install_requirements, install_torch
from wheelmill.config.model import LockedRequirement
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.package_folder import PackageFolder
from wheelmill.names import Architecture, PythonVersion
from wheelmill.system import process
from wheelmill.system.files import sha256_of

TORCH = "torch-2.11.0-py3-none-any.whl"
CUDA_MODULE = """
def _driver(*arguments): raise RuntimeError("Found no NVIDIA driver on your system.")
is_available = lambda: False
device_count = lambda: 0
current_device = get_device_properties = synchronize = _driver
def get_device_name(device=None): return get_device_properties(device).name
def get_device_capability(device=None): return get_device_properties(device).major, get_device_properties(device).minor
"""
FOR_13_0 = {"torch/version.py": b"cuda: Optional[str] = '13.0'", "torch/cuda/__init__.py": CUDA_MODULE.encode()}
TWINS = ("torch/include/a/Twin.h", "torch/include/b/Twin.h")
HEADERS = {**dict.fromkeys(TWINS, b"#pragma once\n"), "torch/include/torch.h": b'#include "a/Twin.h"\n'}


@pytest.fixture
def packages(package_index: Path) -> PackageFolder:
    """An empty folder for a Python that is not running, beside the package index."""
    return PackageFolder(
        directory=package_index.parent / "packages", python=PythonVersion(3, 12), platform=CELL.platform
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def times_of(packages: PackageFolder) -> dict[str, int]:
    return {name: (packages.directory / name).stat().st_mtime_ns for name in HEADERS}


def test_every_header_has_a_time_of_its_own_and_the_same_in_every_build(
    packages: PackageFolder, package_index: Path, log: Path
) -> None:
    """GCC's `#pragma once` takes two files of equal content, size and time for one."""
    write_wheel(package_index / TORCH, files=FOR_13_0 | HEADERS)
    install_torch(TARGET, packages, log=log)
    first = times_of(packages)
    assert len(set(first.values())) == len(HEADERS)
    assert {time % 10**9 for time in first.values()} == {0}  # GCC compares seconds
    again = replace(packages, directory=packages.directory.with_name("again"))
    install_torch(TARGET, again, log=log)
    assert times_of(again) == first
    for name, content in HEADERS.items():
        assert (again.directory / name).read_bytes() == content


def test_what_the_installer_keeps_for_others_is_not_touched(
    packages: PackageFolder, package_index: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_LINK_MODE", "hardlink")
    write_wheel(package_index / TORCH, files=FOR_13_0 | HEADERS)
    packages.install(["torch"])
    installed = {name: (packages.directory / name).stat() for name in HEADERS}
    assert {stat.st_nlink for stat in installed.values()} == {2}  # they are the cache's own files
    kept = {name: stat.st_mtime_ns for name, stat in installed.items()}
    install_torch(TARGET, packages, log=log)
    assert all(time != kept[name] for name, time in times_of(packages).items())
    other = replace(packages, directory=packages.directory.with_name("other"))
    other.install(["torch"])
    assert times_of(other) == kept
    assert (other.directory / "torch/cuda/__init__.py").read_text() == CUDA_MODULE


def test_a_header_keeps_its_rights_to_be_read(packages: PackageFolder, package_index: Path, log: Path) -> None:
    write_wheel(package_index / TORCH, files=FOR_13_0 | HEADERS)
    install_torch(TARGET, packages, log=log)
    assert all(os.access(packages.directory / name, os.R_OK) for name in HEADERS)
    assert list(packages.directory.glob("torch/include/**/.*")) == []


@pytest.mark.parametrize(
    ("version_file", "cuda"),
    [
        (b"cuda = '12.8'", r"12\.8"),
        (b"cuda: Optional[str] = '13.2'\nhip: Optional[str] = None\n", r"13\.2"),
        (b"__version__ = '2.11.0+cpu'\ncuda: Optional[str] = None\n", "None"),
        (b"hip = '13.0'", "None"),
        (None, "None"),
    ],
    ids=["older", "newer", "for processors", "another variable", "no file"],
)
def test_a_torch_for_another_cuda_is_refused(
    version_file: bytes | None, cuda: str, packages: PackageFolder, package_index: Path, log: Path
) -> None:
    write_wheel(package_index / TORCH, files={"torch/version.py": version_file} if version_file else {})
    with pytest.raises(BuildError, match=rf"gives torch 2\.11\.0 for CUDA {cuda}, not 13\.0") as refusal:
        install_torch(TARGET, packages, log=log)
    assert refusal.value.hint == "set pip or uv to an index that has torch for that CUDA"


def asked(packages: PackageFolder, *questions: str) -> list[str]:
    """What torch of a build answers."""
    code = "import torch.cuda as cuda\n" + "".join(f"print({question})\n" for question in questions)
    environment = {"PYTHONPATH": str(packages.directory), "PYTHONDONTWRITEBYTECODE": "1"}
    return process.run([sys.executable, "-c", code], env=environment).splitlines()


def test_torch_has_a_gpu_of_each_architecture_that_is_built_for(
    packages: PackageFolder, package_index: Path, log: Path
) -> None:
    write_wheel(package_index / TORCH, files=FOR_13_0 | {"torch/__init__.py": b""})
    several = tuple(map(Architecture.parse, ("8.0", "9.0", "9.0a", "12.0+PTX")))
    install_torch(replace(TARGET, architectures=several), packages, log=log)
    properties = "[(cuda.get_device_properties(n).major, cuda.get_device_properties(n).minor) for n in range(3)]"
    capabilities = ("cuda.get_device_capability()", 'cuda.get_device_capability("cuda:2")', "cuda.get_device_name(1)")
    available = ("cuda.is_available()", "cuda.device_count()", "cuda.current_device()")
    assert asked(packages, *available, properties, *capabilities) == [
        *("True", "3", "0"),
        *("[(8, 0), (9, 0), (12, 0)]", "(8, 0)", "(12, 0)", "NVIDIA sm_90"),
    ]


@pytest.mark.parametrize(
    ("question", "error"),
    [("cuda.synchronize()", "Found no NVIDIA driver"), ("cuda.get_device_properties(2)", "Invalid device id")],
)
def test_what_needs_a_driver_or_another_gpu_fails_as_without_one(
    question: str, error: str, packages: PackageFolder, package_index: Path, log: Path
) -> None:
    write_wheel(package_index / TORCH, files=FOR_13_0 | {"torch/__init__.py": b""})
    install_torch(TARGET, packages, log=log)
    with pytest.raises(ProcessError) as refusal:
        asked(packages, question)
    assert error in refusal.value.tail


def test_a_package_may_have_torch_as_it_is(packages: PackageFolder, package_index: Path, log: Path) -> None:
    write_wheel(package_index / TORCH, files=FOR_13_0)
    as_is = replace(TARGET, package=replace(TARGET.package, gpu_probe="as-is"))
    install_torch(as_is, packages, log=log)
    assert (packages.directory / "torch/cuda/__init__.py").read_text() == CUDA_MODULE
    assert (TARGET.gpus, as_is.gpus) == ((Architecture(9, 0), Architecture(12, 0)), ())


def test_torch_is_not_imported_to_ask_it(packages: PackageFolder, package_index: Path, log: Path) -> None:
    files = FOR_13_0 | {"torch/__init__.py": b"raise SystemExit"}
    write_wheel(package_index / TORCH, files=files)
    install_torch(TARGET, packages, log=log)
    assert packages.distributions() == {"torch": "2.11.0"}


def test_locked_requirements_are_those_of_the_containers_python(
    packages: PackageFolder, package_index: Path, log: Path, tmp_path: Path
) -> None:
    wheels = [write_wheel(package_index / f"{name}-99.0-py3-none-any.whl") for name in ("setuptools", "wheel")]
    native = f"ninja-1.13-cp312-cp312-{CELL.platform.tag('manylinux_2_28')}.whl"
    wheels.append(write_wheel(package_index / native))
    lock = tuple(
        LockedRequirement(requirement="==".join(path.name.split("-")[:2]), sha256=(sha256_of(path),)) for path in wheels
    )
    package = replace(TARGET.package, extra_deps=("torch", "ninja"))
    target = replace(TARGET, package=package, requirements=lock)
    sealed = install_requirements(target, packages, tmp_path, log=log)
    assert sealed.sealed
    assert sealed.distributions() == {"ninja": "1.13", "setuptools": "99.0", "wheel": "99.0"}
