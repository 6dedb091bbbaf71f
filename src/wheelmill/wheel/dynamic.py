"""What the dynamic linker reads of a shared object: the libraries and symbols that it needs, and those that it defines.

Whole sections are read at once: a reader of one entry at a time takes minutes for what a small wheel can hold.

https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html
https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter
from typing import Final

from wheelmill.errors import UnreadableError
from wheelmill.wheel.limits import MAX_SYMBOL_NAME

_NEEDED, _SONAME, _TEXTREL, _FLAGS = 1, 14, 22, 30
_TEXTREL_FLAG: Final = 4
_UNDEFINED, _WEAK = 0, 2
_SHARED: Final = 4
"""How many times as long as their table texts may be together: some are the ends of others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    """A symbol that a shared object needs from elsewhere."""

    name: str
    version: str | None
    """``GLIBC_2.32``; None when the symbol is not versioned."""
    weak: bool
    """Whether it may stay undefined."""


@dataclass(frozen=True, kw_only=True)
class Links:
    """What the section ``.dynamic`` says to the dynamic linker."""

    soname: str | None = None
    """The name that others need it by."""
    needed: tuple[str, ...] = ()
    """The libraries it names, as in ``libcudart.so.13``."""
    text_relocations: bool = False
    """Whether its code is written to when it is loaded."""


class Texts:
    """The section ``.dynstr``: texts that end with a zero.

    Args:
        table: the bytes of the section.
    """

    def __init__(self, table: bytes) -> None:
        self._table = table
        self._left = _SHARED * len(table)

    def at(self, place: int) -> str:
        """Read the text at a place.

        Raises:
            UnreadableError: there is none, it is longer than any real one, or the table is read again and again.
        """
        end = self._table.find(b"\0", place, place + MAX_SYMBOL_NAME + 1)
        if end < 0:
            raise UnreadableError(
                "elf-names", f"it has a name outside of its table, or one of more than {MAX_SYMBOL_NAME} bytes"
            )
        self._left -= end - place
        if self._left < 0:
            raise UnreadableError(
                "elf-names", f"its names are together more than {_SHARED} times as long as their table"
            )
        return self._table[place:end].decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class DynamicForm:
    """How a file writes its numbers."""

    order: str
    """Of bytes: ``<`` or ``>``."""
    wide: bool
    """Whether addresses have 64 bits."""

    @property
    def symbol(self) -> struct.Struct:
        """Name, kind and section of a symbol."""
        return struct.Struct(f"{self.order}{'IBxH16x' if self.wide else 'I8xBxH'}")

    @property
    def entry(self) -> struct.Struct:
        """Tag and value of an entry of the section ``.dynamic``."""
        return struct.Struct(f"{self.order}{'2Q' if self.wide else '2I'}")

    def read_links(self, entries: bytes, texts: Texts) -> Links:
        """Read what it says to the dynamic linker.

        Args:
            entries: the section ``.dynamic``, of whole entries; one that is zero is the last.
            texts: the section ``.dynstr``, with the names of libraries.

        Raises:
            UnreadableError: a name cannot be read.
        """
        soname, needed, text_relocations = None, [], False
        for tag, value in takewhile(itemgetter(0), self.entry.iter_unpack(entries)):
            if tag == _NEEDED:
                needed.append(texts.at(value))
            elif tag == _SONAME:
                soname = texts.at(value)
            elif tag == _TEXTREL or (tag == _FLAGS and value & _TEXTREL_FLAG):
                text_relocations = True
        return Links(soname=soname, needed=tuple(needed), text_relocations=text_relocations)

    def read_symbols(
        self, symbols: bytes, texts: Texts, *, versions: bytes, needed_versions: bytes
    ) -> tuple[tuple[Symbol, ...], frozenset[str]]:
        """Read the symbols that are left open, and the names of the others.

        Args:
            symbols: the section ``.dynsym``, of whole symbols.
            texts: the section ``.dynstr``, with the names of symbols and versions.
            versions: ``.gnu.version``, for each symbol the number of its version; empty when none has one.
            needed_versions: ``.gnu.version_r``, the versions of other libraries with these numbers.

        Raises:
            UnreadableError: a name or a version cannot be read.
        """
        names = self._version_names(needed_versions, texts)
        numbers = struct.unpack(f"{self.order}{len(versions) // 2}H", versions)
        undefined, defined = [], set()
        for index, (place, kind, section) in enumerate(self.symbol.iter_unpack(symbols)):
            name = texts.at(place)
            if name and section == _UNDEFINED:
                version = names.get(numbers[index]) if index < len(numbers) else None
                undefined.append(Symbol(name=name, version=version, weak=kind >> 4 == _WEAK))
            elif name:
                defined.add(name)
        return tuple(undefined), frozenset(defined)

    def _version_names(self, section: bytes, texts: Texts) -> dict[int, str]:
        """The versions by number: the section is a chain of libraries, each with a chain of its versions."""
        library, version = struct.Struct(f"{self.order}2xH4x2I"), struct.Struct(f"{self.order}6xH2I")
        found: dict[int, str] = {}
        at, following = 0, len(section)
        try:
            while following:
                count, first, following = library.unpack_from(section, at)
                each = at + first
                for _ in range(count):
                    number, name, next_version = version.unpack_from(section, each)
                    if number in found:
                        raise UnreadableError("elf-versions", "two versions that its symbols need have one number")
                    found[number] = texts.at(name)
                    each += next_version
                at += following
        except struct.error:
            raise UnreadableError("elf-versions", "its section .gnu.version_r leads out of itself") from None
        return found
