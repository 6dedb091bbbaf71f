"""Which GPUs code runs on (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#feature-availability)."""

import pytest

from wheelmill.client.choose.gpu_code import lacks_code_for, runs_on
from wheelmill.names import Architecture, CudaVersion


def architecture(text: str) -> Architecture:
    return Architecture.parse(text)


@pytest.mark.parametrize(
    ("code", "gpu", "runs"),
    [
        ("8.0", "8.0", True),
        ("8.0", "8.9", True),
        ("8.6", "8.0", False),
        ("8.0", "9.0", False),
        ("9.0a", "9.0", True),
        ("9.0a", "10.0", False),
        ("10.0f", "10.3", True),
        ("10.0f", "12.0", False),
        ("12.0", "9.0", False),
    ],
)
def test_machine_code_runs_on_later_gpus_of_its_major(code: str, gpu: str, *, runs: bool) -> None:
    assert runs_on(architecture(code), architecture(gpu)) is runs


def lacks(sass: str, ptx: str, gpu: str, *, driver: str | None = None, cuda: str | None = None) -> str | None:
    return lacks_code_for(
        architecture(gpu),
        map(architecture, sass.split()),
        map(architecture, ptx.split()),
        driver=CudaVersion.parse(driver) if driver else None,
        cuda=CudaVersion.parse(cuda) if cuda else None,
    )


def test_ptx_becomes_code_for_newer_gpus_if_the_driver_knows_its_cuda() -> None:
    assert lacks("8.0", "9.0", "12.0") is None
    assert lacks("8.0", "9.0", "12.0", driver="13.0", cuda="12.8") is None
    assert lacks("8.0", "9.0", "12.0", driver="12.4", cuda="12.8") == (
        "has only PTX of CUDA 12.8 for sm_120, and the driver knows CUDA 12.4"
    )
    assert lacks("8.0", "", "12.0") == "has no machine code for sm_120 and no PTX that could become it"
    assert lacks("9.0a", "9.0a", "10.0") == "has no machine code for sm_100 and no PTX that could become it"
