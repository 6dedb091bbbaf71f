"""Findings: possible faults of a wheel, and their levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Self

_SHOWN_NAMES: Final = 10


class Level(StrEnum):
    """Consequence of a finding for a wheel."""

    ALWAYS = "always"
    """Refuses it, whatever packages.yml says."""
    REFUSE = "refuse"
    """Refuses it, unless its entry in packages.yml allows this with a reason."""
    WARN = "warn"
    """Is only shown: harmless wheels have it, too."""


class Code(StrEnum):
    """Kinds of faults. The values are part of the commands' JSON."""

    level: Level

    def __new__(cls, value: str, level: Level) -> Self:
        """Make a text with a level."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.level = level
        return code

    ARCHIVE = "archive", Level.ALWAYS
    """Not a readable zip, or one made to harm: duplicates, links, bombs."""
    PATH = "path", Level.ALWAYS
    """A member with a name that some system cannot hold, or that leads out of its folder."""
    FILENAME = "filename", Level.ALWAYS
    """A file name that is not a wheel's."""
    METADATA = "metadata", Level.ALWAYS
    """No readable METADATA or WHEEL file."""
    METADATA_VERSION = "metadata-version", Level.ALWAYS
    """METADATA or the ``.dist-info`` folder, and the file name, disagree about name or version."""
    RECORD = "record", Level.ALWAYS
    """RECORD disagrees with the files."""
    SIZE = "size", Level.ALWAYS
    """Too large for a release asset."""
    TORCH_PIN = "torch-pin", Level.ALWAYS
    """Linked to torch without requiring the version its label names."""
    TORCH_ABI = "torch-abi", Level.ALWAYS
    """Needs more of torch than its stable ABI, although packages.yml says otherwise."""
    CUDART = "cudart", Level.ALWAYS
    """Is linked to the CUDA runtime in another way than packages.yml says."""
    ENVIRONMENT = "environment", Level.ALWAYS
    """The clean environment that the label asks for could not be made."""
    INSTALL = "install", Level.ALWAYS
    """The installer refused it, or installed something else."""
    IMPORT = "import", Level.ALWAYS
    """Was installed and cannot be imported."""
    SCRIPT = "script", Level.ALWAYS
    """The package's own smoke script fails with it on a GPU."""

    PURE = "pure", Level.REFUSE
    """No compiled code, although a label promises it."""
    CUDA_MAJOR = "cuda-major", Level.REFUSE
    """Linked to another CUDA major than its label names."""
    GLIBC = "glibc", Level.REFUSE
    """Needs a newer glibc than its platform tag promises."""
    ARCHITECTURES = "architectures", Level.REFUSE
    """Lacks machine code for a GPU architecture it was built for."""
    KERNELS = "kernels", Level.REFUSE
    """Has kernels without code for a GPU architecture it was built for, beside others with it."""
    UNDEFINED_SYMBOL = "undefined-symbol", Level.REFUSE
    """Needs a symbol that nothing defines."""
    SYMBOL_VERSION = "symbol-version", Level.REFUSE
    """Needs a newer libstdc++ or libgcc than its platform tag promises."""
    LIBRARY = "library", Level.REFUSE
    """Needs a library that it neither brings nor may expect."""
    PROCESSOR = "processor", Level.REFUSE
    """Has functions that some processors of its platform cannot run, and does not ask before it calls them."""
    SEARCH_PATH = "search-path", Level.REFUSE
    """Looks for libraries outside of its environment, where others may put some."""
    SECOND_COPY = "second-copy", Level.REFUSE
    """Brings a library of torch, CUDA or the driver once more."""
    MACHINE = "machine", Level.REFUSE
    """Machine code for another processor than its platform tag names."""
    ABI3 = "abi3", Level.REFUSE
    """Calls what is not in the stable ABI that its tag promises."""
    TORCH_OLDEST = "torch-oldest", Level.REFUSE
    """Calls functions of torch's stable ABI that the oldest torch of its range does not have."""
    EXECUTABLE_STACK = "executable-stack", Level.REFUSE
    """Loading it makes the stack executable."""
    TEXT_RELOCATIONS = "text-relocations", Level.REFUSE
    """Loading it makes its code writable."""
    EXTENSION = "extension", Level.REFUSE
    """Holds an extension module or a library that cannot be loaded."""
    STARTUP = "startup", Level.REFUSE
    """Has a file that Python runs whenever it starts."""
    FOREIGN_FILES = "foreign-files", Level.REFUSE
    """Has files of another project or of the environment itself."""
    TOP_LEVEL = "top-level", Level.REFUSE
    """Has modules or files beside all packages, without the project's name and not in ``test_import``."""
    COMMAND = "command", Level.REFUSE
    """Has a program that may replace another one: its name is not the project's."""
    ENTRY_POINT = "entry-point", Level.REFUSE
    """Has an entry point in the group of another project, which imports it unasked."""
    SETUID = "setuid", Level.REFUSE
    """Has a program that runs as another user."""
    BYTECODE = "bytecode", Level.REFUSE
    """Has bytecode, which may not match its source."""
    DIRECT_URL = "direct-url", Level.REFUSE
    """Requires something from a URL instead of an index."""
    METADATA_INVALID = "metadata-invalid", Level.REFUSE
    """METADATA that package registries refuse."""

    LARGE = "large", Level.WARN
    """Nearly too large for a release asset."""
    GROWN = "grown", Level.WARN
    """Much larger than the published wheel before it."""
    WORLD_WRITABLE = "world-writable", Level.WARN
    """Has files that all users may write to."""
    NO_PYTHON = "no-python", Level.WARN
    """Is for one Python, although its code uses none."""
    SYNTAX = "syntax", Level.WARN
    """Has a module that its own Python cannot compile."""


@dataclass(frozen=True, kw_only=True)
class ListedFinding:
    """Finding in a manifest, which a newer wheelmill may have written: its code may be none of `Code`."""

    code: str
    detail: str
    reason: str | None = None
    """Why packages.yml allows it; None if it does not."""


@dataclass(frozen=True, kw_only=True)
class Finding(ListedFinding):
    """One fault of one wheel."""

    code: Code

    @property
    def refuses(self) -> bool:
        """True if the wheel is refused for it."""
        return self.reason is None and self.code.level is not Level.WARN


def with_reasons(findings: Iterable[Finding], allowed: Mapping[Code, str]) -> Iterator[Finding]:
    """Add to findings the reasons for which packages.yml allows them; level ``ALWAYS`` takes none."""
    for finding in findings:
        reason = None if finding.code.level is Level.ALWAYS else allowed.get(finding.code)
        yield replace(finding, reason=reason)


def some_of(names: Sequence[str]) -> str:
    """Name the first few, and count the others."""
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
