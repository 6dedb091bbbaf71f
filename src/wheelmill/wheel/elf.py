"""ELF files as pyelftools reads them, within limits: their headers, and the bytes of their sections.

https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Final

from elftools.common.utils import struct_parse
from elftools.construct.lib.container import Container
from elftools.elf.elffile import ELFFile

from wheelmill.wheel.dynamic import Texts
from wheelmill.wheel.limits import MAX_READS, MAX_SECTIONS, MAX_SYMBOLS

ELF_MAGIC: Final = b"\x7fELF"
FATBIN: Final = ".nv_fatbin"
COMMENT: Final = ".comment"
_NAMED: Final = (FATBIN, COMMENT)
"""Sections whose type says nothing."""
_COMPRESSED: Final = 0x800
"""SHF_COMPRESSED: linkers never compress the sections that are read here."""
_LOADED: Final = 0x2
"""SHF_ALLOC."""
_EMPTY: Final = ("SHT_NULL", "SHT_NOBITS")
"""Types of sections without bytes in the file."""
_EXECUTABLE: Final = 1
"""PF_X."""


@dataclass(kw_only=True)
class Budget:
    """What may still be read of the shared objects of one wheel."""

    symbols: int = MAX_SYMBOLS
    reads: int = MAX_READS


class Metered:
    """A file for pyelftools, which reads a field at a time and follows every offset, wherever a damaged file sends it.

    Args:
        content: the bytes of the shared object.
        budget: how many reads are left; each takes one.
    """

    def __init__(self, content: mmap, budget: Budget) -> None:
        self.content, self.budget = content, budget
        self.seek, self.tell = content.seek, content.tell

    def read(self, size: int) -> bytes:
        """Read, while the budget lasts."""
        self.budget.reads -= 1
        if self.budget.reads < 0:
            raise ValueError(f"its headers take more than {MAX_READS} reads, with the wheel's other shared objects")
        return self.content.read(size)


@dataclass(frozen=True, kw_only=True)
class Sections:
    """The sections of a shared object."""

    content: mmap
    headers: Sequence[Container]
    """All section headers, by number."""
    found: Mapping[str, Container]
    """The last section of each type, and those of `_NAMED` by name."""

    def place(self, key: str) -> tuple[int, int]:
        """Where a section starts and ends in the file, by its type or name; ``(0, 0)`` when there is none.

        Raises:
            ValueError: it is compressed, or reaches beyond the end of the file.
        """
        return self._place(header, f"section {key}") if (header := self.found.get(key)) else (0, 0)

    @property
    def unloaded(self) -> int:
        """The bytes of all sections that are not loaded into memory; at most the size of the file."""
        kept = (header for header in self.headers if header["sh_type"] not in _EMPTY)
        return min(len(self.content), sum(header["sh_size"] for header in kept if not header["sh_flags"] & _LOADED))

    def read(self, key: str) -> bytes:
        """The bytes of a section."""
        return self.content[slice(*self.place(key))]

    def read_texts(self, key: str) -> Texts:
        """The string table that a section refers to."""
        number = header["sh_link"] if (header := self.found.get(key)) else len(self.headers)
        if number >= len(self.headers):
            return Texts(b"")
        return Texts(self.content[slice(*self._place(self.headers[number], f"section {number}"))])

    def _place(self, header: Container, name: str) -> tuple[int, int]:
        if header["sh_flags"] & _COMPRESSED:
            raise ValueError(f"its {name} is compressed")
        start, end = header["sh_offset"], header["sh_offset"] + header["sh_size"]
        if end > len(self.content):
            raise ValueError(f"its {name} ends behind the end of the file")
        return start, end


def sections_of(elf: ELFFile, content: mmap) -> Sections:
    """Read the section headers.

    Not as pyelftools' own section objects: to make one, it may read the whole section. A type that pyelftools does not
    know is a number.
    """
    if not 0 < elf.num_sections() <= MAX_SECTIONS:
        raise ValueError(f"it has {elf.num_sections()} section headers; expected 1 to {MAX_SECTIONS}")
    headers: list[Container] = []
    found: dict[str, Container] = {}
    for number in range(elf.num_sections()):
        header = struct_parse(elf.structs.Elf_Shdr, elf.stream, elf["e_shoff"] + number * elf["e_shentsize"])
        headers.append(header)
        if (kind := header["sh_type"]) != "SHT_PROGBITS":
            found[str(kind)] = header
        elif (name := elf.get_section(number).name) in _NAMED:
            found[name] = header
    return Sections(content=content, headers=headers, found=found)


def has_executable_stack(elf: ELFFile, *, unless_said: bool) -> bool:
    """Whether the program headers ask for an executable stack; a file that is never loaded asks for none.

    Args:
        elf: the shared object whose program headers are read.
        unless_said: what the dynamic linker assumes of a file that does not say.
    """
    places = (elf["e_phoff"] + number * elf["e_phentsize"] for number in range(elf.num_segments()))
    headers = {
        header["p_type"]: header for header in (struct_parse(elf.structs.Elf_Phdr, elf.stream, at) for at in places)
    }
    stack = headers.get("PT_GNU_STACK")
    return bool(stack["p_flags"] & _EXECUTABLE) if stack else unless_said and "PT_LOAD" in headers
