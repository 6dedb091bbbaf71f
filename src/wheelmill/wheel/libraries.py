"""Shared libraries and symbols outside a wheel: torch's, CUDA's, the driver's, the system's, Python's stable ABI.

A stub stands in for the driver's library, ``libcuda.so.1``, which only machines with a GPU have.

https://docs.python.org/3/c-api/stable.html
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from wheelmill.errors import UsageError
from wheelmill.names import PythonVersion, TorchNeed, admits
from wheelmill.system import own_installation, process
from wheelmill.wheel.torch_symbols import TABLE, TableSummary

_HASH_DIGITS: Final = 8
"""Digits of the hash in the name of a copied library."""

DRIVER: Final = "libcuda.so.1"

_OF_DRIVER: Final = ("libcuda", "libnvidia-ml")

_TOOLKIT: Final[Mapping[str, Mapping[int, tuple[int, ...]] | None]] = {
    **dict.fromkeys(("libcudart", "libcublas", "libcublasLt", "libnvblas", "libnvrtc", "libnvrtc-builtins*")),
    **dict.fromkeys(("libnvJitLink", "libnvfatbin", "libcupti", "libnpp*", "libnvjpeg")),
    "libcufft": {10: (11,), 11: (12,), 12: (13,)},
    "libcufftw": {10: (11,), 11: (12,), 12: (13,)},
    "libcusolver": {10: (11,), 11: (11, 12), 12: (13,)},
    "libcusolverMg": {10: (11,), 11: (11, 12), 12: (13,)},
    "libcusparse": {11: (11,), 12: (12, 13)},
    "libcurand": {10: (11, 12, 13)},
}
"""CUDA's libraries, and which CUDA majors have the major that ends their soname; None where it is that of CUDA itself.

https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ says the versions; the sonames are those in NVIDIA's wheels.
"""


def cuda_majors_of(library: str) -> tuple[int, ...]:
    """CUDA majors that have a library with this soname; empty for a library that identifies none."""
    name, _, version = library.partition(".so.")
    major = version.partition(".")[0]
    pattern = next((pattern for pattern in _TOOLKIT if fnmatchcase(name, pattern)), None)
    if pattern is None or not (major.isascii() and major.isdigit()):
        return ()
    majors = _TOOLKIT[pattern]
    return (int(major),) if majors is None else majors.get(int(major), ())


def cuda_major_of(libraries: list[str]) -> int | None:
    """CUDA major of the first library that only one major has; None if there is no such library."""
    return next((majors[0] for library in libraries if len(majors := cuda_majors_of(library)) == 1), None)


def is_of_toolkit(library: str) -> bool:
    """True if the CUDA toolkit has the library."""
    return any(fnmatchcase(library.partition(".so")[0], pattern) for pattern in _TOOLKIT)


@functools.cache
def provided_libraries(torch: TorchNeed | None, machine: str | None) -> frozenset[str]:
    """Libraries that a torch, NVIDIA's wheels that it requires, or the driver bring: ``libgomp``, without ``.so.1``.

    A second copy of one in the same process would clash. Of a range of torches these are the libraries that all of them
    hold; without a torch, that all known ones hold. An unknown torch counts as the newest known one.
    """
    builds = TableSummary.read(own_installation.CONFIG / TABLE).builds
    torches = {build.torch for build in builds if torch is None or admits(torch, build.torch)} or {builds[-1].torch}
    fitting = [build for build in builds if build.torch in torches]
    own = [{name for each in build.libraries if each.machine == machine for name in each.names} for build in fitting]
    of_all = set.intersection(*({_stem(name) for name in names} for names in own))
    return frozenset({*of_all, *(_stem(name) for build in fitting for name in build.nvidia), *_OF_DRIVER})


def is_provided(library: str, torch: TorchNeed | None, machine: str | None) -> bool:
    """True if torch, one of its requirements, or else the driver brings the library; see `provided_libraries`."""
    return _stem(library) in provided_libraries(torch, machine)


def _stem(library: str) -> str:
    return PurePosixPath(library).name.partition(".so")[0]


def is_bundled(member: str) -> bool:
    """True if a member of a wheel is a library that auditwheel copied in, to a folder whose name ends in ``.libs``."""
    return PurePosixPath(member).parts[0].endswith(".libs") and not member.endswith("/")


def original_name(copy: str) -> str:
    """Name before auditwheel copied ``libcudart-d0da41ae.so.13``, or another tool ``libcudart.d0da41ae.so.13``."""
    stem, _, version = PurePosixPath(copy).name.partition(".so")
    name, _, digest = stem.replace("-", ".").rpartition(".")
    is_copy = name and len(digest) == _HASH_DIGITS and set(digest) <= set("0123456789abcdef")
    return f"{stem[: len(name)] if is_copy else stem}.so{version}"


_FUNCTION: Final = re.compile(r"\bcu[A-Z]\w{0,60}\b", re.ASCII)
_STUB_LIBRARY: Final = 34
"""CUDA_ERROR_STUB_LIBRARY, what NVIDIA's own stub returns
(https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html)."""


def driver_functions_in(header: Path) -> set[str]:
    """Functions that ``cuda.h`` declares, and other names of that form, which do no harm."""
    return set(_FUNCTION.findall(header.read_text(errors="replace")))


def is_of_driver(symbol: str) -> bool:
    """True if a symbol is a function of the driver, as ``cuInit`` is and ``cudaMalloc`` or ``cublasCreate`` are not."""
    return _FUNCTION.fullmatch(symbol) is not None


def compile_stub(functions: Iterable[str], library: Path) -> None:
    """Compile a stub, whose functions return an error; raises UsageError without a C compiler, or ProcessError."""
    source = library.with_suffix(".c")
    source.write_text("".join(f"int {name}(void) {{ return {_STUB_LIBRARY}; }}\n" for name in sorted(functions)))
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise UsageError("no-c-compiler", f"there is no C compiler to make a stub of {DRIVER}", hint="install gcc")
    process.run([compiler, "-shared", "-fPIC", "-nostdlib", f"-Wl,-s,-soname={DRIVER}", "-o", library, source])


def is_in_stable_abi(symbol: str, python: PythonVersion) -> bool:
    """True if a symbol is not Python's, or is in the stable ABI of every Python from `python` on."""
    if not symbol.startswith(("Py", "_Py")):
        return True
    from abi3info import DATAS, FUNCTIONS  # slow to import, and few wheels are for the stable ABI
    from abi3info.models import PyVersion, Symbol

    known = FUNCTIONS.get(Symbol(symbol)) or DATAS.get(Symbol(symbol))
    return known is not None and known.added <= PyVersion(python.major, python.minor)


_USUAL: Final = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
"""Folders in which the dynamic linker looks; below them, Debian has a folder for each processor
(https://man7.org/linux/man-pages/man8/ld.so.8.html)."""
_MAX_CONFIGURATION_BYTES: Final = 1 << 16


def system_libraries(*prefixes: Path) -> Iterator[str]:
    """Yield the shared objects in the dynamic linker's folders, and in those of an environment and its Python."""
    named = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry]
    usual = [Path(entry) for entry in _USUAL]
    below = [each for folder in usual if folder.is_dir() for each in folder.glob("*-linux-gnu*")]
    configured = _configured(Path("/etc/ld.so.conf"), {Path("/etc/ld.so.conf")})
    for folder in dict.fromkeys([*named, *(each / "lib" for each in prefixes), *usual, *below, *configured]):
        try:
            yield from (each.name for each in folder.iterdir() if ".so" in each.name)
        except OSError:
            continue


def _configured(file: Path, seen: set[Path]) -> Iterator[Path]:
    try:
        with file.open("rb") as content:
            text = content.read(_MAX_CONFIGURATION_BYTES).decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"]:
            for pattern in words[1:]:
                below = (file.parent / pattern).relative_to("/")
                for path in sorted(Path("/").glob(str(below))):
                    if path not in seen:
                        seen.add(path)
                        yield from _configured(path, seen)
        elif words:
            yield Path(words[0])
