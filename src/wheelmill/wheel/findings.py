"""What can be said against a wheel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """What kind of fault a finding names. The values are part of the commands' JSON."""

    ARCHIVE = "archive"
    """Not a readable zip, or one made to harm: duplicates, links, bombs."""
    PATH = "path"
    """A member that would be unpacked outside its folder."""
    FILENAME = "filename"
    """A file name that is not a wheel's."""
    METADATA = "metadata"
    """No readable METADATA or WHEEL file."""
    METADATA_VERSION = "metadata-version"
    """METADATA and file name disagree about name or version."""
    RECORD = "record"
    """RECORD disagrees with the files."""
    SIZE = "size"
    """Too large for a release asset."""
    PURE = "pure"
    """No compiled code, although a label promises it."""
    CUDA_MAJOR = "cuda-major"
    """Linked to another CUDA major than its label names."""
    GLIBC = "glibc"
    """Needs a newer glibc than its platform tag promises."""
    ARCHITECTURES = "architectures"
    """Lacks machine code for a GPU architecture it was built for."""
    TORCH_PIN = "torch-pin"
    """Linked to torch without requiring the version its label names."""
    UNDEFINED_SYMBOL = "undefined-symbol"
    """Needs a symbol that nothing defines."""
    ENVIRONMENT = "environment"
    """The clean room that the label asks for could not be made."""
    INSTALL = "install"
    """The installer refused it, or installed something else."""
    IMPORT = "import"
    """It was installed and cannot be imported."""
    SCRIPT = "script"
    """The package's own smoke script fails with it on a GPU."""
    CUDART = "cudart"
    """It holds the CUDA runtime in another way than packages.yml says."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One fault of one wheel. Any finding refuses the wheel."""

    code: Code
    detail: str
