"""Processor, NVIDIA driver and GPUs of this machine, and the compilers that its cores and memory allow at once.

Driver and GPUs are detected in the order that uv documents:
https://docs.astral.sh/uv/guides/integration/pytorch/#automatic-backend-selection
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from packaging.version import Version

from wheelmill.errors import UsageError, WheelmillError
from wheelmill.names import Architecture, Gpu
from wheelmill.system import process
from wheelmill.system.process import find_program

_SYSFS: Final = Path("/sys/module/nvidia/version")
_PROCFS: Final = Path("/proc/driver/nvidia/version")
_DEVICES: Final = Path("/dev")
_WSL: Final = Path("/usr/lib/wsl/lib")
"""Folder of NVIDIA's programs on WSL 2, which the PATH of sudo lacks: https://docs.nvidia.com/cuda/wsl-user-guide/"""
_TIMEOUT_S: Final = 20
"""nvidia-smi initializes every GPU, and hangs where one of them is broken."""


def driver_version() -> tuple[str | None, str]:
    """Version of the driver, or None, and its source; raises UsageError for a wrong ``UV_CUDA_DRIVER_VERSION``."""
    if named := os.environ.get("UV_CUDA_DRIVER_VERSION"):
        try:
            return str(Version(named)) and named, "UV_CUDA_DRIVER_VERSION"
        except ValueError:  # also Python's own, for thousands of digits
            raise UsageError(
                "version-invalid", f"UV_CUDA_DRIVER_VERSION: expected a version such as 580.65.06, not {named!r:.80}"
            ) from None
    for path in (_SYSFS, _PROCFS):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        if version := next(filter(_is_driver_version, text.split()), None):
            return version, str(path)
    for (word,) in _nvidia_smi("driver_version"):
        if _is_driver_version(word):  # not "[N/A]"
            return word, "nvidia-smi"
    return None, "no NVIDIA driver found"


def find_gpus() -> tuple[Gpu, ...]:
    """List the GPUs that the driver shows."""
    return tuple(
        Gpu(name=name, capability=Architecture.parse(capability))
        for name, capability in _nvidia_smi("name,compute_cap")
        if capability.replace(".", "", 1).isdigit()  # "[N/A]" in some virtual machines
    )


def name_gpus() -> tuple[str, ...]:
    """List the GPUs that the driver shows, as evidence names them: ``NVIDIA H200, driver 580.65.06``."""
    version, _ = driver_version()
    return tuple(f"{gpu.name}, driver {version}" for gpu in find_gpus())


def device_files() -> list[Path]:
    """List the files that a program opens to use a GPU; empty if no driver is loaded.

    https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#device-nodes
    """
    has_gpu = shutil.which("nvidia-smi", path=_WSL)  # /dev/dxg serves GPUs of other makers too
    return sorted(_DEVICES.glob("nvidia*")) + (sorted(_DEVICES.glob("dxg")) if has_gpu else [])


def _nvidia_smi(query: str) -> list[list[str]]:
    program = find_program("nvidia-smi") or shutil.which("nvidia-smi", path=_WSL)
    if program is None:
        return []
    try:
        printed = process.run([program, f"--query-gpu={query}", "--format=csv,noheader"], timeout=_TIMEOUT_S)
    except WheelmillError:  # there is no driver
        return []
    import csv  # needed only with nvidia-smi

    width = query.count(",") + 1
    return [row for row in csv.reader(printed.splitlines(), skipinitialspace=True) if len(row) == width]


def _is_driver_version(word: str) -> bool:
    """True if a word is like ``580.65.06``; the compiler's ``12.2.0`` comes later, on the next line."""
    parts = word.split(".")
    return len(parts) > 1 and all(part.isascii() and part.isdigit() for part in parts)


_CPUINFO: Final = Path("/proc/cpuinfo")
_LEVELS: Final = (
    frozenset({"cmov", "cx8", "fpu", "fxsr", "mmx", "syscall", "sse", "sse2"}),
    frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}),
    frozenset({"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}),
    frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
)
"""Processor flags of each level of the x86-64 psABI, in Linux's words: https://gitlab.com/x86-psABIs/x86-64-ABI"""


def x86_64_level() -> int | None:
    """Microarchitecture level of this machine, 1 to 4; None if Linux reports no x86-64 processor."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = next((frozenset(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), frozenset())
    return len(list(takewhile(flags.issuperset, _LEVELS))) or None


MEMORY_PER_COMPILER: Final = 6 << 30
"""Bytes that one nvcc needs at its peak, where packages.yml does not say. Heavy kernels were seen to take 5 to 8 GB
(https://github.com/pytorch/pytorch/issues/130443, https://github.com/flashinfer-ai/flashinfer/issues/3636)."""


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """Number of compilers at once, and of the architectures that each of them compiles at once."""

    jobs: int
    threads: int


def parallelism_for(
    architectures: int, *, per_compiler: int | None = None, cores: int | None = None, memory: int | None = None
) -> Parallelism:
    """Divide cores and bytes of memory, by default this machine's, among compilers, which take `per_compiler` each."""
    cores = cores or len(os.sched_getaffinity(0))
    compilers = max(1, (memory or _available_memory()) // (per_compiler or MEMORY_PER_COMPILER))
    threads = min(2, architectures, cores, compilers)
    return Parallelism(jobs=max(1, min(cores, compilers) // threads), threads=threads)


def _available_memory() -> int:
    """Bytes of memory that this process can still allocate, within the limit of a container."""
    meminfo = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    available = int(meminfo["MemAvailable"].split()[0]) << 10
    limit = Path("/sys/fs/cgroup/memory.max")  # https://docs.kernel.org/admin-guide/cgroup-v2.html
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        return min(available, int(text))
    return available
