"""GPU code: which machine code, and which portable assembly (PTX), runs on which GPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from wheelmill.names import Architecture, CudaVersion

CARDS: Final = {
    Architecture(7, 0): ("V100", "Titan V"),
    Architecture(7, 5): ("T4", "RTX 20 series", "GTX 16 series", "Quadro RTX", "Titan RTX"),
    Architecture(8, 0): ("A100", "A800", "A30"),
    Architecture(8, 6): (
        "A2",
        "A10",
        "A10G",
        "A16",
        "A40",
        "RTX 30 series",
        "A2000",
        "A4000",
        "A4500",
        "A5000",
        "A6000",
    ),
    Architecture(8, 7): ("Jetson Orin",),
    Architecture(8, 9): ("L4", "L20", "L40", "L40S", "RTX 40 series", "RTX Ada"),
    Architecture(9, 0): ("H100", "H200", "H20", "H800", "GH200"),
    Architecture(10, 0): ("B200", "GB200"),
    Architecture(10, 3): ("B300", "GB300"),
    Architecture(11, 0): ("Jetson Thor",),
    Architecture(12, 0): ("RTX 50 series", "RTX PRO"),
    Architecture(12, 1): ("GB10", "DGX Spark"),
}
"""The GPUs that people may have, by compute capability: https://developer.nvidia.com/cuda-gpus"""
_ALWAYS_SAID: Final = frozenset({"nvidia", "geforce", "tesla", "jetson"})
"""Words that do not distinguish cards."""
CARD_WORDS: Final = {
    gpu: tuple(" ".join(word for word in card.lower().split() if word not in _ALWAYS_SAID) for card in cards)
    for gpu, cards in CARDS.items()
}
"""The words that identify each card; in a series, only its number does."""
_TEGRA: Final = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})
"""Jetson's GPUs: https://developer.nvidia.com/cuda-legacy-gpus; Thor was 10.1 until CUDA 13."""


def read_gpu(text: str) -> Architecture:
    """Read what a person calls a GPU: ``9.0``, ``90``, ``sm_90``, ``h100``, ``rtx 4090`` or as nvidia-smi names it.

    The ``a`` of ``sm_90a`` is of code, not of a GPU.

    Raises:
        ValueError: it is no GPU that is known, or might be several.
    """
    number = text.strip().lower().removeprefix("sm").removeprefix("_").rstrip("af")
    if number.isascii() and number.isdecimal() and len(number) in (2, 3):
        return Architecture.parse(f"{number[:-1]}.{number[-1]}")
    if "." in number:
        return Architecture.parse(number)
    written = text.lower().replace("rtx", " rtx ").replace("gtx", " gtx ").replace("-", " ").replace("_", " ")
    said = frozenset(written.split())
    found = [gpu for gpu, cards in CARD_WORDS.items() if any(_is_card(card, said) for card in cards)]
    if len(found) != 1:
        raise ValueError(f"expected a GPU such as h100 or 'rtx 4090', or its compute capability, 9.0, not {text!r}")
    return found[0]


def _is_card(card: str, said: frozenset[str]) -> bool:
    """Whether words name a card. Of a series it is the number that counts: 4090, 4070ti, but 6000 is of no series."""
    *_, last = words = card.split()
    if last == "series":
        numbers = (word.rstrip("abcdefghijklmnopqrstuvwxyz") for word in said)
        return any(
            len(number) == 4 and number.startswith(words[-2]) and not number.endswith("00")  # noqa: PLR2004
            for number in numbers
        )
    return said.issuperset(words)


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


def is_for_one_gpu(code: Architecture) -> bool:
    """Whether machine code runs on the one compute capability that it is named after, as `runs_on` says."""
    return code.feature == "a" or (code.major, code.minor) in _TEGRA


def compiles_for(ptx: Architecture, gpu: Architecture) -> bool:
    """Whether a driver can make machine code for a GPU of portable assembly.

    Plain PTX is for every later GPU; with features of one architecture or family it is for no other than machine code.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#ptx-compatibility
    """
    if ptx.feature:
        return runs_on(ptx, gpu)
    return (ptx.major, ptx.minor) <= (gpu.major, gpu.minor)


def running_code(
    gpu: Architecture, sass: Iterable[Architecture], ptx: Iterable[Architecture]
) -> tuple[Literal["machine code", "PTX"], Architecture] | None:
    """Which code of a wheel runs on a GPU, and what it was written for; None where the wheel does not run there.

    Args:
        gpu: the GPU's compute capability.
        sass: the architectures that the wheel has machine code for.
        ptx: the architectures that it has portable assembly for.
    """
    if machine := [code for code in sass if runs_on(code, gpu)]:
        return "machine code", max(machine)
    if portable := [code for code in ptx if compiles_for(code, gpu)]:
        return "PTX", max(portable)
    return None


def code_for(
    gpu: Architecture, sass: Iterable[Architecture], ptx: Iterable[Architecture]
) -> Literal["machine code", "PTX", ""]:
    """What a wheel has for a GPU, as `running_code` says; empty if it does not run there."""
    found = running_code(gpu, sass, ptx)
    return found[0] if found else ""


def lacks_code_for(
    gpu: Architecture,
    sass: Iterable[Architecture],
    ptx: Iterable[Architecture],
    *,
    driver: CudaVersion | None,
    cuda: CudaVersion | None,
) -> str | None:
    """Say why no code of a wheel runs on a GPU; None if some does.

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
