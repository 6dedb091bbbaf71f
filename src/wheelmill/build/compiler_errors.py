"""What compilers print: whether they refused a source, or failed for another reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from wheelmill.errors import BuildError, CompileError
from wheelmill.names import PythonVersion
from wheelmill.system.output import MAX_LINE

_REFUSAL: Final = re.compile(
    r"""\s*(?P<line>(
        [^\s:()][^:()]*(:\d+(:\d+)?|\(\d+\)):\s*error(\s\#[\w-]+)?:\s  # GCC, Clang; the front end of nvcc
      | ptxas\s.*\b(error|fatal)\s*:\s                                   # the assembler for GPUs
    ).*)""",
    re.VERBOSE,
)

_EXCUSE: Final = re.compile(
    r"""fatal\serror | catastrophic\serror | internal\s(compiler\s)?error   # among them headers that are not there
      | killed | died\sdue\sto\ssignal | terminated\ssignal | timed\sout
      | out\sof\smemory | memory\sexhausted | cannot\sallocate\smemory | memory\sallocation\sfailure | bad_alloc
      | no\sspace\sleft | quota\sexceeded | input/output\serror | too\smany\sopen\sfiles | permission\sdenied
      | name\sresolution | resolve\shost | getaddrinfo | name\sor\sservice\snot\sknown | network\sis\sunreachable
      | connection\s(refused|reset|aborted|error) | urlopen\serror | http\serror | max\sretries | \bssl:
    """,
    re.VERBOSE | re.IGNORECASE,
)

_TOO_OLD: Final = re.compile(r"would build wheel with unsupported tag \('(?P<oldest>cp3[0-9]{1,2})', 'abi3'")
"""What setuptools says where ``py_limited_api`` names a newer Python than the one that builds."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST: Final = 300
"""Characters of a compiler's line that are kept: foreign text, which pages show."""


def explain_failure(message: str, log: Path, *, source: str) -> BuildError:
    """Tell a source that the compiler refuses from a build that failed for another reason, by the build's log.

    Only the former is worth remembering. Where both may be true, the machine is blamed: a needless try costs time, a
    needless skip costs a wheel.

    Args:
        message: what people are told, with the end of the log.
        log: everything that the build printed.
        source: the folder of the source, as the build saw it; the compiler's line is shown without it.

    Returns:
        A `CompileError` when the compiler refused the source and nothing in the log could be the machine's fault.
    """
    refusal = None
    if not log.exists():  # it failed before anything was started
        return BuildError(message)
    with log.open(encoding="utf-8", errors="replace") as lines:
        while text := lines.readline(MAX_LINE):
            plain = _COLOURS.sub("", text)
            if _EXCUSE.search(plain):
                return BuildError(message)
            if too_old := _TOO_OLD.search(plain):
                oldest = PythonVersion.parse(too_old["oldest"])
                key = f'python: ">={oldest}" in its entry of packages.yml'
                return BuildError(message, hint=f"its wheels are for Python {oldest} and newer: {key}")
            refusal = refusal or _REFUSAL.match(plain)
    if refusal is None:
        return BuildError(message)
    line = refusal["line"].replace(f"{source.rstrip('/')}/", "").strip()
    return CompileError(message, line=line[:_LONGEST])
