"""What a wheel may ask of the machine and not of other wheels: NVIDIA's driver, a GPU, an installed toolkit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wheelmill.config.model import Expectations, Need
from wheelmill.smoke.environment import SmokeEnvironment, evaluate
from wheelmill.smoke.verdict import Evidence

DRIVER: Final = "libcuda.so.1"

_MAY_BE_ABSENT: Final[Mapping[Need, tuple[str, ...]]] = {
    "cuda": ("libcudart.", "libcublas.", "libcublasLt.", "libcufft.", "libcurand.", "libcusolver.", "libcusparse."),
    "nvrtc": ("libnvrtc.",),
}

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


def absent_libraries(evidence: Evidence, expectations: Expectations, environment: SmokeEnvironment) -> tuple[str, ...]:
    """Libraries that a wheel rightly expects of its machine and that this one lacks, so that it cannot be imported.

    Args:
        evidence: the evidence of a wheel, with the libraries that it needs.
        expectations: which of them a machine may lack; the driver always is one.
        environment: where torch is installed already, if the wheel needs it.
    """
    prefixes = tuple(prefix for need in expectations.needs for prefix in _MAY_BE_ABSENT.get(need, ()))
    of_the_machine = [name for name in evidence.needed if name == DRIVER or name.startswith(prefixes)]
    if "driver" in expectations.needs and DRIVER not in of_the_machine:
        of_the_machine.append(DRIVER)
    if not of_the_machine:
        return ()
    loadable = evaluate(environment, list[str], _LOADABLE, *of_the_machine)
    return tuple(name for name in of_the_machine if name not in loadable)


def gpus_in(environment: SmokeEnvironment) -> int:
    """How many GPUs the driver shows; 0 without a driver."""
    return evaluate(environment, int, _GPUS)
