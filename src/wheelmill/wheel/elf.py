"""Shared objects: what they need, and which symbols they leave open or define.

https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Final, Self, cast

from elftools.common.utils import struct_parse
from elftools.construct.lib.container import Container
from elftools.elf.elffile import ELFFile

from wheelmill.errors import UnreadableError
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import open_archive, open_member
from wheelmill.wheel.dynamic import DynamicForm, Symbol, Texts
from wheelmill.wheel.fatbin import DeviceCode, read_device_code
from wheelmill.wheel.limits import MAX_READS, MAX_SECTIONS, MAX_SYMBOLS

ELF_MAGIC: Final = b"\x7fELF"
_FATBIN: Final = ".nv_fatbin"
_COMMENT: Final = ".comment"
_NAMED: Final = (_FATBIN, _COMMENT)
"""Sections whose type says nothing."""
_MAX_COMMENT: Final = 1 << 14
"""Bytes of what compilers say of themselves; a linker keeps each text once."""
_REGISTERS_CODE: Final = "__cudaRegisterFatBinary"
"""What every shared object with GPU code calls in the CUDA runtime when it is loaded."""
_COMPRESSED: Final = 0x800
"""SHF_COMPRESSED: what linkers never do for what is read here."""
_LOADED: Final = 0x2
"""SHF_ALLOC."""
_EMPTY: Final = ("SHT_NULL", "SHT_NOBITS")
"""Types of sections without bytes in the file."""
_EXECUTABLE: Final = 1
"""PF_X."""
_MACHINES: Final = {
    "EM_X86_64": "x86_64",
    "EM_AARCH64": "aarch64",
    "EM_386": "i686",
    "EM_ARM": "armv7l",
    "EM_PPC64": "ppc64le",
    "EM_S390": "s390x",
    "EM_RISCV": "riscv64",
    "EM_LOONGARCH": "loongarch64",
}
"""Processors, as platform tags name them. GPUs have ELF files as well."""


@dataclass(kw_only=True)
class Budget:
    """What may still be read of the shared objects of one wheel."""

    symbols: int = MAX_SYMBOLS
    reads: int = MAX_READS


@dataclass(frozen=True, kw_only=True)
class SharedObject:
    """What one shared object of a wheel says of itself."""

    name: str
    """Its path in the wheel."""
    machine: str | None
    """``x86_64`` or ``aarch64``; None for code of a GPU."""
    soname: str | None
    """The name that others need it by."""
    needed: tuple[str, ...]
    """The libraries it names, as in ``libcudart.so.13``."""
    executable_stack: bool
    """Whether loading it makes the stack executable."""
    text_relocations: bool
    """Whether its code is written to when it is loaded."""
    undefined: tuple[Symbol, ...]
    defined: frozenset[str]
    device_code: DeviceCode
    unloaded: int
    """Bytes of it that nothing loads: names of symbols and debug information."""
    compilers: tuple[str, ...] = ()
    """Those that say so, as they call themselves: ``GCC: (Debian 12.2.0-14) 12.2.0``."""

    @property
    def holds_cuda_runtime(self) -> bool:
        """Whether the CUDA runtime is linked into it: it has GPU code, and asks nobody else to register that."""
        has_code = bool(self.device_code.sass or self.device_code.ptx)
        return has_code and all(symbol.name != _REGISTERS_CODE for symbol in self.undefined)

    @classmethod
    def read(cls, path: Path, *, name: str, budget: Budget) -> Self:
        """Read a shared object.

        Args:
            path: where its file is on this disk.
            name: its path in the wheel.
            budget: what may be read of it, which it uses up.

        Raises:
            UnreadableError: it is not a readable one.
        """
        try:
            with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return cls._of(_Metered(content, budget), name=name)
        except MemoryError:  # the budgets have a hole
            raise
        except Exception as error:  # noqa: BLE001 - pyelftools trusts what it reads: it fails in any way
            raise UnreadableError(f"not a readable shared object: {error}") from None

    @classmethod
    def _of(cls, file: _Metered, *, name: str) -> Self:
        elf = ELFFile(cast("IO[bytes]", file))
        sections = _sections_of(elf, file.content)
        form = DynamicForm(order="<" if elf.little_endian else ">", wide=elf.elfclass == 64)  # noqa: PLR2004 - bits
        symbols = sections.read("SHT_DYNSYM")
        file.budget.symbols -= (count := len(symbols) // form.symbol.size)
        if file.budget.symbols < 0:
            raise ValueError(f"it has {count} symbols; with the wheel's other shared objects more than {MAX_SYMBOLS}")
        undefined, defined = form.read_symbols(
            symbols,
            sections.read_texts("SHT_DYNSYM"),
            versions=sections.read("SHT_GNU_versym"),
            needed_versions=sections.read("SHT_GNU_verneed"),
        )
        machine = _MACHINES.get(elf["e_machine"])
        links = form.read_links(sections.read("SHT_DYNAMIC"), sections.read_texts("SHT_DYNAMIC"))
        return cls(
            name=name,
            machine=machine,
            soname=links.soname,
            needed=links.needed,
            executable_stack=_has_executable_stack(elf, unless_said=machine == "x86_64"),
            text_relocations=links.text_relocations,
            undefined=undefined,
            defined=defined,
            device_code=read_device_code(file.content, *sections.place(_FATBIN)),
            unloaded=sections.unloaded,
            compilers=_compilers_in(sections.read(_COMMENT)),
        )


def shared_objects_of(wheel: Path) -> tuple[SharedObject, ...]:
    """Read every shared object in a wheel whose archive was checked.

    Raises:
        UnreadableError: one of them is not readable; names it.
    """
    with wheel.open("rb") as file, open_archive(file) as archive:
        return read_members(archive, archive.infolist())


def read_members(archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo]) -> tuple[SharedObject, ...]:
    """Read those members of an archive that are shared objects.

    Raises:
        UnreadableError: one of them is not readable; names it.
    """
    found: list[SharedObject] = []
    budget = Budget()
    with temporary_folder() as folder:
        unpacked = folder / "member"
        for member in members:
            with open_member(archive, member) as source:
                if (first := source.read(len(ELF_MAGIC))) != ELF_MAGIC:
                    continue
                with unpacked.open("wb") as target:
                    target.write(first)
                    shutil.copyfileobj(source, target, 1 << 20)
            try:
                found.append(SharedObject.read(unpacked, name=member.filename, budget=budget))
            except UnreadableError as error:
                raise UnreadableError(f"{member.filename}: {error}") from None
    return tuple(found)


def open_symbols(shared_objects: tuple[SharedObject, ...]) -> frozenset[str]:
    """The symbols that some library outside the wheel must define.

    Versioned symbols name their library, which the dynamic linker checks; weak ones may stay undefined.
    """
    defined = frozenset[str]().union(*(shared_object.defined for shared_object in shared_objects))
    return frozenset(
        symbol.name
        for shared_object in shared_objects
        for symbol in shared_object.undefined
        if not symbol.weak and symbol.version is None and symbol.name not in defined
    )


def read_folder(folder: Path) -> tuple[SharedObject, ...]:
    """Read every shared object below a folder that a wheel was unpacked into; raises as `read_members` does."""
    found: list[SharedObject] = []
    budget = Budget()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        with path.open("rb") as file:
            is_shared_object = file.read(len(ELF_MAGIC)) == ELF_MAGIC
        if is_shared_object:
            name = path.relative_to(folder).as_posix()
            try:
                found.append(SharedObject.read(path, name=name, budget=budget))
            except UnreadableError as error:
                raise UnreadableError(f"{name}: {error}") from None
    return tuple(found)


def _compilers_in(comment: bytes) -> tuple[str, ...]:
    """The texts of the section ``.comment``, each once and in order."""
    texts = comment[:_MAX_COMMENT].decode(errors="replace").split("\0")
    return tuple(dict.fromkeys(text for each in texts if (text := each.strip()) and text.isprintable()))


class _Metered:
    """A file for pyelftools, which reads a field at a time, and goes wherever the file says as often as it says.

    Args:
        content: the bytes of the shared object.
        budget: pays for every read.
    """

    def __init__(self, content: mmap, budget: Budget) -> None:
        self.content, self.budget = content, budget
        self.seek, self.tell = content.seek, content.tell

    def read(self, size: int) -> bytes:
        """Read, as long as there is a budget."""
        self.budget.reads -= 1
        if self.budget.reads < 0:
            raise ValueError(f"its headers take more than {MAX_READS} reads, with the wheel's other shared objects")
        return self.content.read(size)


def _sections_of(elf: ELFFile, content: mmap) -> _Sections:
    """The headers of sections, all of them and those that are looked for.

    pyelftools would make an object of each section, for which it reads all of some. It gives a type that it does not
    know as a number.
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
    return _Sections(content=content, headers=headers, found=found)


def _has_executable_stack(elf: ELFFile, *, unless_said: bool) -> bool:
    """Read from the program headers what the stack must be; files that are not loaded have none.

    Args:
        elf: the shared object whose program headers are read.
        unless_said: what the dynamic linker makes of a file that does not say it.
    """
    places = (elf["e_phoff"] + number * elf["e_phentsize"] for number in range(elf.num_segments()))
    headers = {
        header["p_type"]: header for header in (struct_parse(elf.structs.Elf_Phdr, elf.stream, at) for at in places)
    }
    stack = headers.get("PT_GNU_STACK")
    return bool(stack["p_flags"] & _EXECUTABLE) if stack else unless_said and "PT_LOAD" in headers


@dataclass(frozen=True, kw_only=True)
class _Sections:
    """The sections of a shared object."""

    content: mmap
    headers: Sequence[Container]
    """Of all of them, by number."""
    found: Mapping[str, Container]
    """The last of each type, and those that are known by name."""

    def place(self, key: str) -> tuple[int, int]:
        """Where the section of a type or a name starts and ends in the file; nowhere, when there is none.

        Raises:
            ValueError: it is not in the file as it is.
        """
        return self._place(header, f"section {key}") if (header := self.found.get(key)) else (0, 0)

    @property
    def unloaded(self) -> int:
        """The bytes of all sections that are in no memory when the file runs, at most all of the file."""
        kept = (header for header in self.headers if header["sh_type"] not in _EMPTY)
        return min(len(self.content), sum(header["sh_size"] for header in kept if not header["sh_flags"] & _LOADED))

    def read(self, key: str) -> bytes:
        """The bytes of a section."""
        return self.content[slice(*self.place(key))]

    def read_texts(self, key: str) -> Texts:
        """The texts that a section refers to."""
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
