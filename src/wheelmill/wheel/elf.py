"""Shared objects: what they need, and which symbols they leave open or define.

https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Final, Self

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import Section, SymbolTableSection

from wheelmill.wheel.fatbin import DeviceCode, read_device_code

ELF_MAGIC: Final = b"\x7fELF"
_FATBIN: Final = ".nv_fatbin"
MAX_SYMBOLS: Final = 1_000_000
"""In all shared objects of a wheel. All of torch's together have half as many."""
_MAX_NAME: Final = 1 << 16
"""Characters. Mangled names of templates reach some ten thousand."""
_MAX_SECTIONS: Final = 10_000
_MAX_VERSIONS: Final = 1 << 15
"""Versions are numbered in 15 bits; a crafted chain of them need not end."""
_COMPRESSED: Final = 0x800
"""SHF_COMPRESSED: what pyelftools would unpack in memory, and linkers never do for what is read here."""
_READ: Final = (SymbolTableSection, GNUVerNeedSection, GNUVerSymSection, DynamicSection)
"""The sections that are read, beside ``.nv_fatbin``."""


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A symbol that a shared object needs from elsewhere."""

    name: str
    version: str | None
    """``GLIBC_2.32``; None when the symbol is not versioned."""
    weak: bool
    """Whether it may stay undefined."""


@dataclass(frozen=True, kw_only=True)
class SharedObject:
    """What one shared object of a wheel says of itself."""

    name: str
    """Its path in the wheel."""
    machine: str
    """``x86_64`` or ``aarch64``."""
    needed: tuple[str, ...]
    """The libraries it names, as in ``libcudart.so.13``."""
    undefined: tuple[Symbol, ...]
    defined: frozenset[str]
    device_code: DeviceCode

    @classmethod
    def read(cls, path: Path, *, name: str, max_symbols: int = MAX_SYMBOLS) -> Self:
        """Read a shared object.

        Args:
            path: where its file is on this disk.
            name: its path in the wheel.
            max_symbols: how many symbols it may have.

        Raises:
            ValueError: it is not a readable one.
        """
        with path.open("rb") as file:
            try:
                return cls._of(ELFFile(file), name=name, sections=_sections_of(file, max_symbols))
            except Exception as error:  # noqa: BLE001 - pyelftools trusts what it reads: it fails in any way
                raise ValueError(f"not a readable shared object: {error}") from None

    @classmethod
    def _of(cls, elf: ELFFile, *, name: str, sections: list[Section]) -> Self:
        fatbin = next((section for section in sections if section.name == _FATBIN), None)
        symbols = next((s for s in sections if isinstance(s, SymbolTableSection) and s.name == ".dynsym"), None)
        versions = _versions(sections)
        undefined, defined = [], set()
        for index, symbol in enumerate(symbols.iter_symbols() if symbols else ()):
            if not symbol.name:
                continue
            if len(symbol.name) > _MAX_NAME:
                raise ValueError(f"it has a symbol whose name is longer than {_MAX_NAME} characters")
            if symbol["st_shndx"] == "SHN_UNDEF":
                weak = symbol["st_info"]["bind"] == "STB_WEAK"
                undefined.append(Symbol(name=symbol.name, version=versions.get(index), weak=weak))
            else:
                defined.add(symbol.name)
        return cls(
            name=name,
            machine={"x64": "x86_64", "AArch64": "aarch64"}.get(elf.get_machine_arch(), elf.get_machine_arch()),
            needed=tuple(
                tag.needed  # type: ignore[attr-defined]  # set by its name at run time
                for section in sections
                if isinstance(section, DynamicSection)
                for tag in section.iter_tags("DT_NEEDED")
            ),
            undefined=tuple(undefined),
            defined=frozenset(defined),
            device_code=read_device_code(fatbin.data()) if fatbin else DeviceCode(sass=(), ptx=()),
        )


def shared_objects_of(wheel: Path) -> tuple[SharedObject, ...]:
    """Read every shared object in a wheel whose archive was checked.

    Raises:
        ValueError: one of them is not readable; names it.
    """
    found: list[SharedObject] = []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory(prefix="wheelmill-") as folder:
        unpacked = Path(folder) / "member"
        for member in archive.infolist():
            with archive.open(member) as source:
                if source.read(len(ELF_MAGIC)) != ELF_MAGIC:
                    continue
                source.seek(0)
                with unpacked.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
            try:
                taken = sum(len(each.undefined) + len(each.defined) for each in found)
                found.append(SharedObject.read(unpacked, name=member.filename, max_symbols=MAX_SYMBOLS - taken))
            except ValueError as error:
                raise ValueError(f"{member.filename}: {error}") from None
    return tuple(found)


def _sections_of(file: IO[bytes], max_symbols: int) -> list[Section]:
    """The sections of an ELF file, once their headers promise no more than the file holds and a reader can take.

    Raises:
        ValueError: they do not.
    """
    elf, size = ELFFile(file), file.seek(0, os.SEEK_END)
    if not 0 < elf.num_sections() <= _MAX_SECTIONS:
        raise ValueError(f"it has {elf.num_sections()} section headers; expected 1 to {_MAX_SECTIONS}")
    sections = list(elf.iter_sections())
    for section in sections:
        if not (isinstance(section, _READ) or section.name == _FATBIN):
            continue
        if section["sh_flags"] & _COMPRESSED:
            raise ValueError(f"its section {section.name} is compressed")
        if section["sh_offset"] + section["sh_size"] > size:
            raise ValueError(f"its section {section.name} ends behind the end of the file")
        if isinstance(section, GNUVerNeedSection) and section.num_versions() > _MAX_VERSIONS:
            raise ValueError(f"its section {section.name} promises {section.num_versions()} libraries")
        symbols = section.num_symbols() if isinstance(section, SymbolTableSection | GNUVerSymSection) else 0
        if symbols > max_symbols:
            raise ValueError(f"its section {section.name} has {symbols} symbols, more than {max_symbols}")
    return sections


def _versions(sections: list[Section]) -> dict[int, str]:
    """The version name that each undefined dynamic symbol, by index, asks for."""
    needed = (
        auxiliary
        for section in sections
        if isinstance(section, GNUVerNeedSection)
        for _library, auxiliaries in section.iter_versions()
        for auxiliary in auxiliaries
    )
    names = {auxiliary["vna_other"]: auxiliary.name for auxiliary in islice(needed, _MAX_VERSIONS)}
    return {
        index: names[symbol["ndx"]]
        for section in sections
        if isinstance(section, GNUVerSymSection)
        for index, symbol in enumerate(section.iter_symbols())
        if symbol["ndx"] in names
    }
