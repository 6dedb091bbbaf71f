"""Which GPUs code runs on, and kernels and their architectures, as cuobjdump names them.

https://docs.nvidia.com/cuda/cuda-c-programming-guide/#feature-availability
"""

import struct
import sys
from dataclasses import replace

import pytest

from tests.gpu_code import LZ4, PTX, SASS, ZSTD, cubin, entry, fatbin, literals, ptx
from wheelmill.names import Architecture, CudaVersion
from wheelmill.wheel.gpu_code import (
    CARDS,
    DeviceCode,
    KernelReader,
    code_for,
    compiles_for,
    lacks_code_for,
    read_device_code,
    read_gpu,
    runs_on,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


architecture = Architecture.parse
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


@pytest.mark.parametrize("code", RUNS)
def test_ptx_is_for_every_later_gpu_or_that_of_one_architecture_or_family_for_its_own(code: str) -> None:
    is_plain = code[-1] not in "af"
    expected = [gpu for gpu in GPUS if float(gpu) >= float(code)] if is_plain else RUNS[code].split()
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


SPECIFIC, FAMILY = 1 << 20, 1 << 21
NOTHING = DeviceCode(sass=(), ptx=(), sizes={})


def code_of(kind: int, architecture: int, flags: int = 0) -> bytes:
    return entry(kind, architecture, b"codecode", flags)


@pytest.mark.parametrize(
    ("section", "sass", "ptx"),
    [
        *((b"", (), ()), (bytes(64), (), ()), (fatbin(), (), ()), (fatbin(code_of(16, 90)), (), ())),
        (fatbin(code_of(SASS, 90)), ("sm_90",), ()),
        (fatbin(code_of(PTX, 120)), (), ("compute_120",)),
        (fatbin(code_of(SASS, 90, SPECIFIC)), ("sm_90a",), ()),
        (fatbin(code_of(PTX, 100, FAMILY)), (), ("compute_100f",)),
        (fatbin(code_of(SASS, 90, 0x11)), ("sm_90",), ()),
        (fatbin(code_of(SASS, 90), header=24), ("sm_90",), ()),
    ],
    ids=["nothing", "zeros", "empty", "other kind", "SASS", "PTX", "a", "f", "other flags", "longer header"],
)
def test_a_section_says_what_it_was_compiled_for(section: bytes, sass: tuple[str, ...], ptx: tuple[str, ...]) -> None:
    sizes = dict.fromkeys((*sass, *ptx), 8)
    assert replace(read_device_code(section), unread=frozenset()) == DeviceCode(sass=sass, ptx=ptx, sizes=sizes)


@pytest.mark.parametrize("padding", [0, 4, 8, 60])
def test_containers_stand_one_after_another_with_zeros_between(padding: int) -> None:
    first = fatbin(code_of(SASS, 120), code_of(SASS, 90, SPECIFIC), code_of(SASS, 90), code_of(PTX, 120))
    second = fatbin(code_of(SASS, 80), code_of(SASS, 120))
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
        fatbin(code_of(SASS, 90)) + b"\1" + bytes(63),
        fatbin(code_of(SASS, 90))[:-8],
        fatbin(code_of(SASS, 90))[:12],
        fatbin(code_of(SASS, 90), header=8),
        fatbin(entry(SASS, 90, b"codecode", header=0)),
        fatbin(code_of(SASS, 90).replace(struct.pack("<IQ", 64, 8), struct.pack("<IQ", 64, 9))),
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


def read(section: bytes, left: int = 1 << 30) -> DeviceCode:
    return read_device_code(section, kernels=KernelReader(work=left))


def table(section: bytes) -> dict[str, str]:
    return {kernel: " ".join(sorted(codes)) for kernel, codes in read(section).kernels.items()}


def test_each_kernel_has_the_architectures_of_the_code_with_its_name() -> None:
    first = fatbin(entry(SASS, 80, cubin("f", "g", functions=["h"])), entry(SASS, 90, cubin("f"), 1 << 20))
    second = fatbin(entry(SASS, 90, cubin("g")), entry(PTX, 120, ptx("g", "k$1")))
    assert table(first + second) == {"f": "sm_80 sm_90a", "g": "compute_120 sm_80 sm_90", "k$1": "compute_120"}
    assert read(first + second).unread == frozenset()


PACKED = bytes([0xFF, len(ptx("f")) - 15]) + ptx("f") + struct.pack("<H", len(ptx("f"))) + bytes([255, 0])
"""A block of LZ4: literals, and a repetition of them that overlaps itself."""


def test_code_in_frames_of_zstandard_is_read() -> None:
    code = cubin("f")
    packed = zstd.compress(code)
    assert table(fatbin(entry(SASS, 90, packed, ZSTD, size=len(code)))) == {"f": "sm_90"}
    text = ptx("f", "g")
    packed = entry(PTX, 90, zstd.compress(text), ZSTD, size=len(text))
    assert table(fatbin(packed)) == {"f": "compute_90", "g": "compute_90"}


def test_code_in_blocks_of_lz4_is_read() -> None:
    code = cubin("f")
    assert table(fatbin(entry(SASS, 90, literals(code), LZ4, size=len(code)))) == {"f": "sm_90"}
    size = len(ptx("f")) + 4 + 15 + 255
    packed = PACKED + bytes([0x50]) + b"\n\n\n\n\n"
    assert table(fatbin(entry(PTX, 90, packed, LZ4, size=size + 5))) == {"f": "compute_90"}


@pytest.mark.parametrize(
    "code",
    [
        entry(SASS, 90, b"\x28\xb5\x2f\xfd", ZSTD, size=500),
        entry(SASS, 90, zstd.compress(cubin("f")), ZSTD, size=500),
        entry(SASS, 90, zstd.compress(bytes(1 << 20)), ZSTD, size=1 << 10),
        entry(SASS, 90, cubin("f"), 0x4000, size=500),
        entry(SASS, 90, b""),
        entry(SASS, 90, b"codecode"),
        entry(SASS, 90, cubin("f")[:-30]),
        entry(SASS, 90, cubin("f").replace(struct.pack("<HH", 64, 3), struct.pack("<HH", 64, 9999))),
        entry(SASS, 90, cubin("f").replace(struct.pack("<HH", 64, 3), struct.pack("<HH", 0, 3))),
        entry(SASS, 90, literals(cubin("f")), LZ4, size=1 << 62),
        entry(SASS, 90, b"\x10A\1\0" * 40, LZ4, size=40),
        entry(SASS, 90, b"\x1fA\1\0" + b"\xff" * 2000, LZ4, size=1 << 20),
        entry(SASS, 90, b"\x1fA\1\0" + b"\xff" * 2000 + b"\0\0", LZ4, size=1000),
        entry(SASS, 90, b"\x1fA\2\0", LZ4, size=20),
    ],
    ids=[
        *(
            *("zstd", "zstd of another size", "more than it says", "another kind", "empty", "no ELF file", "cut off"),
            *("sections behind it", "sections without a size"),
        ),
        *("claims 4 EB", "another size", "a length without end", "longer than it says", "before its start"),
    ],
)
def test_code_that_cannot_be_read_may_have_any_kernel(code: bytes) -> None:
    found = read(fatbin(entry(SASS, 80, cubin("f")), code), left=1 << 62)
    assert found.kernels == {"f": frozenset({"sm_80"})}
    assert found.unread == {"sm_90"}


def test_a_wheel_s_kernels_share_one_budget() -> None:
    section = fatbin(*(entry(SASS, number, cubin("f", "g")) for number in (80, 90, 100)))
    assert read(section).unread == frozenset()
    cost = (1 << 30) - _left(section)
    assert read(section, cost).unread == frozenset()
    assert read(section, cost - 1).unread == {"sm_100"}
    assert read(section, 1).unread == {"sm_80", "sm_90", "sm_100"}
    assert read_device_code(section).unread == {"sm_80", "sm_90", "sm_100"}


def _left(section: bytes) -> int:
    budget = KernelReader(work=1 << 30)
    read_device_code(section, kernels=budget)
    return budget.work


def test_an_architecture_that_is_none_has_no_code() -> None:
    found = read(fatbin(entry(SASS, 5, cubin("f")), entry(SASS, 1 << 31, cubin("f"))))
    assert found == DeviceCode(sass=(), ptx=(), sizes={})


ARCHITECTURES = [architecture(each) for each in ("7.5", "8.0", "8.6", "9.0", "12.0")]


@pytest.mark.parametrize(
    ("others", "kernel", "lacks"),
    [
        ("sm_80 sm_90", "sm_80 sm_90", ""),
        ("sm_80 sm_90", "sm_80", "9.0"),
        ("sm_75 sm_80 sm_90 sm_120", "sm_75 sm_80", "9.0 12.0"),
        ("sm_80 sm_90", "sm_80 compute_80", ""),
        ("sm_80 sm_90", "sm_80 compute_120", "9.0"),
        ("sm_80 sm_86", "sm_80", ""),
        ("sm_80 sm_90 sm_120", "sm_90a", ""),
        ("sm_80 sm_90 sm_120", "sm_90a sm_100f", ""),
        ("sm_90a", "sm_80", ""),
        ("sm_80 sm_90a", "sm_80", "9.0"),
        ("sm_75 sm_80 sm_90", "sm_80 sm_90", ""),
        ("sm_90 sm_120", "sm_75 sm_80", ""),
        ("sm_80 sm_90; sm_90a", "sm_80", ""),
        ("sm_80", "sm_80", ""),
    ],
    ids=[
        *("complete", "lacks Hopper", "lacks two", "PTX covers it", "PTX of a later one", "runs on the same major"),
        *("one architecture by design", "a family by design", "a pair by architecture", "two variants of one"),
        *("needs a later one", "a pair without features", "a pair among others", "not there at all"),
    ],
)
def test_a_kernel_lacks_what_others_have_unless_one_may_take_its_place(others: str, kernel: str, lacks: str) -> None:
    kernels = {f"_{number}": frozenset(each.split()) for number, each in enumerate(others.split(";"))}
    code = DeviceCode(sass=(), ptx=(), sizes={}, kernels={**kernels, "f": frozenset(kernel.split())})
    lacking = [str(gpu) for gpu in ARCHITECTURES if "f" in code.kernels_without(gpu, ARCHITECTURES)]
    assert lacking == lacks.split()


def test_code_that_was_not_read_may_have_the_kernel() -> None:
    kernels = {"f": frozenset({"sm_80"}), "g": frozenset({"sm_80", "sm_90"})}
    code = DeviceCode(sass=(), ptx=(), sizes={}, kernels=kernels, unread=frozenset({"sm_90"}))
    assert [*code.kernels_without(ARCHITECTURES[3], ARCHITECTURES)] == []
