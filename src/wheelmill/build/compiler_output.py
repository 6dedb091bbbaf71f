"""Output of builds: the unit that compiles, the first error, refusals of the source, and known causes with hints."""

from __future__ import annotations

import re
import textwrap
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final, get_args

from wheelmill.build.compiler_cache import UNITS, CompilerCache
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_fields import Component
from wheelmill.errors import BuildError, CompileError, ProcessError
from wheelmill.system.hardware import MEMORY_PER_COMPILER
from wheelmill.system.process import MAX_LINE, Cause, find_cause, printable
from wheelmill.system.progress import Progress, duration

NETWORK: Final = (
    *("name resolution", "resolve host", "getaddrinfo", "name or service not known", "network is unreachable"),
    *("connection refused", "connection reset", "connection aborted", "connection error", "max retries"),
    *("urlopen error", "http error", "ssl:"),
)
MEMORY: Final = (
    *("killed", "signal 9", "exit code 137", "exit code: 137", "memory allocation failure", "bad_alloc"),
    *("out of memory", "memory exhausted", "cannot allocate memory"),
)
DISK: Final = ("no space left", "quota exceeded")
"""Phrases that blame the network, memory or disk, in lower case."""

_HEADER: Final = r"(?:fatal error: |cannot open source file \")"
_SWITCH: Final = re.compile(r"\b[A-Z][A-Z0-9_]*_FORCE_BUILD\b")
_MAX_SETUP_CHARS: Final = 1 << 20
"""Characters of a setup.py that are searched for a switch."""


_OTHER_NAMES: Final[Mapping[str, str]] = {"nvtx": "(?:nvtx|nvToolsExt)", "profiler-api": "cuda_?profiler"}
"""Prefix of the headers, libraries and CMake targets of a component, if it is not the component's name."""


def any_of(phrases: Iterable[str]) -> str:
    """Regular expression of phrases, none of them as a part of a word."""
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, phrases))})(?!\w)"


def _lacks(component: str) -> Cause:
    name = _OTHER_NAMES.get(component, component)
    return Cause(
        pattern=rf"{_HEADER}(?:\w+/)?{name}\w*\.h|cannot find -l{name}|\bCUDA::{name}",
        hint=f"toolkit: [{component}] in the entry of {{project}} brings that component of NVIDIA's toolkit",
    )


def _lacks_system(headers: str, dnf: str, apt: str) -> Cause:
    return Cause(
        pattern=_HEADER + headers,
        hint=f"system_packages: {{{{dnf: [{dnf}], apt: [{apt}]}}}} in the entry of {{project}} brings that header",
    )


KNOWN_CAUSES: Final = (
    Cause(
        pattern=r"would build wheel with unsupported tag \('cp3(?P<minor>\d{1,2})', 'abi3(?:\.abi3t)?'",
        hint='its wheels are for Python 3.{minor} and newer: python: ">=3.{minor}" in its entry',
    ),
    Cause(
        pattern=r"`?Py_LIMITED_API`? is (?:currently )?incompatible with `?Py_GIL_DISABLED",
        hint='setuptools has the stable ABI of free-threaded Python from 84.2 on: "setuptools>=84.2" among the '
        "extra_deps of {project}; or abi: abi3, which leaves those Pythons out",
    ),
    Cause(
        pattern=r"\bPy(?:ModuleDef_HEAD_INIT|Object_HEAD)\W+(?:undeclared|was not declared|does not name a type)",
        hint="abi3t hides PyObject and PyModuleDef, and its source uses them (PEP 803): abi: abi3 in the entry of "
        "{project} leaves free-threaded Pythons out",
    ),
    Cause(
        pattern=any_of(MEMORY),
        hint="compilers are counted with {memory} GB each: raise memory_per_job of {project}, and fewer run at once",
    ),
    Cause(pattern=any_of(DISK), hint="the disk is full"),
    Cause(
        pattern=any_of(NETWORK)
        + r"|unable to access 'https?:|failed to clone|'git', '(?:clone|submodule)'|No matching distribution found for",
        hint="the source downloads when it is built, and builds have no network: {switch} under 'env' in its entry "
        "usually stops that; for what belongs to the source, submodules: true or a patch",
    ),
    Cause(
        pattern=r"CPU version is not implemented|CUDA (?:is )?(?:not available|unavailable)|no NVIDIA driver on your"
        r"|no CUDA (?:GPUs?|devices?) (?:are |is |were )?(?:available|found|detected)|\bnvidia-smi\b",
        hint="its setup.py looks for a GPU in a way that builds do not answer, or that gpu_probe: as-is forbids: set "
        "what it reads instead, such as FORCE_CUDA: \"1\", under 'env' in its entry",
    ),
    Cause(
        pattern=r"No module named 'pkg_resources'",
        hint='its setup.py needs an older setuptools: "setuptools<81" among the extra_deps of {project}',
    ),
    Cause(
        pattern=r"(?:ModuleNotFoundError|ImportError): No module named '(?P<module>\w+)",
        hint="the build lacks {module}: name the distribution that has it among the extra_deps of {project}",
    ),
    *map(_lacks, get_args(Component)),
    _lacks_system("(?:sparsehash|google)/", "sparsehash-devel", "libsparsehash-dev"),
    _lacks_system("libaio.h", "libaio-devel", "libaio-dev"),
    _lacks_system("numa.h", "numactl-devel", "libnuma-dev"),
    _lacks_system("infiniband/", "rdma-core-devel", "libibverbs-dev"),
    Cause(
        pattern=r"missing and no known rule to make it|fatal error: \S+\.(?:cu|cpp|cc|cxx|c): No such file"
        r"|cannot find source file:|given source \"[^\"]+\" which is not an\s+existing"
        r"|no such file or directory: '(?!/)[^']*[./]",
        hint="the source lacks that file: where it is a source distribution, take the repository, "
        "source: {{git: URL, ref: REF}}; where it is a repository, submodules: true",
    ),
    Cause(
        pattern=r"no such file or directory: '(?P<program>[\w+-]+)'",
        hint="the build lacks the program {program}, which extra_deps or system_packages of {project} may bring",
    ),
    Cause(
        pattern=r"C\+\+\d\d or later compatible compiler is required|only available with .-std="
        r"|std::(?:integral|same_as|strong_ordering|span|source_location|bit_cast)\b",
        hint="it needs a newer C++ standard: cxx_standard of {project} raises it, and as-is leaves it alone",
    ),
    Cause(
        pattern=r'namespace "(?:cub|thrust|cuda)" has no member',
        hint="CUDA 13 took that out of its C++ libraries: a patch of {project} takes what older ones have, too, or "
        'exclude: [{{cuda: ">=13", ...}}]',
    ),
    Cause(
        pattern=r"unsupported gpu architecture|is not defined for option 'gpu-architecture'|Unknown CUDA arch",
        hint="this CUDA does not compile for that GPU: take it out of the architectures of {project}; gencode: replace "
        "takes out those that its setup.py names itself",
    ),
    Cause(
        pattern=r"fatal error: \S+: No such file|cannot open source file|cannot find -l"
        r"|Could not find a package configuration file provided by",
        hint="system_packages, extra_deps or toolkit of {project} bring what others provide; what is the source's own "
        "may be in a submodule (submodules: true)",
    ),
)
"""The first that is found counts. Hints may name the {project}, the {memory} in GB that a compiler is counted with, and
the {switch} that stops a download."""


def _hint_for(printed: str, package: Package, source: Path) -> str | None:
    memory = (package.memory_per_job or MEMORY_PER_COMPILER) >> 30
    switch = _switch_in(printed, source)
    cause = find_cause(printed, KNOWN_CAUSES, project=package.name, memory=memory, switch=switch)
    return cause.hint if cause else None


def _switch_in(printed: str, source: Path) -> str:
    """Variable that stops a source's downloads, from its output or ``setup.py``, or a placeholder."""
    setup = source / "setup.py"
    text = ""
    if setup.is_file():
        with setup.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_SETUP_CHARS)
    named = _SWITCH.search(printed) or _SWITCH.search(text)
    return f'{named[0]}: "TRUE"' if named else "a variable such as *_FORCE_BUILD"


_REFUSAL: Final = re.compile(
    r"""
        [^\s:()][^:()]*(:\d+(:\d+)?|\(\d+\)):\s*error(\s\#[\w-]+)?:\s  # GCC, Clang; the front end of nvcc
      | ptxas\s.*\b(error|fatal)\s*:\s                                   # the assembler for GPUs
    """,
    re.VERBOSE,
)
_COMPILER_ERROR: Final = re.compile(
    rf"""{_REFUSAL.pattern}
      | [^\s:()][^:()]*(:\d+(:\d+)?|\(\d+\)):\s*(fatal|catastrophic|internal(\scompiler)?)\serror[\s:]
      | (\S*/)?[\w+.-]+:\s(fatal|internal\scompiler)\serror:\s           # cc1plus: fatal error: ...
      | (nvcc|cicc|nvlink|fatbinary|cudafe\+\+)\s.*\b(error|fatal)\s*:
      | (\S*/)?ld(\.\w+)?:\s(?!warning)
    """,
    re.VERBOSE,
)
_TOOL_ERROR: Final = re.compile(
    r"""CMake\sError | ninja:\serror: | make(\[\d+\])?:\s\*\*\* | curl:\s\(\d+\) | ERROR:\sCould\snot
      | fatal:\s(?!not\sa\sgit\srepository)                            # git; setup.py may ask it for a version in vain
    """,
    re.VERBOSE,
)
_LEAD: Final = re.compile(r"In file included from |from \S+:\d|\S+: In |.*: required from ")
"""Lines that compilers print before an error, to locate it."""
_END: Final = re.compile(
    r"""\[\d+/\d+\]\s | ninja:\sbuild\sstopped | make(\[\d+\])?:\s | Traceback\s | error:\s(command|subprocess)
      | [+]\s | --\s | \*\*\*\s | note:\sThis\serror\soriginates | \[end\sof\soutput\] | CMake\s(Generate|Error)
    """,
    re.VERBOSE,
)
"""Lines after an error that do not belong to it."""
_BACKEND: Final = re.compile(r'File "[^"]*/(setuptools|pyproject_hooks|scikit_build_core|mesonpy|hatchling)/')
"""Frames of tracebacks that are the same whatever fails."""
_EXCUSES: Final = (
    *("fatal error", "catastrophic error", "internal error", "internal compiler error", "timed out"),
    *("died due to signal", "terminated signal"),
    *("input/output error", "too many open files", "permission denied", *MEMORY, *NETWORK, *DISK),
    "would build wheel with unsupported tag",  # the Python is too old
)
"""Phrases that may mean that the machine is to blame, such as missing headers; all in lower case."""
_EXCUSE: Final = re.compile(any_of(_EXCUSES), re.IGNORECASE)
_MARKS: Final = ("rror", "ERROR", "fatal", "ld: ", "***", "curl: ")
"""Every line with an error has one of these; looking for them is faster than matching a pattern."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST: Final = 300
"""Characters of a line that are kept, as pages will show it."""
_READ: Final = 1000
"""Characters of a line that are searched for an error and for known causes."""
_BEFORE, _AFTER, _FRAMES = 3, 12, 6
"""Lines that are shown before an error and after it, and of the frames of a traceback."""
_TRACEBACK: Final = 1000
"""Lines of a traceback that are kept until it ends."""


class _Rank(IntEnum):
    """Rank of an error as the cause of a failed build; of equal ones the first counts, of exceptions the last."""

    NONE = 0
    RAISED = 1
    """An exception of Python: often the consequence of what a tool printed before."""
    PRINTED = 2
    """An error of a compiler or another tool; it may come from a mere probe."""
    OF_FAILED_UNIT = 3
    """An error of a compiler, after ninja reported a failed unit."""


@dataclass(kw_only=True)
class _FirstError:
    lines: list[str] = field(default_factory=list)
    line: str = ""
    """The error itself."""
    rank: _Rank = _Rank.NONE
    _room: int = 0
    _unit_failed: bool = False
    _before: deque[str] = field(default_factory=lambda: deque(maxlen=_BEFORE))
    _traceback: list[str] | None = None

    def take(self, text: str) -> None:
        """Process the next line."""
        text = text[:_READ]
        bare = text.strip()
        self._unit_failed = self._unit_failed or bare.startswith("FAILED: ")
        rank = self._rank_of(text, bare)
        if rank > self.rank or rank == self.rank == _Rank.RAISED:
            lead = _own_frames(self._traceback or ()) if rank == _Rank.RAISED else self._before
            self.rank, self.line, self.lines, self._room = rank, bare, [*lead, text], _AFTER
        elif self._room and not _END.match(bare) and (bare or self.rank != _Rank.RAISED):
            self.lines.append(text)
            self._room -= 1
        else:
            self._room = 0
        self._follow(text, bare)

    def _rank_of(self, text: str, bare: str) -> _Rank:
        if any(mark in bare for mark in _MARKS):
            if _COMPILER_ERROR.match(bare):
                return _Rank.OF_FAILED_UNIT if self._unit_failed else _Rank.PRINTED
            if _TOOL_ERROR.match(bare):
                return _Rank.PRINTED
        if self._traceback and bare and _indent(text) <= _indent(self._traceback[0]):
            return _Rank.RAISED  # the exception after the frames
        return _Rank.NONE

    def _follow(self, text: str, bare: str) -> None:
        if _LEAD.match(bare):
            self._before.append(text)
        else:
            self._before.clear()
        if bare.startswith("Traceback (most recent call last)"):
            self._traceback = [text]
        elif self._traceback and (not bare or _indent(text) <= _indent(self._traceback[0])):
            self._traceback = None
        elif self._traceback and len(self._traceback) < _TRACEBACK:
            self._traceback.append(text)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _own_frames(traceback: Sequence[str]) -> Sequence[str]:
    last = max((place for place, text in enumerate(traceback) if _BACKEND.match(text.lstrip())), default=0)
    own = (place for place in range(last + 1, len(traceback)) if traceback[place].lstrip().startswith('File "'))
    first = next(own, len(traceback))
    return traceback[first : first + _FRAMES]


def unit_in(line: str) -> str:
    """Shorten a compiler's command to its source file, with ninja's count; return other lines unchanged."""
    words = line.split()
    if "-c" not in words or not (units := [word for word in words if word.endswith(UNITS)]):
        return line
    count = f"{words[0]} " if words[0].startswith("[") and words[0].endswith("]") else ""
    return f"{count}{units[-1]}"


_COUNT: Final = re.compile(r"\s*\[(\d+)/(\d+)\] ")
"""Ninja's numbers of units that are done, and of all; pip indents its lines."""
_SHOWN_UNIT: Final = 60
"""Characters at the end of a unit's name that are shown: the names of kernels end with what they differ in."""


@dataclass(kw_only=True)
class BuildDisplay:
    """Display of a build's output, and of what compiles while there is none."""

    progress: Progress
    cache: CompilerCache
    _last: str = ""
    _done: str = ""

    def show(self, line: str) -> None:
        """Show a line; if it is the last one again, what compiles in silence."""
        if counted := _COUNT.match(line):
            self._done = f"{counted[1]} of {counted[2]}"
        silent = self._compiling() if line == self._last else ""
        self._last = line
        self.progress.line(silent or unit_in(line))

    def _compiling(self) -> str:
        """Name the unit that has compiled for the longest time; empty if none compiles."""
        compiling, done = self.cache.units()
        if not compiling:
            return ""
        began, unit = compiling[0]
        others = f" and {len(compiling) - 1:,} more" if len(compiling) > 1 else ""
        taken = duration(max(0, time.time() - began))
        return f"compiling {printable(unit)[-_SHOWN_UNIT:]} for {taken}{others}; {self._done or f'{done:,}'} done"


def explain_failure(failure: ProcessError, log: Path, *, package: Package, source: Path, seen: str) -> BuildError:
    """Explain a failed build by the first error in its log, with a hint.

    A `CompileError` means that the compiler refused the source, and that nothing in the log could be the machine's
    fault. Only such errors are remembered: a needless retry costs time, a needless skip costs a wheel. Paths lose
    `seen`, the source folder as the build saw it.
    """
    first, excuse = _FirstError(), ""
    if log.exists():  # else it failed before anything was started
        with log.open(encoding="utf-8", errors="replace") as lines:
            while text := lines.readline(MAX_LINE):
                plain = _COLOURS.sub("", text.rstrip()).replace(f"{seen.rstrip('/')}/", "")
                first.take(plain)
                lowered = plain.lower()  # finding a substring takes a fraction of the expression's time
                if not excuse and any(phrase in lowered for phrase in _EXCUSES) and _EXCUSE.search(plain):
                    excuse = plain
    message = f"{source.name} does not build:\n{_shown(first.lines) or failure.tail}\n{failure}\n(the whole log: {log})"
    texts = ("\n".join(first.lines) or failure.tail, excuse)
    hint = next(filter(None, (_hint_for(text, package, source) for text in texts)), None)
    if excuse or not _REFUSAL.match(first.line):
        return BuildError("build-failed", message, hint=hint)
    return CompileError("compile-failed", message, line=first.line[:_LONGEST], hint=hint)


def _shown(lines: Iterable[str]) -> str:
    cut = (printable(line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ...") for line in lines)
    return textwrap.dedent("\n".join(cut)).strip("\n")
