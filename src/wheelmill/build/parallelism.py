"""Number of compilers that may run at once, by cores and memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    """Divide this machine among compilers.

    Args:
        architectures: how many GPU architectures each file is compiled for.
        per_compiler: bytes that one compiler takes; None assumes the usual.
        cores: processors to use; None asks the machine.
        memory: bytes to use; None asks the machine.
    """
    cores = cores or len(os.sched_getaffinity(0))
    compilers = max(1, (memory or _available_memory()) // (per_compiler or MEMORY_PER_COMPILER))
    threads = min(2, architectures, cores, compilers)
    return Parallelism(jobs=max(1, min(cores, compilers) // threads), threads=threads)


def _available_memory() -> int:
    """Return the bytes of memory that this process can still allocate, within the limit of a container."""
    meminfo = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    available = int(meminfo["MemAvailable"].split()[0]) << 10
    limit = Path("/sys/fs/cgroup/memory.max")  # https://docs.kernel.org/admin-guide/cgroup-v2.html
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        return min(available, int(text))
    return available
