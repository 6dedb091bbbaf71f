"""Torch and locked requirements, variables and parallel compilers of a build, and its CUDA home."""

import ctypes
import itertools
import json
import os
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Literal, get_args

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import CELL, TARGET, TOOLKIT_PARTS, write_toolkit
from tests.wheels import write_wheel
from wheelmill.build.environment import (
    HEADERS as CUDA_HEADERS,
)
from wheelmill.build.environment import (
    complete_toolkit,
    has_toolkit,
    install_own_wheels,
    install_packages,
    install_requirements,
    install_torch,
    library_variables,
    provide_toolkit,
    variables_of,
)
from wheelmill.config.model.files import LockedRequirement, LockedSdist
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_fields import Component, OwnWheel
from wheelmill.config.model.package_parts import ArchVariable
from wheelmill.errors import BuildError, ProcessError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import Architecture, CudaVersion, PythonVersion, Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import process
from wheelmill.system.files import sha256_of
from wheelmill.system.hardware import MEMORY_PER_COMPILER, Parallelism, parallelism_for

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


@dataclass(frozen=True, kw_only=True)
class UnpackedPackages(PackageFolder):
    """Takes whatever the package index has without an installer, which adds nothing to what is done with torch then."""

    index: Path

    def install(self, requirements: Sequence[str], **_: object) -> None:  # noqa: ARG002 - all that there is
        """Unpack all wheels."""
        for wheel in self.index.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.directory)


@pytest.fixture
def packages(package_index: Path) -> PackageFolder:
    """An empty folder for a Python that is not running, beside the package index."""
    folder = package_index.parent / "packages"
    return PackageFolder(directory=folder, python=PythonVersion(3, 12), platform=CELL.platform)


@pytest.fixture
def unpacked(tmp_path: Path) -> UnpackedPackages:
    """An empty folder, beside one of wheels."""
    return UnpackedPackages(directory=tmp_path / "packages", python=PythonVersion(3, 12), index=tmp_path / "wheels")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def times_of(packages: PackageFolder) -> dict[str, int]:
    return {name: (packages.directory / name).stat().st_mtime_ns for name in HEADERS}


def test_every_header_has_a_time_of_its_own_and_the_same_in_every_build(unpacked: UnpackedPackages, log: Path) -> None:
    """GCC's `#pragma once` takes two files of equal content, size and time for one."""
    write_wheel(unpacked.index / TORCH, files=FOR_13_0 | HEADERS)
    install_torch(TARGET, unpacked, log=log)
    first = times_of(unpacked)
    assert len(set(first.values())) == len(HEADERS)
    assert {time % 10**9 for time in first.values()} == {0}  # GCC compares seconds
    again = replace(unpacked, directory=unpacked.directory.with_name("again"))
    install_torch(TARGET, again, log=log)
    assert times_of(again) == first
    for name, content in HEADERS.items():
        assert (again.directory / name).read_bytes() == content
        assert os.access(again.directory / name, os.R_OK)
    assert list(again.directory.glob("torch/include/**/.*")) == []


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


@pytest.mark.parametrize(
    ("version_file", "cuda"),
    [
        (b"cuda = '12.8'", "12.8"),
        (b"cuda: Optional[str] = '13.2'\nhip: Optional[str] = None\n", "13.2"),
        (b"__version__ = '2.11.0+cpu'\ncuda: Optional[str] = None\n", "None"),
        (b"hip = '13.0'", "None"),
        (None, "None"),
    ],
    ids=["older", "newer", "for processors", "another variable", "no file"],
)
def test_an_unfit_torch_refused(version_file: bytes | None, cuda: str, unpacked: UnpackedPackages, log: Path) -> None:
    write_wheel(unpacked.index / TORCH, files={"torch/version.py": version_file} if version_file else {})
    with pytest.raises(BuildError, check=coded("torch-for-another-cuda", "2.11.0", "13.0", cuda)):
        install_torch(TARGET, unpacked, log=log)


def asked(packages: PackageFolder, *questions: str) -> list[str]:
    """What torch of a build answers, or fails with."""
    code = f"""
import torch.cuda as cuda
for question in {questions}:
    try:
        print(eval(question))
    except (AssertionError, RuntimeError) as error:
        print(error)
"""
    environment = {"PYTHONPATH": str(packages.directory), "PYTHONDONTWRITEBYTECODE": "1"}
    return process.run([sys.executable, "-c", code], env=environment).splitlines()


def test_torch_has_a_gpu_of_each_planned_architecture_and_else_none(unpacked: UnpackedPackages, log: Path) -> None:
    write_wheel(unpacked.index / TORCH, files=FOR_13_0 | {"torch/__init__.py": b""})
    several = tuple(map(Architecture.parse, ("8.0", "9.0", "9.0a", "12.0+PTX")))
    install_torch(replace(TARGET, architectures=several), unpacked, log=log)
    properties = "[(cuda.get_device_properties(n).major, cuda.get_device_properties(n).minor) for n in range(3)]"
    capabilities = ("cuda.get_device_capability()", 'cuda.get_device_capability("cuda:2")', "cuda.get_device_name(1)")
    available = ("cuda.is_available()", "cuda.device_count()", "cuda.current_device()")
    failing = ("cuda.synchronize()", "cuda.get_device_properties(3)")
    assert asked(unpacked, *available, properties, *capabilities, *failing) == [
        *("True", "3", "0"),
        *("[(8, 0), (9, 0), (12, 0)]", "(8, 0)", "(12, 0)", "NVIDIA sm_90"),
        *("Found no NVIDIA driver on your system.", "Invalid device id"),
    ]


def test_a_package_may_have_torch_as_it_is(unpacked: UnpackedPackages, log: Path) -> None:
    write_wheel(unpacked.index / TORCH, files=FOR_13_0)
    as_is = replace(TARGET, package=replace(TARGET.package, gpu_probe="as-is"))
    install_torch(as_is, unpacked, log=log)
    assert (unpacked.directory / "torch/cuda/__init__.py").read_text() == CUDA_MODULE
    assert (TARGET.gpus, as_is.gpus) == ((Architecture(9, 0), Architecture(12, 0)), ())


@pytest.fixture
def native(package_index: Path) -> PackageFolder:
    """An empty folder for the Python of the tests; the package index has what every build needs."""
    for name in ("setuptools", "wheel"):
        write_wheel(package_index / f"{name}-99.0-py3-none-any.whl")
    python = PythonVersion(*sys.version_info[:2])
    return PackageFolder(directory=package_index.parent / "packages", python=python, interpreter=Path(sys.executable))


WITHOUT_TORCH = replace(TARGET, cell=replace(CELL, torch=None), torch_release=None)


def locked(target: BuildTarget, *wheels: Path) -> BuildTarget:
    """A target whose lock has these wheels."""
    pins = {"==".join(wheel.name.split("-")[:2]): sha256_of(wheel) for wheel in wheels}
    requirements = tuple(LockedRequirement(requirement=text, sha256=(sha256,)) for text, sha256 in pins.items())
    return replace(target, requirements=requirements)


def test_lock_and_torch_are_installed(native: PackageFolder, package_index: Path, tmp_path: Path, log: Path) -> None:
    needs = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\nRequires-Dist: ninja\n"
    torch = {"torch/version.py": b"cuda: Optional[str] = '13.0'", "torch/cuda/__init__.py": b""}
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl", metadata=needs, files=torch)
    write_wheel(package_index / "ninja-2.0-py3-none-any.whl")
    old = write_wheel(package_index / "ninja-1.13-py3-none-any.whl")
    package = replace(TARGET.package, extra_deps=("torch", "ninja"))
    target = locked(replace(TARGET, package=package), old, *package_index.glob("*-99.0-*"))
    installed = install_packages(target, native, tmp_path, log=log)
    assert installed.distributions() == {"ninja": "1.13", "setuptools": "99.0", "torch": "2.11.0", "wheel": "99.0"}


def test_nothing_is_added_to_the_lock(native: PackageFolder, package_index: Path, tmp_path: Path, log: Path) -> None:
    write_wheel(package_index / "ninja-1.13-py3-none-any.whl")
    target = locked(WITHOUT_TORCH, *package_index.glob("*-99.0-*"))
    packages = install_packages(target, native, tmp_path, log=log)
    packages.install(["setuptools>=60"])
    with pytest.raises(ProcessError) as refusal:
        packages.install(["ninja"])
    assert "ninja was not found" in refusal.value.tail
    assert packages.distributions() == {"setuptools": "99.0", "wheel": "99.0"}


@pytest.mark.parametrize("target", [WITHOUT_TORCH, TARGET], ids=["locked", "installed with torch before"])
def test_other_bytes_than_those_of_the_lock_are_a_build_error(
    target: BuildTarget, native: PackageFolder, package_index: Path, tmp_path: Path, log: Path
) -> None:
    needs = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\nRequires-Dist: wheel\n"
    torch = {"torch/version.py": b"cuda: Optional[str] = '13.0'", "torch/cuda/__init__.py": b""}
    write_wheel(package_index / TORCH, metadata=needs, files=torch)
    target = locked(target, *package_index.glob("*-99.0-*"))
    write_wheel(package_index / "wheel-99.0-py3-none-any.whl", files={"wheel.py": b"evil"})
    with pytest.raises(BuildError, check=coded("requirements-not-installed", "ash mismatch")):
        install_packages(target, native, tmp_path, log=log)


def test_an_outdated_lock_is_an_error(native: PackageFolder, package_index: Path, tmp_path: Path, log: Path) -> None:
    package = replace(TARGET.package, extra_deps=("torch", "cmake"))
    target = locked(replace(WITHOUT_TORCH, package=package), *package_index.glob("*-99.0-*"))
    with pytest.raises(BuildError, check=coded("lock-outdated", "cmake", "wheelmill config lock demo")):
        install_packages(target, native, tmp_path, log=log)


OF_CMAKE = replace(TARGET.package, extra_deps=("cmake",))


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        (WITHOUT_TORCH, ("not-locked", "wheelmill config lock demo")),
        (TARGET, ("torch-not-installed", "2.11.0")),
        (replace(WITHOUT_TORCH, package=OF_CMAKE, source=Path("project")), ("requirements-not-installed", "cmake")),
    ],
)
def test_what_is_not_locked_or_nowhere_is_a_build_error(
    target: BuildTarget, refusal: tuple[str, str], native: PackageFolder, tmp_path: Path, log: Path
) -> None:
    with pytest.raises(BuildError, check=coded(*refusal)):
        install_packages(target, native, tmp_path, log=log)


def test_the_lock_is_for_this_python(packages: PackageFolder, package_index: Path, log: Path, tmp_path: Path) -> None:
    wheels = [write_wheel(package_index / f"{name}-99.0-py3-none-any.whl") for name in ("setuptools", "wheel")]
    native = f"ninja-1.13-cp312-cp312-{CELL.platform.tag('manylinux_2_28')}.whl"
    wheels.append(write_wheel(package_index / native))
    package = replace(TARGET.package, extra_deps=("torch", "ninja"))
    target = locked(replace(TARGET, package=package), *wheels)
    sealed = install_requirements(target, packages, tmp_path, log=log)
    assert sealed.sealed
    assert sealed.distributions() == {"ninja": "1.13", "setuptools": "99.0", "wheel": "99.0"}


GENCODE = "-gencode=arch=compute"
NEWEST_ALONE = (Architecture(9, 0, "a"), Architecture(12, 0, ptx=True))


def variables(package: Package = TARGET.package, **changes: object) -> dict[str, str]:
    target = replace(TARGET, package=package, **changes)  # type: ignore[arg-type]  # names
    places = {"packages": PurePath("/packages"), "toolkit": PurePath("/cuda")}
    return variables_of(target, Parallelism(jobs=4, threads=2), **places)


def test_the_build_is_told_what_to_compile_for_and_how_many_compilers_may_run() -> None:
    told = variables()
    assert told["TORCH_CUDA_ARCH_LIST"] == "9.0;12.0+PTX"
    assert told["CUDAARCHS"] == "90-real;120"
    assert (told["MAX_JOBS"], told["NVCC_THREADS"]) == ("4", "2")
    assert "WHEELMILL_GENCODE" not in told


def test_variables_of_the_package_have_the_last_word() -> None:
    told = variables(replace(TARGET.package, env={"MAX_JOBS": "1000", "FORCE_CUDA": "1"}))
    assert (told["MAX_JOBS"], told["FORCE_CUDA"]) == ("1000", "1")


def test_a_version_is_an_input_of_a_build_whose_source_has_lost_git(tmp_path: Path) -> None:
    names = {name for name, value in variables(source=tmp_path).items() if value == TARGET.cell.version}
    named = f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{TARGET.cell.project.upper().replace('-', '_')}"
    general = {"SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "POETRY_DYNAMIC_VERSIONING_BYPASS"}
    assert names == {named, *general}
    sdist = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("0" * 64))
    assert names.isdisjoint(variables(source=sdist))  # it has its version


def test_flags_of_the_target_stand_behind_those_of_every_build() -> None:
    told = variables(nvcc_flags=("--compress-mode=size", "-lineinfo"))
    assert told["NVCC_APPEND_FLAGS"] == "--frandom-seed=wheelmill --threads=2 --compress-mode=size -lineinfo"


@pytest.mark.parametrize(("form", "value"), [("dotted", "9.0a;12.0"), ("digits", "90a;120"), ("cmake", "90a-real;120")])
def test_a_package_has_its_variable_of_architectures(form: Literal["dotted", "digits", "cmake"], value: str) -> None:
    env = {"CMAKE_ARGS": f"-DDEMO=on -DARCHS={{architectures:{form}}} -DMORE={{other}}"}
    package = replace(TARGET.package, arch_variable=ArchVariable(name="DEMO_ARCHS", form=form), env=env)
    told = variables(package, architectures=NEWEST_ALONE)
    assert told["DEMO_ARCHS"] == value
    assert told["CMAKE_ARGS"] == f"-DDEMO=on -DARCHS={value} -DMORE={{other}}"
    assert told["TORCH_CUDA_ARCH_LIST"] == "9.0a;12.0+PTX"


@pytest.mark.parametrize(
    ("architectures", "gencode", "known_to_torch"),
    [
        (
            TARGET.architectures,
            f"{GENCODE}_90,code=sm_90 {GENCODE}_120,code=sm_120 {GENCODE}_120,code=compute_120",
            "9.0;12.0+PTX",
        ),
        (  # torch 2.14's extension builder refuses 10.0f
            (Architecture(9, 0, "a"), Architecture(10, 0, "f")),
            f"{GENCODE}_90a,code=sm_90a {GENCODE}_100f,code=sm_100f",
            "9.0a;10.0",
        ),
    ],
    ids=["with PTX", "of a family"],
)
def test_architectures_are_replaced(architectures: tuple[Architecture, ...], gencode: str, known_to_torch: str) -> None:
    told = variables(replace(TARGET.package, gencode="replace"), architectures=architectures)
    assert (told["WHEELMILL_GENCODE"], told["TORCH_CUDA_ARCH_LIST"]) == (gencode, known_to_torch)


@pytest.mark.parametrize(
    ("architectures", "cores", "compilers_in_memory", "expected"),
    [
        (1, 8, 100, Parallelism(jobs=8, threads=1)),
        (1, 8, 3, Parallelism(jobs=3, threads=1)),
        (4, 16, 16, Parallelism(jobs=8, threads=2)),
        (4, 16, 5, Parallelism(jobs=2, threads=2)),
        (4, 16, 1, Parallelism(jobs=1, threads=1)),
        (4, 16, 0.5, Parallelism(jobs=1, threads=1)),
        (4, 1, 100, Parallelism(jobs=1, threads=1)),
    ],
)
def test_cores_are_divided(architectures: int, cores: int, compilers_in_memory: float, expected: Parallelism) -> None:
    memory = int(compilers_in_memory * MEMORY_PER_COMPILER)
    assert parallelism_for(architectures, cores=cores, memory=memory) == expected


def test_compilers_never_need_more_memory_than_there_is() -> None:
    for architectures, cores, compilers in itertools.product(range(1, 6), range(1, 20), range(1, 20)):
        each = architectures << 30
        chosen = parallelism_for(architectures, per_compiler=each, cores=cores, memory=compilers * each)
        assert chosen.jobs * chosen.threads <= compilers
        assert chosen.jobs <= cores
        assert chosen.threads <= architectures


def test_this_machine_is_asked_when_nothing_is_told() -> None:
    assert 1 <= parallelism_for(1).jobs <= len(os.sched_getaffinity(0))


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


def test_an_own_toolkit(home: Path, nowhere: PackageFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_an_unfit_toolkit(part: str, content: str | None, home: Path, nowhere: PackageFolder, tmp_path: Path) -> None:
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
def toolkit_packages(package_index: Path) -> PackageFolder:
    """An empty folder beside the package index."""
    python = PythonVersion(*sys.version_info[:2])
    return PackageFolder(directory=package_index.parent / "packages", python=python, interpreter=Path(sys.executable))


def test_wheels_become_a_cuda_home(toolkit_packages: PackageFolder, package_index: Path, tmp_path: Path) -> None:
    parts = {"lib/libcudart.so.13": b"the library", "include/cuda.h": b"CUresult CUDAAPI cuInit(unsigned int Flags);"}
    files = {f"nvidia/cu13/{name}": content for name, content in parts.items()}
    write_wheel(package_index / "cuda_toolkit-13.0.99-py3-none-any.whl", files=files)
    home = provide_toolkit(CUDA_13, "13.0.99", toolkit_packages, log=tmp_path / "log")
    assert home == toolkit_packages.directory / "nvidia" / "cu13"
    complete_toolkit(home)
    complete_toolkit(home)
    assert (home / "lib64" / "libcudart.so").read_bytes() == b"the library"
    stub = ctypes.CDLL(str(home / "lib64" / "stubs" / "libcuda.so.1"))
    assert stub.cuInit(0) == 34  # CUDA_ERROR_STUB_LIBRARY


def test_components_have_the_metapackages_names(
    toolkit_packages: PackageFolder, package_index: Path, tmp_path: Path
) -> None:
    extras = {"profiler": "nvidia-cuda-profiler-api", "curand": "nvidia-curand", "cublas": "nvidia-cublas"}
    requires = "".join(f"Requires-Dist: {name} ; extra == '{extra}'\n" for extra, name in extras.items())
    metadata = f"Metadata-Version: 2.1\nName: cuda-toolkit\nVersion: 13.0.99\n{requires}"
    write_wheel(package_index / "cuda_toolkit-13.0.99-py3-none-any.whl", metadata=metadata)
    for name in extras.values():
        write_wheel(package_index / f"{name.replace('-', '_')}-13.0-py3-none-any.whl")
    components: tuple[Component, ...] = ("curand", "profiler-api", "nccl")
    provide_toolkit(CUDA_13, "13.0.99", toolkit_packages, components=components, log=tmp_path / "log")
    assert toolkit_packages.distributions().keys() == {"cuda-toolkit", "nvidia-curand", "nvidia-cuda-profiler-api"}


def test_an_incomplete_toolkit_is_passed_over_by_name(home: Path, nowhere: PackageFolder, tmp_path: Path) -> None:
    (home / "include" / "curand_kernel.h").touch()
    components: tuple[Component, ...] = ("curand", "cudnn")
    assert provide_toolkit(CUDA_12, RELEASE, nowhere, components=components, log=tmp_path / "log") == home
    with pytest.raises(BuildError, check=coded("no-toolkit", RELEASE, "cublas", home)):
        provide_toolkit(CUDA_12, RELEASE, nowhere, components=("curand", "cublas"), log=tmp_path / "log")


def test_a_release_without_wheels_is_a_build_error(toolkit_packages: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("toolkit-not-installed", "13.0.99")):
        provide_toolkit(CUDA_13, "13.0.99", toolkit_packages, log=tmp_path / "log")


PACKAGES, TOOLKIT = PurePosixPath("/packages"), PurePosixPath("/cuda")
WITH_NCCL = replace(TARGET, package=replace(TARGET.package, toolkit=("cublas", "nccl")))
NCCL = {"nvidia/nccl/lib/libnccl.so.2": b"the library"}


def test_every_component_is_in_the_toolkit_or_in_a_wheel_of_its_own() -> None:
    assert {*CUDA_HEADERS, *get_args(OwnWheel)} == {*get_args(Component)}


@pytest.mark.parametrize(("pinned", "version"), [([], "2.30"), (["nvidia-nccl-cu13==2.28"], "2.28")])
def test_what_is_in_no_toolkit_is_installed_for_the_cuda_of_the_build_unless_torch_pinned_it(
    pinned: list[str], version: str, toolkit_packages: PackageFolder, package_index: Path, tmp_path: Path
) -> None:
    for offered in ("2.28", "2.30"):
        write_wheel(package_index / f"nvidia_nccl_cu13-{offered}-py3-none-any.whl", files=NCCL)
    toolkit_packages.install(pinned)
    install_own_wheels(WITH_NCCL, toolkit_packages, log=tmp_path / "log")
    assert toolkit_packages.distributions() == {"nvidia-nccl-cu13": version}
    assert (toolkit_packages.directory / "nvidia" / "nccl" / "lib" / "libnccl.so").read_bytes() == b"the library"


def test_what_no_index_has_is_a_named_build_error(toolkit_packages: PackageFolder, tmp_path: Path) -> None:
    with pytest.raises(BuildError, check=coded("toolkit-component-absent", "nvidia-nccl-cu13")):
        install_own_wheels(WITH_NCCL, toolkit_packages, log=tmp_path / "log")


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
