"""What it means when a compiled package does not import or a kernel does not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failure in the words of a person."""

    code: str
    """Part of the commands' JSON."""
    explanation: str
    detail: str
    """The last lines that were printed."""


_KNOWN: Final = (
    (
        ("no kernel image is available", "cudaErrorNoKernelImageForDevice"),
        "no-kernel-image",
        "the wheel has no code for this GPU: take one that was built for it, or 'wheelmill build --here'",
    ),
    (
        ("undefined symbol",),
        "undefined-symbol",
        "the wheel was compiled against another torch, or another C++ ABI, than the one that is installed",
    ),
    (
        (
            "cudaErrorCallRequiresNewerDriver",
            "driver version is insufficient",
            "requires a newer driver",
            "NVIDIA driver on your system is too old",
            "not supported in the currently installed CUDA driver",
        ),
        "driver-too-old",
        "the NVIDIA driver is older than the CUDA that the wheel was built with: update it, or take an older CUDA",
    ),
    (
        ("GLIBC_", "GLIBCXX_"),
        "glibc",
        "the wheel was built on a newer Linux than this one",
    ),
    (
        ("libcudart.so", "libcublas", "libcufft.so", "libcusparse", "libcusolver", "libnvrtc", "libcurand"),
        "cuda-library",
        "the wheel needs libraries of another CUDA release than the one that is installed",
    ),
    (
        ("libtorch", "libc10"),
        "torch-library",
        "the wheel needs torch, which is not installed or is another one",
    ),
)
"""What is printed, the code, and what it means; the first that is found counts.

https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
"""


def explain_failure(printed: str) -> Failure:
    """Find out what a traceback or a message of the dynamic linker means."""
    for signs, code, explanation in _KNOWN:
        if any(sign in printed for sign in signs):
            return Failure(code=code, explanation=explanation, detail=printed)
    if "Error" in printed:
        return Failure(code="import", explanation="it fails with an error", detail=printed)
    return Failure(code="crash", explanation="the interpreter ends without a word", detail=printed)
