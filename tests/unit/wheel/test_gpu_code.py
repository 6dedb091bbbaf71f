"""Which GPUs code runs on (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#feature-availability)."""

import struct
from dataclasses import replace

import pytest

from wheelmill.names import Architecture, CudaVersion
from wheelmill.wheel.gpu_code import (
    CARDS,
    DeviceCode,
    code_for,
    compiles_for,
    lacks_code_for,
    read_device_code,
    read_gpu,
    runs_on,
)


def architecture(text: str) -> Architecture:
    return Architecture.parse(text)


GPUS = ("5.3", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.1", "10.3", "11.0", "12.0", "12.1")
RUNS = {
    "5.2": "",
    "7.0": "7.0 7.5",
    "7.2": "7.2",
    "7.5": "7.5",
    "8.0": "8.0 8.6 8.9",
    "8.6": "8.6 8.9",
    "8.7": "8.7",
    "9.0": "9.0",
    "9.0a": "9.0",
    "10.0": "10.0 10.3",
    "10.0a": "10.0",
    "10.0f": "10.0 10.3",
    "10.3f": "10.3",
    "10.1f": "10.1",
    "11.0f": "11.0",
    "12.0": "12.0 12.1",
    "12.0f": "12.0 12.1",
    "12.1f": "12.1",
}
"""The GPUs that machine code runs on: those of a Jetson (5.3, 7.2, 8.7, 10.1, 11.0) run their own alone."""


@pytest.mark.parametrize(("code", "gpus"), RUNS.items())
def test_machine_code_runs_on_later_gpus_of_its_major(code: str, gpus: str) -> None:
    assert [gpu for gpu in GPUS if runs_on(architecture(code), architecture(gpu))] == gpus.split()


@pytest.mark.parametrize("code", [code for code in RUNS if code[-1] in "af"])
def test_ptx_for_one_architecture_or_family_is_for_no_other(code: str) -> None:
    assert [gpu for gpu in GPUS if compiles_for(architecture(code), architecture(gpu))] == RUNS[code].split()


@pytest.mark.parametrize("code", [code for code in RUNS if code[-1] not in "af"])
def test_plain_ptx_is_for_every_later_gpu(code: str) -> None:
    expected = [gpu for gpu in GPUS if float(gpu) >= float(code)]
    assert [gpu for gpu in GPUS if compiles_for(architecture(code), architecture(gpu))] == expected


def test_machine_code_is_told_from_portable_code() -> None:
    nine, twelve = architecture("9.0"), architecture("12.0")
    assert code_for(nine, [nine], [nine]) == "machine code"
    assert code_for(twelve, [nine], [nine]) == "PTX"
    assert code_for(nine, [twelve], [twelve]) == ""


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
    assert "CUDA 12.4" in str(lacks("8.0", "9.0", "12.0", driver="12.4", cuda="12.8"))
    assert "sm_120" in str(lacks("8.0", "", "12.0"))
    assert "sm_87" in str(lacks("8.0", "", "8.7"))
    assert lacks("8.0", "8.0", "8.7") is None
    assert lacks("", "10.0f", "10.3") is None
    assert "sm_100" in str(lacks("9.0a", "9.0a", "10.0"))


@pytest.mark.parametrize(
    ("said", "gpu"),
    [
        *(("9.0", "9.0"), ("90", "9.0"), ("sm_90", "9.0"), ("sm90a", "9.0"), ("120", "12.0"), ("12.1", "12.1")),
        *(("h100", "9.0"), ("NVIDIA H100 80GB HBM3", "9.0"), ("GH200", "9.0"), ("Tesla V100-SXM2-16GB", "7.0")),
        *(("A100-SXM4-80GB", "8.0"), ("a10g", "8.6"), ("RTX A6000", "8.6"), ("L40S", "8.9"), ("T4", "7.5")),
        *(("4090", "8.9"), ("rtx4090", "8.9"), ("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"), ("rtx_5060ti", "12.0")),
        *(("RTX 6000 Ada Generation", "8.9"), ("Quadro RTX 6000", "7.5"), ("RTX PRO 6000 Blackwell", "12.0")),
        *(("orin", "8.7"), ("dgx spark", "12.1"), ("GTX 1660 Ti", "7.5")),
    ],
)
def test_a_gpu_has_many_names(said: str, gpu: str) -> None:
    assert read_gpu(said) == architecture(gpu)


@pytest.mark.parametrize("said", ["", "rtx", "rtx 6000", "RTX 4000", "gtx 1080", "a100 h100", "9", "٩٠", "tesla"])
def test_what_might_be_several_gpus_or_none_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="h100"):
        read_gpu(said)


def test_every_card_that_is_shown_can_be_asked_for() -> None:
    for gpu, cards in CARDS.items():
        for card in cards:
            series = card.removesuffix(" series")
            assert read_gpu(card if series == card else f"{series}60") == gpu


PTX, SASS = 1, 2
SPECIFIC, FAMILY = 1 << 20, 1 << 21
MAGIC = 0xBA55ED50
NOTHING = DeviceCode(sass=(), ptx=(), sizes={})


def entry(kind: int, architecture: int, flags: int = 0, *, header: int = 64, size: int = 8) -> bytes:
    return struct.pack("<HxxIQ12xI8xQ16x", kind, header, size, architecture, flags) + b"codecode"


def container(*entries: bytes, header: int = 16) -> bytes:
    content = b"".join(entries)
    return struct.pack("<IHHQ", MAGIC, 1, header, len(content)) + bytes(max(header - 16, 0)) + content


@pytest.mark.parametrize(
    ("section", "device_code"),
    [
        (b"", NOTHING),
        (bytes(64), NOTHING),
        (container(), NOTHING),
        (container(entry(SASS, 90)), DeviceCode(sass=("sm_90",), ptx=(), sizes={"sm_90": 8})),
        (container(entry(PTX, 120)), DeviceCode(sass=(), ptx=("compute_120",), sizes={"compute_120": 8})),
        (container(entry(SASS, 90, SPECIFIC)), DeviceCode(sass=("sm_90a",), ptx=(), sizes={"sm_90a": 8})),
        (container(entry(PTX, 100, FAMILY)), DeviceCode(sass=(), ptx=("compute_100f",), sizes={"compute_100f": 8})),
        (container(entry(SASS, 90, 0x11)), DeviceCode(sass=("sm_90",), ptx=(), sizes={"sm_90": 8})),
        (container(entry(16, 90)), NOTHING),
        (container(entry(SASS, 90), header=24), DeviceCode(sass=("sm_90",), ptx=(), sizes={"sm_90": 8})),
    ],
    ids=["nothing", "zeros", "empty", "SASS", "PTX", "a", "f", "other flags", "other kind", "longer header"],
)
def test_a_section_says_what_it_was_compiled_for(section: bytes, device_code: DeviceCode) -> None:
    assert replace(read_device_code(section), unread=frozenset()) == device_code


@pytest.mark.parametrize("padding", [0, 4, 8, 60])
def test_containers_stand_one_after_another_with_zeros_between(padding: int) -> None:
    first = container(entry(SASS, 120), entry(SASS, 90, SPECIFIC), entry(SASS, 90), entry(PTX, 120))
    second = container(entry(SASS, 80), entry(SASS, 120))
    section = bytes(padding) + first + bytes(padding) + second + bytes(padding)
    assert replace(read_device_code(section), unread=frozenset()) == DeviceCode(
        sass=("sm_80", "sm_90", "sm_90a", "sm_120"),
        ptx=("compute_120",),
        sizes={"sm_80": 8, "sm_90": 8, "sm_90a": 8, "sm_120": 16, "compute_120": 8},
    )


@pytest.mark.parametrize(
    "section",
    [
        b"\xff" * 64,
        container(entry(SASS, 90)) + b"\1" + bytes(63),
        container(entry(SASS, 90))[:-8],
        container(entry(SASS, 90))[:12],
        container(entry(SASS, 90), header=8),
        container(entry(SASS, 90, header=0)),
        container(entry(SASS, 90, size=9)),
    ],
    ids=[
        *("another magic", "rubbish behind", "cut in an entry", "cut in a container's header"),
        *("container's header too small", "entry's header too small", "entry too long"),
    ],
)
def test_another_layout_is_an_error(section: bytes) -> None:
    with pytest.raises(ValueError, match="fat binary"):
        read_device_code(section)


@pytest.mark.usefixtures("an_end")
def test_padding_of_a_hundred_megabytes_is_passed_over() -> None:
    assert read_device_code(bytes(100 << 20)) == NOTHING
