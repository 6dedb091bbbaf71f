"""Kernels and their architectures, as cuobjdump names them."""

import struct
import sys

import pytest

from tests.gpu_code import LZ4, PTX, SASS, ZSTD, cubin, entry, fatbin, literals, ptx
from wheelmill.names import Architecture
from wheelmill.wheel.gpu_code import DeviceCode, read_device_code
from wheelmill.wheel.kernels import KernelReader

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


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
    assert table(fatbin(entry(PTX, 90, zstd.compress(text), ZSTD, size=len(text)))) == {
        "f": "compute_90",
        "g": "compute_90",
    }


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
            "zstd",
            "zstd of another size",
            "more than it says",
            "another kind",
            "empty",
            "no ELF file",
            "cut off",
            "sections behind it",
            "sections without a size",
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
    assert read_device_code(section).unread == {"sm_80", "sm_90", "sm_100"}


def _left(section: bytes) -> int:
    budget = KernelReader(work=1 << 30)
    read_device_code(section, kernels=budget)
    return budget.work


def test_an_architecture_that_is_none_has_no_code() -> None:
    found = read(fatbin(entry(SASS, 5, cubin("f")), entry(SASS, 1 << 31, cubin("f"))))
    assert found == DeviceCode(sass=(), ptx=(), sizes={})


ARCHITECTURES = [Architecture.parse(each) for each in ("7.5", "8.0", "8.6", "9.0", "12.0")]


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
