"""Known causes of failed builds: patterns in what builds print, each with a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from wheelmill.build.parallelism import MEMORY_PER_COMPILER
from wheelmill.config.model import Component, Package

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
"""Phrases that stand in what is printed where the network, memory or disk is to blame, in lower case."""

_HEADER: Final = r"(?:fatal error: |cannot open source file \")"
_SETUP: Final = "setup.py"
_SWITCH: Final = re.compile(r"\b[A-Z][A-Z0-9_]*_FORCE_BUILD\b")
_MAX_SETUP: Final = 1 << 20
"""Bytes of a setup.py in which a switch is looked for."""


@dataclass(frozen=True, kw_only=True)
class KnownCause:
    """A cause of failed builds."""

    pattern: str
    """A regular expression, in which case does not matter; its named groups stand in the hint."""
    hint: str
    """Beside the groups: {project}, {memory}, which is what a compiler is counted with, and {switch}."""


_OTHER_NAMES: Final[Mapping[str, str]] = {"nvtx": "(?:nvtx|nvToolsExt)", "profiler-api": "cuda_?profiler"}
"""How the headers, libraries and CMake targets of a component begin, where that is not its name."""


def any_of(phrases: Iterable[str]) -> str:
    """The regular expression of phrases, none of them as a part of a word."""
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, phrases))})(?!\w)"


def _lacks(component: str) -> KnownCause:
    """A component of the toolkit that is not there, by its headers, its libraries or its targets of CMake."""
    name = _OTHER_NAMES.get(component, component)
    return KnownCause(
        pattern=rf"{_HEADER}(?:\w+/)?{name}\w*\.h|cannot find -l{name}|\bCUDA::{name}",
        hint=f"toolkit: [{component}] in the entry of {{project}} brings that component of NVIDIA's toolkit",
    )


def _lacks_system(headers: str, dnf: str, apt: str) -> KnownCause:
    """Packages of the operating system that are not there, by a header of theirs or its folder."""
    return KnownCause(
        pattern=_HEADER + headers,
        hint=f"system_packages: {{{{dnf: [{dnf}], apt: [{apt}]}}}} in the entry of {{project}} brings that header",
    )


KNOWN_CAUSES: Final = (
    KnownCause(
        pattern=r"would build wheel with unsupported tag \('cp3(?P<minor>\d{1,2})', 'abi3'",
        hint='its wheels are for Python 3.{minor} and newer: python: ">=3.{minor}" in its entry',
    ),
    KnownCause(
        pattern=any_of(MEMORY),
        hint="compilers are counted with {memory} GB each: raise memory_per_job of {project}, and fewer run at once",
    ),
    KnownCause(
        pattern=any_of(DISK),
        hint="the disk is full",
    ),
    KnownCause(
        pattern=any_of(NETWORK)
        + r"|unable to access 'https?:|failed to clone|'git', '(?:clone|submodule)'|No matching distribution found for",
        hint="the source downloads when it is built, and builds have no network: {switch} under 'env' in its entry "
        "usually stops that; for what belongs to the source, submodules: true or a patch",
    ),
    KnownCause(
        pattern=r"CPU version is not implemented|CUDA (?:is )?(?:not available|unavailable)|no NVIDIA driver on your"
        r"|no CUDA (?:GPUs?|devices?) (?:are |is |were )?(?:available|found|detected)|\bnvidia-smi\b",
        hint="its setup.py looks for a GPU in a way that builds do not answer, or that gpu_probe: as-is forbids: set "
        "what it reads instead, such as FORCE_CUDA: \"1\", under 'env' in its entry",
    ),
    KnownCause(
        pattern=r"No module named 'pkg_resources'",
        hint='its setup.py needs an older setuptools: "setuptools<81" among the extra_deps of {project}',
    ),
    KnownCause(
        pattern=r"(?:ModuleNotFoundError|ImportError): No module named '(?P<module>\w+)",
        hint="the build lacks {module}: name the distribution that has it among the extra_deps of {project}",
    ),
    *map(_lacks, get_args(Component)),
    _lacks_system("(?:sparsehash|google)/", "sparsehash-devel", "libsparsehash-dev"),
    _lacks_system("libaio.h", "libaio-devel", "libaio-dev"),
    _lacks_system("numa.h", "numactl-devel", "libnuma-dev"),
    _lacks_system("infiniband/", "rdma-core-devel", "libibverbs-dev"),
    KnownCause(
        pattern=r"missing and no known rule to make it|fatal error: \S+\.(?:cu|cpp|cc|cxx|c): No such file"
        r"|cannot find source file:|given source \"[^\"]+\" which is not an\s+existing"
        r"|no such file or directory: '(?!/)[^']*[./]",
        hint="the source lacks that file: where it is a source distribution, take the repository, "
        "source: {{git: URL, ref: REF}}; where it is a repository, submodules: true",
    ),
    KnownCause(
        pattern=r"no such file or directory: '(?P<program>[\w+-]+)'",
        hint="the build lacks the program {program}, which extra_deps or system_packages of {project} may bring",
    ),
    KnownCause(
        pattern=r"C\+\+\d\d or later compatible compiler is required|only available with .-std="
        r"|std::(?:integral|same_as|strong_ordering|span|source_location|bit_cast)\b",
        hint="it needs a newer C++ standard: cxx_standard of {project} raises it, and as-is leaves it alone",
    ),
    KnownCause(
        pattern=r'namespace "(?:cub|thrust|cuda)" has no member',
        hint="CUDA 13 took that out of its C++ libraries: a patch of {project} takes what older ones have, too, or "
        'exclude: [{{cuda: ">=13", ...}}]',
    ),
    KnownCause(
        pattern=r"unsupported gpu architecture|is not defined for option 'gpu-architecture'|Unknown CUDA arch",
        hint="this CUDA does not compile for that GPU: take it out of the architectures of {project}; gencode: replace "
        "takes out those that its setup.py names itself",
    ),
    KnownCause(
        pattern=r"fatal error: \S+: No such file|cannot open source file|cannot find -l"
        r"|Could not find a package configuration file provided by",
        hint="system_packages, extra_deps or toolkit of {project} bring what others provide; what is the source's own "
        "may be in a submodule (submodules: true)",
    ),
)


def hint_for(printed: str, package: Package, source: Path) -> str | None:
    """Say what helps against the first known cause of a failure.

    Args:
        printed: the first error of the build, or the end of its log.
        package: the package, whose entry the hint is about.
        source: the folder of its source, whose ``setup.py`` may name the variable that stops a download.

    Returns:
        The hint; None where the cause is not known.
    """
    for cause in KNOWN_CAUSES:
        if found := re.search(cause.pattern, printed, re.IGNORECASE):
            memory = (package.memory_per_job or MEMORY_PER_COMPILER) >> 30
            groups = {name: value or "" for name, value in found.groupdict().items()}
            return cause.hint.format(project=package.name, memory=memory, switch=_switch_in(printed, source), **groups)
    return None


def _switch_in(printed: str, source: Path) -> str:
    """The variable that keeps a source from downloading, where what it printed or its ``setup.py`` names one."""
    setup = source / _SETUP
    text = ""
    if setup.is_file():
        with setup.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_SETUP)
    named = _SWITCH.search(printed) or _SWITCH.search(text)
    return f'{named[0]}: "TRUE"' if named else "a variable such as *_FORCE_BUILD"
