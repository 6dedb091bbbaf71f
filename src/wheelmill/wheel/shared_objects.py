"""Shared objects: the libraries that they need, and the symbols that they leave undefined or define.

https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Final, Self, cast

from elftools.elf.elffile import ELFFile

from wheelmill.errors import UnreadableError
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.archive import MAX_SYMBOLS, open_archive, open_member
from wheelmill.wheel.elf import (
    COMMENT,
    ELF_MAGIC,
    FATBIN,
    Budget,
    DynamicForm,
    Metered,
    Symbol,
    has_executable_stack,
    sections_of,
)
from wheelmill.wheel.gpu_code import DeviceCode, read_device_code

_MAX_COMMENT: Final = 1 << 14
"""Bytes of what compilers say of themselves; a linker keeps each text once."""
_REGISTERS_CODE: Final = "__cudaRegisterFatBinary"
"""Function of the CUDA runtime that every shared object with GPU code calls when it is loaded."""
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


@dataclass(frozen=True, kw_only=True)
class SharedObject:
    """Linking facts of one shared object of a wheel."""

    name: str
    """Its path in the wheel."""
    machine: str | None
    """``x86_64`` or ``aarch64``; None for code of a GPU."""
    soname: str | None
    """The name that others need it by."""
    needed: tuple[str, ...]
    """The libraries it names, as in ``libcudart.so.13``."""
    executable_stack: bool
    """True if loading it makes the stack executable."""
    text_relocations: bool
    """True if its code is written to when it is loaded."""
    undefined: tuple[Symbol, ...]
    defined: frozenset[str]
    device_code: DeviceCode
    unloaded: int
    """Bytes of it that nothing loads: names of symbols and debug information."""
    compilers: tuple[str, ...] = ()
    """Compilers in their own words: ``GCC: (Debian 12.2.0-14) 12.2.0``."""

    @property
    def holds_cuda_runtime(self) -> bool:
        """True if the CUDA runtime is linked into it: it has GPU code, and needs no other library to register that."""
        has_code = bool(self.device_code.sass or self.device_code.ptx)
        return has_code and all(symbol.name != _REGISTERS_CODE for symbol in self.undefined)

    @classmethod
    def read(cls, path: Path, *, name: str, budget: Budget) -> Self:
        """Read a shared object; `name` is its path in the wheel, and `budget` is used up.

        Raises:
            UnreadableError: it is not a readable one.
        """
        try:
            with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return cls._of(Metered(content, budget), name=name)
        except MemoryError:  # the budgets have a hole
            raise
        except Exception as error:  # noqa: BLE001 - pyelftools trusts its input, and fails in any way
            raise UnreadableError("elf-invalid", f"not a readable shared object: {error}") from None

    @classmethod
    def _of(cls, file: Metered, *, name: str) -> Self:
        elf = ELFFile(cast("IO[bytes]", file))
        sections = sections_of(elf, file.content)
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
            executable_stack=has_executable_stack(elf, unless_said=machine == "x86_64"),
            text_relocations=links.text_relocations,
            undefined=undefined,
            defined=defined,
            device_code=read_device_code(file.content, *sections.place(FATBIN)),
            unloaded=sections.unloaded,
            compilers=_compilers_in(sections.read(COMMENT)),
        )


def shared_objects_of(wheel: Path) -> tuple[SharedObject, ...]:
    """Read every shared object in a wheel whose archive was checked.

    Raises:
        UnreadableError: one of them is not readable; names it.
    """
    with wheel.open("rb") as file, open_archive(file) as archive:
        return read_members(archive, archive.infolist())


def read_members(archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo]) -> tuple[SharedObject, ...]:
    """Read the shared objects among members of an archive.

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
            found.append(_read_named(unpacked, member.filename, budget))
    return tuple(found)


def read_folder(folder: Path) -> tuple[SharedObject, ...]:
    """Read every shared object in the folder of an unpacked wheel; raises as `read_members` does."""
    found: list[SharedObject] = []
    budget = Budget()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        with path.open("rb") as file:
            is_shared_object = file.read(len(ELF_MAGIC)) == ELF_MAGIC
        if is_shared_object:
            found.append(_read_named(path, path.relative_to(folder).as_posix(), budget))
    return tuple(found)


def _read_named(path: Path, name: str, budget: Budget) -> SharedObject:
    try:
        return SharedObject.read(path, name=name, budget=budget)
    except UnreadableError as error:
        raise UnreadableError("elf-invalid", f"{name}: {error}") from None


def open_symbols(shared_objects: tuple[SharedObject, ...]) -> frozenset[str]:
    """Symbols that some library outside the wheel must define.

    Versioned symbols name their library, which the dynamic linker checks; weak ones may stay undefined.
    """
    defined = frozenset[str]().union(*(shared_object.defined for shared_object in shared_objects))
    return frozenset(
        symbol.name
        for shared_object in shared_objects
        for symbol in shared_object.undefined
        if not symbol.weak and symbol.version is None and symbol.name not in defined
    )


def _compilers_in(comment: bytes) -> tuple[str, ...]:
    """Texts of the section ``.comment``, each once and in order."""
    texts = comment[:_MAX_COMMENT].decode(errors="replace").split("\0")
    return tuple(dict.fromkeys(text for each in texts if (text := each.strip()) and text.isprintable()))
