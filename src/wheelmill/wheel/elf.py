"""Shared objects: what they need, and which symbols they leave open or define.

https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Self

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import Section, SymbolTableSection

from wheelmill.wheel.fatbin import DeviceCode, read_device_code

ELF_MAGIC: Final = b"\x7fELF"
_MAX_VERSIONS: Final = 1 << 15
"""Versions are numbered in 15 bits; a crafted chain of them need not end."""


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
    def read(cls, path: Path, *, name: str) -> Self:
        """Read a shared object.

        Raises:
            ValueError: it is not a readable one.
        """
        with path.open("rb") as file:
            try:
                return cls._of(ELFFile(file), name=name)
            except Exception as error:  # noqa: BLE001 - pyelftools trusts what it reads: it fails in any way
                raise ValueError(f"not a readable shared object: {error}") from None

    @classmethod
    def _of(cls, elf: ELFFile, *, name: str) -> Self:
        sections = list(elf.iter_sections())
        if not sections:
            raise ValueError("it has no section headers")
        fatbin = elf.get_section_by_name(".nv_fatbin")
        symbols = next((s for s in sections if isinstance(s, SymbolTableSection) and s.name == ".dynsym"), None)
        versions = _versions(sections)
        undefined, defined = [], set()
        for index, symbol in enumerate(symbols.iter_symbols() if symbols else ()):
            if not symbol.name:
                continue
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
    found = []
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
                found.append(SharedObject.read(unpacked, name=member.filename))
            except ValueError as error:
                raise ValueError(f"{member.filename}: {error}") from None
    return tuple(found)


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
