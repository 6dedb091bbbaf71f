"""Which machine code and which portable assembly (PTX) runs on which GPU."""

from __future__ import annotations

from collections.abc import Iterable

from wheelmill.names import Architecture, CudaVersion


def runs_on(code: Architecture, gpu: Architecture) -> bool:
    """Whether machine code for one architecture runs on a GPU.

    Plain code runs on later GPUs of its major, code for a family on those of the family, which so far are the same;
    code with features of one architecture on no other.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#feature-availability
    """
    if code.feature == "a":
        return (code.major, code.minor) == (gpu.major, gpu.minor)
    return code.major == gpu.major and code.minor <= gpu.minor


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
    """
    if any(runs_on(code, gpu) for code in sass):
        return None
    usable = [code for code in ptx if not code.feature and (code.major, code.minor) <= (gpu.major, gpu.minor)]
    if not usable:
        return f"has no machine code for {gpu.sm} and no PTX that could become it"
    if driver and cuda and driver < cuda:
        return f"has only PTX of CUDA {cuda} for {gpu.sm}, and the driver knows CUDA {driver}"
    return None
