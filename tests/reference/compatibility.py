"""The page about drivers, CUDA, torch and GPUs: tables of ``config/compatibility.yml`` and of the names of GPUs."""

from collections.abc import Collection, Sequence
from typing import Final

from tests.commands import ROOT
from tests.reference.described import table
from wheelmill.config.load import load_compatibility
from wheelmill.config.model.compatibility import CudaRelease, TorchRelease
from wheelmill.names import Architecture, CudaVersion, Platform, PythonVersion, TorchVersion
from wheelmill.wheel.gpu_code import CARDS

FACTS: Final = load_compatibility(ROOT / "config")
CUDAS: Final = sorted(FACTS.cuda.releases)
TORCHES: Final = sorted(FACTS.torch.releases)
PYTHONS: Final = [PythonVersion(3, minor) for minor in range(6, 100)]
X86, ARM = map(Platform.parse, ("linux_x86_64", "linux_aarch64"))

HEAD: Final = """\
<!-- Made by `python -m tests.reference --write`. -->

# Driver, CUDA, torch and GPU

![The GPU, driver, CUDA, torch and wheel as layers, each with what it needs of the one below](../pictures/layers.svg)

The driver limits the CUDA, and the wheel must be for the CUDA and the torch that are installed. `nvidia-smi` shows your
driver, `python -c "import torch; print(torch.__version__, torch.version.cuda)"` your torch with its CUDA, and
`wheelmill environment` all of them. torch brings the libraries of its CUDA: no toolkit is needed. wheelmill chooses by
the same facts, those of [compatibility.yml](../../config/compatibility.yml), which names their sources.

## Which CUDA does my driver run?

A driver, here for Linux, runs a CUDA from the version in the second column on. A wheel without machine code for your
GPU also needs a driver that compiles its PTX.
"""
GPUS: Final = """\
## Which CUDA is for my GPU?

nvcc of these releases compiles machine code for the GPU. Machine code for 8.0 also runs on 8.6 and 8.9, and so on
within a first number; a Jetson runs its own alone. A wheel, or torch itself, may have code for fewer GPUs: `wheelmill
explain PACKAGE` names those of each wheel.
"""
TORCH: Final = """\
## Which CUDAs and Pythons has a torch?

In bold is the CUDA of PyPI's wheel for x86_64. The others are on [torch's own
indexes](https://docs.astral.sh/uv/guides/integration/pytorch/), one for each CUDA.
"""


def compatibility_page() -> str:
    """Write docs/reference/compatibility.md."""
    headings: Sequence[str] = ("CUDA, as in `cu130`", "driver that runs it", "driver that compiles its PTX", "torch")
    cudas = table(headings, [_cuda_row(cuda, FACTS.cuda.releases[cuda]) for cuda in reversed(CUDAS)])
    gpus = table(("GPU", "compute capability", "CUDA"), [_gpu_row(gpu, CARDS[gpu]) for gpu in reversed(CARDS)])
    headings = ("torch", "CUDA on x86_64", "CUDA on aarch64", "Python on x86_64", "glibc from")
    torches = table(headings, [_torch_row(torch, FACTS.torch.releases[torch]) for torch in reversed(TORCHES)])
    return f"{HEAD}\n{cudas}\n{GPUS}\n{gpus}\n{TORCH}\n{torches}"


def _cuda_row(cuda: CudaVersion, facts: CudaRelease) -> Sequence[str]:
    torches = [torch for torch in TORCHES if cuda in cudas_of(torch)]
    return str(cuda), facts.minimum_driver, facts.driver or "not looked up", span(torches, TORCHES)


def _gpu_row(gpu: Architecture, cards: Collection[str]) -> Sequence[str]:
    cudas = [cuda for cuda in CUDAS if gpu.capability in FACTS.cuda.releases[cuda].architectures]
    return ", ".join(cards), f"{gpu} (`{gpu.sm}`)", span(cudas, CUDAS)


def _torch_row(torch: TorchVersion, facts: TorchRelease) -> Sequence[str]:
    x86, arm = (sorted(facts.cuda.get(platform, ())) for platform in (X86, ARM))
    bold = [f"**{cuda}**" if cuda == facts.default_cuda else str(cuda) for cuda in x86]
    pythons = facts.python[X86]
    threaded = [str(python) for python in sorted(pythons) if python.free_threaded]
    plain = span(sorted(python for python in pythons if not python.free_threaded), PYTHONS)
    return str(torch), ", ".join(bold), ", ".join(map(str, arm)) or "none", ", ".join((plain, *threaded)), facts.glibc


def cudas_of(torch: TorchVersion) -> frozenset[CudaVersion]:
    """CUDA releases that a torch is published for, on any platform."""
    return frozenset().union(*FACTS.torch.releases[torch].cuda.values())


def span(values: Sequence[object], known: Sequence[object]) -> str:
    """Write values by the first and the last if they are in a row among all known ones: ``2.9 to 2.15``."""
    if not values:
        return "none"
    start = known.index(values[0])
    in_a_row = [*values] == [*known[start : start + len(values)]]
    return f"{values[0]} to {values[-1]}" if in_a_row and len(values) > 1 else ", ".join(map(str, values))
