"""Wheels whose machine code does, and does not, keep what their names promise."""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from tests.unit.build.conftest import CALLS_THE_FUTURE, MACHINE, compile_future_glibc, compile_shared_object

LABELLED: Final = f"demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_17_{MACHINE}.whl"
METADATA: Final = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0+cu130torch2.11\nRequires-Dist: torch==2.11.*\n"

OPEN_SYMBOLS: Final = """
void inside(void) {}
void outside(void);
__attribute__((weak)) void optional(void);
void call(void) { inside(); outside(); if (optional) optional(); }
"""


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """Shared objects by what there is to say of them."""
    folder = tmp_path_factory.mktemp("objects")
    libraries = {
        name: compile_shared_object(folder / "libraries" / name, linker=[f"-soname={name}"])
        for name in ("libcudart.so.12", "libcudart.so.13", "libcublas.so.13", "libhelper.so.1", "libcuda.so.1")
    }

    def compiled(code: str, *needs: str) -> bytes:
        return compile_shared_object(folder / "_C.so", code, needs=[libraries[name] for name in needs]).read_bytes()

    every_architecture = device_code(sass=[90, 120], ptx=[120])
    glibc = compile_future_glibc(folder / "future")
    return {
        "as promised": compiled(every_architecture, "libcudart.so.13"),
        "linked statically": compiled(every_architecture),
        "linked to CUDA 12": compiled(every_architecture, "libcudart.so.12"),
        "linked to CUDA 12 and 13": compiled(every_architecture, "libcublas.so.13", "libcudart.so.12"),
        "linked to the driver": compiled(every_architecture, "libcuda.so.1"),
        "linked to its helper": compiled("", "libhelper.so.1"),
        "helper": libraries["libhelper.so.1"].read_bytes(),
        "without PTX": compiled(device_code(sass=[90, 120])),
        "without sm_90": compiled(device_code(sass=[120], ptx=[120])),
        "for Hopper": compiled(device_code(sass=[90])),
        "for Blackwell": compiled(device_code(sass=[120, 100], ptx=[100])),
        "from the future": compile_shared_object(folder / "_C.so", CALLS_THE_FUTURE, needs=[glibc]).read_bytes(),
        "with open symbols": compiled(OPEN_SYMBOLS),
        "that defines outside": compiled("void outside(void) {}"),
        "that calls Python": compiled("void Py_IncRef(void *); void call(void) { Py_IncRef(0); }"),
    }


def device_code(*, sass: Sequence[int] = (), ptx: Sequence[int] = ()) -> str:
    """C for a ``.nv_fatbin`` section, laid out as `wheelmill.wheel.fatbin` describes it."""
    kinds = [(1, architecture) for architecture in ptx] + [(2, architecture) for architecture in sass]
    entries = b"".join(struct.pack("<HxxIQ12xI8xQ", kind, 48, 0, architecture, 0) for kind, architecture in kinds)
    section = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    return (
        '__attribute__((section(".nv_fatbin"), used)) '
        f"static const unsigned char fatbin[] = {{{', '.join(str(byte) for byte in section)}}};"
    )
