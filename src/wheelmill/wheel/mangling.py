"""Names of C++ as symbols have them: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.

Only the beginning of a name is read. Demanglers would read all of it, and they are programs in C++ that foreign bytes
would reach.
"""

from __future__ import annotations

import re
from typing import Final

from wheelmill.web.pages import shown

MANGLED: Final = "_Z"
ENTITY: Final = r"_Z(?:T[VTISHW]|GV|Z)*"
"""Before the name of what a table, a type's description or a guard belongs to."""
NESTED: Final = r"N[rVK]*[RO]?"
"""Before a name that stands in a namespace or a class."""

_NESTED_NAME: Final = re.compile(ENTITY + NESTED)
_LENGTH: Final = re.compile(r"[0-9]+")
"""Of the part of a name that follows it."""
_LONGEST: Final = 200
"""Characters of a name that are looked at."""


def name_in(symbol: str) -> str:
    """The namespaces and the name that a symbol begins with: ``c10::SymInt::sym_ne``; else the symbol itself."""
    symbol = symbol[:_LONGEST]
    parts = []
    at = begin.end() if (begin := _NESTED_NAME.match(symbol)) else len(symbol)
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
    return shown("::".join(parts) or symbol)


def describe_symbol(symbol: str) -> str:
    """A name with its symbol, which tells functions with other arguments apart: ``c10::gone (_ZN3c104goneEv)``."""
    name, whole = name_in(symbol), shown(symbol)
    return name if name == whole else f"{name} ({whole})"
