import struct

import pytest

from wheelmill.wheel.fatbin import DeviceCode, read_device_code

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
    assert read_device_code(section) == device_code


@pytest.mark.parametrize("padding", [0, 4, 8, 60])
def test_containers_stand_one_after_another_with_zeros_between(padding: int) -> None:
    first = container(entry(SASS, 120), entry(SASS, 90, SPECIFIC), entry(SASS, 90), entry(PTX, 120))
    second = container(entry(SASS, 80), entry(SASS, 120))
    assert read_device_code(bytes(padding) + first + bytes(padding) + second + bytes(padding)) == DeviceCode(
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
