"""Shared objects with GPU code: bytes damaged anywhere, and headers whose fields have numbers of an attacker."""

import io
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated, with_numbers
from tests.shared_objects import EXTENSION, compiled
from wheelmill.wheel.shared_objects import CodeBudget, SharedObject

SMALL = ["-nostdlib", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=512"]
CONTAINER = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 72)


def extension() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return compiled(Path(folder) / "extension.so", EXTENSION, *SMALL).read_bytes()


def fields_of(content: bytes) -> Iterator[tuple[int, str]]:
    """The place and the form of every number in its header, its sections' headers and the sections that are read."""
    elf = ELFFile(io.BytesIO(content))
    yield from ((place, "<Q") for place in (24, 32, 40))
    yield from ((place, "<H") for place in range(52, 64, 2))
    for number in range(elf.num_sections()):
        header = elf["e_shoff"] + number * elf["e_shentsize"]
        yield from ((header + place, form) for place, form in [(0, "<I"), (4, "<I"), (40, "<I"), (44, "<I")])
        yield from ((header + place, "<Q") for place in (8, 24, 32, 56))
    for name in (".dynsym", ".dynamic", ".gnu.version", ".gnu.version_r", ".nv_fatbin"):
        if section := elf.get_section_by_name(name):
            yield from ((section["sh_offset"] + place, "<I") for place in range(0, section["sh_size"] - 3, 4))


def read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "extension.so"
        path.write_bytes(content)
        SharedObject.read(path, name="extension.so", budget=CodeBudget())


SOUND = extension()
FORMAT = Format(
    inputs=mutated([SOUND], [CONTAINER, bytes(64), b"\1\0\0\0\0\0\0\0"]) | with_numbers(SOUND, list(fields_of(SOUND))),
    read=read,
)
