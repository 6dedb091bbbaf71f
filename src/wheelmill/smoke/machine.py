"""What a wheel expects of the machine, of torch or of CUDA's wheels, looked for before it is imported."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from wheelmill.config.model import Need
from wheelmill.smoke.environment import SmokeEnvironment, evaluate
from wheelmill.smoke.evidence import Contents
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.findings import Code, Finding, some_of
from wheelmill.wheel.libraries import DRIVER, compile_stub, is_of_driver, is_of_toolkit
from wheelmill.wheel.shared_objects import open_symbols

_LOADABLE: Final = """
import ctypes, json, sys
try:
    import torch  # which loads the libraries that it brings
except ImportError:
    pass
def loads(name):
    try:
        return bool(ctypes.CDLL(name))
    except OSError:
        return False
print(json.dumps([name for name in sys.argv[1:] if loads(name)]))
"""

_GPUS: Final = """
import ctypes, json
count = ctypes.c_int(0)
try:
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
except OSError:
    pass
print(json.dumps(count.value))
"""
"""https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html"""

_OF_CUDA: Final = ("cu", "__cuda", "nvrtc")
"""How the symbols of the driver, the CUDA runtime and related libraries begin."""

_UNDEFINED: Final = """
import ctypes, glob, json, sys, sysconfig
try:
    import torch  # which loads its libraries, so that they are found by name
except ImportError:
    pass
def defines(library, symbol):
    try:
        return bool(library[symbol])
    except AttributeError:
        return False
needed, missing = json.loads(sys.argv[1]), sys.argv[2:]
site = sysconfig.get_path("purelib")
beside = [name for part in ("torch", "nvidia/*") for name in sorted(glob.glob(f"{site}/{part}/lib/*.so*"))]
for name in [None, *needed, *beside]:
    if not missing:
        break
    try:
        library = ctypes.CDLL(name)
    except OSError:
        continue
    missing = [symbol for symbol in missing if not defines(library, symbol)]
print(json.dumps(missing))
"""
"""Asks the dynamic linker, in the order in which it looks: the process itself, what the wheel names, what is there."""

_LOAD_STUB: Final = """
import base64, ctypes, os, zlib
stub = os.memfd_create("libcuda.so.1")
os.write(stub, zlib.decompress(base64.b64decode({stub!r})))
ctypes.CDLL(f"/proc/self/fd/{{stub}}")
"""
"""Whatever needs libcuda.so.1 later finds the stub: the dynamic linker compares the sonames of loaded libraries."""

_MOST_FUNCTIONS: Final = 1000
"""Symbols of a stub, which travels on a command line; the driver has 700."""


def absent_libraries(contents: Contents, environment: SmokeEnvironment) -> tuple[str, ...]:
    """Libraries that a wheel may expect of its machine and that this one lacks, so that it cannot be imported here.

    Args:
        contents: the opened wheel, which says what it needs and what a machine may lack; the driver always is one.
        environment: where torch is installed already, if the wheel needs it.
    """
    needs = contents.expectations.needs
    of_the_machine = [name for name in contents.evidence.needed if name == DRIVER or _need_of(name) in needs]
    if "driver" in needs and DRIVER not in of_the_machine:
        of_the_machine.append(DRIVER)
    if not of_the_machine:
        return ()
    loadable = evaluate(environment, list[str], _LOADABLE, *of_the_machine)
    return tuple(name for name in of_the_machine if name not in loadable)


def _need_of(library: str) -> Need | None:
    """The `needs` of packages whose wheels leave a library of CUDA to the machine."""
    if library.startswith("libnvrtc"):
        return "nvrtc"
    return "cuda" if is_of_toolkit(library) else None


def code_before_import(contents: Contents, absent: Sequence[str]) -> str | None:
    """Write the Python that loads a stub of the driver, where packages.yml says that modules need one to be imported.

    Args:
        contents: the opened wheel, whose calls of the driver the stub has.
        absent: libraries that the environment lacks.

    Returns:
        No code where nothing is absent; None where modules cannot be imported.

    Raises:
        UsageError: this machine has no C compiler to make the stub with.
        ProcessError: the compiler failed.
    """
    if not absent:
        return ""
    if tuple(absent) != (DRIVER,) or contents.expectations.import_needs != "driver":
        return None
    functions = sorted(filter(is_of_driver, open_symbols(contents.shared_objects)))
    with temporary_folder() as folder:
        library = folder / DRIVER
        compile_stub(functions[:_MOST_FUNCTIONS], library)
        packed = base64.b64encode(zlib.compress(library.read_bytes(), 9))
    return _LOAD_STUB.format(stub=packed.decode())


def gpus_in(environment: SmokeEnvironment) -> int:
    """The number of GPUs that the driver reports; 0 without a driver."""
    return evaluate(environment, int, _GPUS)


def undefined_symbols(contents: Contents, environment: SmokeEnvironment, *, without_cuda: bool) -> Iterator[Finding]:
    """Find symbols that neither Python nor torch nor CUDA defines.

    Args:
        contents: the opened wheel, with its evidence.
        environment: where it is not installed yet, and torch is if it needs that.
        without_cuda: whether the environment lacks libraries of CUDA that the wheel rightly expects of its machine.

    Raises:
        ProcessError: torch or a library of CUDA cannot be loaded.
    """
    symbols = open_symbols(contents.shared_objects)
    if without_cuda:
        symbols = frozenset(name for name in symbols if not name.startswith(_OF_CUDA))
    if not symbols:
        return
    missing = evaluate(environment, list[str], _UNDEFINED, json.dumps(contents.evidence.needed), *sorted(symbols))
    if missing:
        yield Finding(
            code=Code.UNDEFINED_SYMBOL,
            detail=f"nothing defines {some_of(missing)}; neither Python nor torch nor CUDA does",
        )
