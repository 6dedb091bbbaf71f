"""What a build takes and gives, in small."""

import json
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.shared_objects import compile_once
from wheelmill.build.provenance import Provenance
from wheelmill.config.model import Expectations
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_fields import BuildArguments
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    Sha256,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.targets import BuildTarget, Cell

MACHINE: Final = platform.machine()
CALLS_THE_FUTURE: Final = "void from_the_future(void); void call(void) { from_the_future(); }"
TOOLKIT_PARTS: Final = ("bin/nvcc", "include/cuda_runtime.h", "lib64/libcudart_static.a")

CELL: Final = Cell(
    project=project_name("demo"),
    version=project_version("1.0"),
    python=PythonVersion(3, 11),
    cuda=CudaVersion(13, 0),
    torch=TorchVersion(2, 11),
    platform=Platform("linux", MACHINE),
)

TARGET: Final = BuildTarget(
    cell=CELL,
    package=Package(
        name=CELL.project,
        versions=(CELL.version,),
        build_args=BuildArguments(isolation=False),
        extra_deps=("torch",),
        architectures=(Architecture(9, 0), Architecture(12, 0, ptx=True)),
        description="A package of the tests",
    ),
    source=None,
    toolkit="13.0.2",
    torch_release="2.11.0",
    torch_backend=None,
    architectures=(Architecture(9, 0), Architecture(12, 0, ptx=True)),
    pythons=(CELL.python,),
)


def target_of(folder: Path) -> BuildTarget:
    """A target that is built from a folder of the configuration."""
    return replace(TARGET, source=folder, package=package_in(folder.parent))


def package_in(directory: Path, *patches: Path) -> Package:
    """The package of the target, in a configuration folder that has these patches."""
    return replace(TARGET.package, directory=directory, patches=patches)


PROVENANCE: Final = Provenance(
    sha256=Sha256("0" * 64),
    cell=CELL,
    architectures=TARGET.architectures,
    source_sha256=Sha256("1" * 64),
    patches=(),
    pythons=(CELL.python,),
    expectations=Expectations(imports=("demo",)),
    toolkit=TARGET.toolkit,
    torch_release=TARGET.torch_release,
    gpus=TARGET.gpus,
    build_environment=("torch==2.11.0",),
    images=(),
    seconds=0.1,
)


def compile_shared_object(
    path: Path, code: str = "", *, needs: Sequence[Path] = (), linker: Sequence[str] = (), versions: str = ""
) -> Path:
    """Compile C into a shared object; ``linker`` as in ``-soname=libcudart.so.13``, ``versions`` a version script."""
    script = ("--version-script=versions.map",) if versions else ()
    arguments = [f"-Wl,{argument}" for argument in ("--no-as-needed", *linker, *script)]
    command: list[str | Path] = ["gcc", "-shared", "-fPIC", "-nostdlib", *arguments, "source.c", *needs]
    return compile_once(path, command, {"source.c": code, "versions.map": versions})


def compile_future_glibc(folder: Path) -> Path:
    """Compile a stand-in for a glibc that no platform tag promises yet, with ``from_the_future@GLIBC_2.99``."""
    return compile_versioned(folder, "libc.so.6", "GLIBC_2.99")


def compile_versioned(folder: Path, soname: str, version: str) -> Path:
    """Compile a library that has ``from_the_future`` in a version of its own."""
    versions = f"{version} {{ from_the_future; }};"
    code = "void from_the_future(void) {}"
    return compile_shared_object(folder / soname, code, linker=[f"-soname={soname}"], versions=versions)


def write_toolkit(home: Path, release: str) -> Path:
    """Write what makes a folder a whole CUDA toolkit of a release."""
    for part in TOOLKIT_PARTS:
        (home / part).parent.mkdir(parents=True)
        (home / part).touch()
    (home / "version.json").write_text(json.dumps({"cuda": {"version": release}}))
    return home


@cache
def _uv_cache() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="wheelmill-uv-cache-")


@contextmanager
def package_index_of(wheels: Path) -> Iterator[Path]:
    """Set this machine to an index of a folder's wheels alone; uv shares its cache, which knows interpreters."""
    empty = wheels / "empty"
    empty.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_DEFAULT_INDEX", empty.as_uri())
        patch.setenv("UV_FIND_LINKS", str(wheels))
        patch.setenv("UV_CACHE_DIR", _uv_cache().name)
        yield wheels


@pytest.fixture
def package_index(tmp_path: Path) -> Iterator[Path]:
    """The folder whose wheels are all that can be installed."""
    with package_index_of(tmp_path / "wheels") as wheels:
        yield wheels
