"""Facts about a target interpreter, as one JSON object on stdout.

This file runs in the target: any Python from 3.8 on, with nothing of ours installed. torch is not imported: that takes
seconds, and fails just where help is needed most.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import platform
import sys
import sysconfig
from importlib.machinery import PathFinder

CMAKE = ("share", "cmake", "Torch", "TorchConfig.cmake")


def main() -> None:
    """Print the facts."""
    print(  # noqa: T201
        json.dumps(
            {
                "implementation": sys.implementation.name,
                "executable": sys.executable,
                "base": getattr(sys, "_base_executable", ""),
                "python": platform.python_version(),
                "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
                "platform": sysconfig.get_platform().replace("-", "_").replace(".", "_"),
                "glibc": glibc(),
                "torch": torch(),
                "driver_cuda": driver_cuda(),
            }
        )
    )


def glibc() -> str | None:
    """Read the version of glibc: ``2.36``; None if the C library is another one."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, OSError, ValueError):
        return None
    return version if name == "glibc" else None


def torch() -> dict[str, object] | None:
    """Read ``torch/version.py``, and the C++ ABI in torch's CMake file."""
    spec = PathFinder.find_spec("torch")
    folder = next(iter((spec and spec.submodule_search_locations) or ()), None)
    if folder is None:
        return None
    facts: dict[str, object] = {"folder": folder}
    try:
        tree = ast.parse(read(folder, "version.py"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
            facts[target.id] = value.value
    try:
        _, named, rest = read(folder, *CMAKE).partition("_GLIBCXX_USE_CXX11_ABI=")
    except OSError:
        named, rest = "", ""
    facts["cxx11_abi"] = rest.startswith("1") if named else None
    return facts


def read(*names: str) -> str:
    """Read the beginning of a regular file."""
    path = os.path.join(*names)  # noqa: PTH118
    if not os.path.isfile(path):  # noqa: PTH113
        raise OSError(path)
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return file.read(1 << 20)


def driver_cuda() -> int | None:
    """Return the CUDA of the driver, 1000 times the major plus 10 times the minor release; None without a driver."""
    # https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__VERSION.html
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    number = ctypes.c_int()
    try:
        failed = ctypes.CDLL(name).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed or not number.value else number.value


if __name__ == "__main__":
    main()
