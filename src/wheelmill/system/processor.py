"""The processor of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_CPUINFO: Final = Path("/proc/cpuinfo")
_LEVELS: Final = (
    frozenset({"cmov", "cx8", "fpu", "fxsr", "mmx", "syscall", "sse", "sse2"}),
    frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}),
    frozenset({"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}),
    frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
)
"""What each level of the x86-64 psABI adds, in Linux's words: https://gitlab.com/x86-psABIs/x86-64-ABI"""


def x86_64_level() -> int | None:
    """The microarchitecture level of this machine, 1 to 4; None where Linux says nothing of an x86-64 processor."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = next((frozenset(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), frozenset())
    reached = 0
    for level in _LEVELS:
        if not level <= flags:
            break
        reached += 1
    return reached or None
