"""A stub of the driver's library, ``libcuda.so.1``, which only machines with a GPU have."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from wheelmill.errors import UsageError
from wheelmill.system import process
from wheelmill.wheel.libraries import DRIVER

_FUNCTION: Final = re.compile(r"\bcu[A-Z]\w{0,60}\b", re.ASCII)
_STUB_LIBRARY: Final = 34
"""CUDA_ERROR_STUB_LIBRARY, what NVIDIA's own stub returns
(https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html)."""


def driver_functions_in(header: Path) -> set[str]:
    """The functions that ``cuda.h`` declares, and other names of that form, which do no harm."""
    return set(_FUNCTION.findall(header.read_text(errors="replace")))


def is_of_driver(symbol: str) -> bool:
    """Whether a symbol is a function of the driver, as ``cuInit`` is and ``cudaMalloc`` or ``cublasCreate`` are not."""
    return _FUNCTION.fullmatch(symbol) is not None


def compile_stub(functions: Iterable[str], library: Path) -> None:
    """Compile a stub with this machine's C compiler; each of its functions returns that it is a stub.

    Args:
        functions: the functions that are there.
        library: the file to write; its folder exists.

    Raises:
        UsageError: there is no C compiler.
        ProcessError: the compiler failed.
    """
    source = library.with_suffix(".c")
    source.write_text("".join(f"int {name}(void) {{ return {_STUB_LIBRARY}; }}\n" for name in sorted(functions)))
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        raise UsageError(
            "no-c-compiler", f"a stub of {DRIVER} is needed, and there is no C compiler to make it", hint="install gcc"
        )
    process.run([compiler, "-shared", "-fPIC", "-nostdlib", f"-Wl,-s,-soname={DRIVER}", "-o", library, source])
