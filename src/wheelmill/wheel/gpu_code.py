"""GPU code: which machine code, and which portable assembly (PTX), runs on which GPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from wheelmill.names import Architecture, CudaVersion

CARDS: Final = {
    Architecture(7, 0): "V100, Titan V",
    Architecture(7, 5): "T4, RTX 20 series, GTX 16 series, Quadro RTX",
    Architecture(8, 0): "A100, A30",
    Architecture(8, 6): "A10, A40, RTX 30 series, RTX A2000 to A6000",
    Architecture(8, 7): "Jetson Orin",
    Architecture(8, 9): "L4, L40, L40S, RTX 40 series, RTX Ada",
    Architecture(9, 0): "H100, H200, GH200",
    Architecture(10, 0): "B200, GB200",
    Architecture(10, 3): "B300, GB300",
    Architecture(11, 0): "Jetson Thor",
    Architecture(12, 0): "RTX 50 series, RTX PRO Blackwell",
    Architecture(12, 1): "GB10 (DGX Spark)",
}
"""What people may have, by compute capability: https://developer.nvidia.com/cuda-gpus"""
_TEGRA: Final = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})
"""Jetson's GPUs: https://developer.nvidia.com/cuda-legacy-gpus; Thor was 10.1 until CUDA 13."""


def runs_on(code: Architecture, gpu: Architecture) -> bool:
    """Whether machine code for one architecture runs on a GPU.

    Plain code runs on later GPUs of its major, code for a family (``10.0f``) on those of the family, which so far are
    the same, and code with features of one architecture (``9.0a``) on no other. Code for Tegra, and for a GPU beside
    it, runs on no other either.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#feature-availability
    """
    built_for, found = (code.major, code.minor), (gpu.major, gpu.minor)
    if code.feature == "a" or _TEGRA & {built_for, found}:
        return built_for == found
    return code.major == gpu.major and code.minor <= gpu.minor


def compiles_for(ptx: Architecture, gpu: Architecture) -> bool:
    """Whether a driver can make machine code for a GPU of portable assembly.

    Plain PTX is for every later GPU; with features of one architecture or family it is for no other than machine code.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#ptx-compatibility
    """
    if ptx.feature:
        return runs_on(ptx, gpu)
    return (ptx.major, ptx.minor) <= (gpu.major, gpu.minor)


def code_for(
    gpu: Architecture, sass: Iterable[Architecture], ptx: Iterable[Architecture]
) -> Literal["machine code", "PTX", ""]:
    """What a wheel has for a GPU; nothing where it does not run there.

    Args:
        gpu: the GPU's compute capability.
        sass: the architectures that the wheel has machine code for.
        ptx: the architectures that it has portable assembly for.
    """
    if any(runs_on(code, gpu) for code in sass):
        return "machine code"
    return "PTX" if any(compiles_for(code, gpu) for code in ptx) else ""


def lacks_code_for(
    gpu: Architecture,
    sass: Iterable[Architecture],
    ptx: Iterable[Architecture],
    *,
    driver: CudaVersion | None,
    cuda: CudaVersion | None,
) -> str | None:
    """Say why a wheel has nothing that runs on a GPU; None when it has.

    Portable assembly is compiled by the driver, which must know the CUDA release that wrote it.

    Args:
        gpu: the GPU's compute capability.
        sass: the architectures that the wheel has machine code for.
        ptx: the architectures that it has portable assembly for.
        driver: the newest CUDA that the driver knows.
        cuda: the CUDA that the wheel is built with.
    """
    found = code_for(gpu, sass, ptx)
    if not found:
        return f"has no machine code for {gpu.sm} and no PTX that could become it"
    if found == "PTX" and driver and cuda and driver < cuda:
        return f"has only PTX of CUDA {cuda} for {gpu.sm}, and the driver knows CUDA {driver}"
    return None
