"""Instructions in a shared object that not every processor of its platform has.

x86-64-v2 is taken for granted: processors have had it since 2009, and so has every machine with a GPU that a current
CUDA supports. Compilers use later instructions, such as AVX, only where flags or a source ask for them. Careful sources
have several variants of a function, and ask the processor when the program runs.

https://gitlab.com/x86-psABIs/x86-64-ABI
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_LATER: Final = ("BMI2", "F16C", "FMA", "FMA4", "MOVBE", "XOP")
"""Features beyond x86-64-v2, beside AVX in all its forms. Older processors run those of BMI1 and LZCNT as others."""
_ASKS: Final = "CPUID"
_ASKED_FOR: Final = frozenset(("__cpu_indicator_init", "__cpu_model", "getauxval"))
"""Symbols of the libraries that ask a processor: of GCC's runtime for ``target_clones``, and of glibc."""


class Function(NamedTuple):
    """Function by its symbol."""

    start: int
    end: int
    """Address behind its last byte."""
    name: str
    is_chosen: bool
    """True if it is chosen when it is loaded."""


@dataclass(frozen=True, kw_only=True)
class ProcessorUse:
    """Use that x86-64 code makes of its processor."""

    asks: bool = False
    """True if it, or the dynamic linker for it, checks the features of the processor; the rest is not read then."""
    later: tuple[str, ...] = ()
    """Functions with instructions beyond x86-64-v2, and their features: ``scale (AVX, FMA)``.

    Those without a name are one.
    """


INSTRUCTIONS_UNREAD: Final = ProcessorUse()


def processor_use(
    code: Iterable[tuple[int, bytes]], functions: Iterable[Function], undefined: Iterable[str]
) -> ProcessorUse:
    """Disassemble x86-64 code: addresses and bytes of sections; `undefined` has the names of symbols."""
    if not _ASKED_FOR.isdisjoint(undefined):
        return ProcessorUse(asks=True)
    known = sorted(functions)
    if any(each.is_chosen for each in known):
        return ProcessorUse(asks=True)
    later: defaultdict[str, set[str]] = defaultdict(set)
    for start, section in code:
        for address, features in _instructions(section, start):
            if _ASKS in features:
                return ProcessorUse(asks=True)
            before = bisect_right(known, address, key=lambda each: each.start) - 1
            is_inside = before >= 0 and address < known[before].end
            later[known[before].name if is_inside else "functions without a name"].update(features)
    return ProcessorUse(later=tuple(f"{name} ({', '.join(sorted(features))})" for name, features in later.items()))


def _instructions(code: bytes, address: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the addresses of instructions that are beyond x86-64-v2 or ask the processor, and their features."""
    from iced_x86 import CpuidFeature, Decoder  # only the factory has it

    names = {number: name for name, number in vars(CpuidFeature).items() if isinstance(number, int)}
    known: dict[int, tuple[str, ...]] = {}
    for instruction in Decoder(64, code, ip=address):
        if (features := known.get(instruction.code)) is None:
            named = (names[number] for number in instruction.cpuid_features())
            features = tuple(name for name in named if name == _ASKS or name in _LATER or name.startswith("AVX"))
            known[instruction.code] = features
        if features:
            yield instruction.ip, features
