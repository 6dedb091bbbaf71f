"""Which musl an interpreter runs on: Python has no call for it, but musl's loader says it.

https://peps.python.org/pep-0656/
"""

from __future__ import annotations

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from wheelmill.errors import ProcessError, UsageError
from wheelmill.system import process
from wheelmill.wheel.platforms import Libc


def musl_of(interpreter: Path) -> Libc | None:
    """The musl that an interpreter is linked to; None when it is linked to another C library, or to none."""
    loader = _loader_of(interpreter)
    if loader is None or "musl" not in loader:
        return None
    try:
        said = process.run([loader], env={}, timeout=10)
    except ProcessError as error:  # without a program to load, it fails
        said = error.tail
    except UsageError:
        return None
    for line in said.splitlines():
        name, _, version = line.partition(" ")
        if name == "Version":  # "musl libc (x86_64)", then "Version 1.2.5"
            try:
                major, minor, *_ = map(int, version.split("."))
            except ValueError:
                return None
            return Libc("musl", major, minor)
    return None


def _loader_of(program: Path) -> str | None:
    """The program that the kernel starts to load another one (``PT_INTERP`` of ELF)."""
    try:
        with program.open("rb") as file:
            segments = ELFFile(file).iter_segments("PT_INTERP")
            return next((each.get_interp_name() for each in segments if isinstance(each, InterpSegment)), None)
    except (OSError, ELFError):
        return None
