"""What `wheelmill doctor` can find."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FaultCode(StrEnum):
    """What kind of fault it is. The values are part of the command's JSON."""

    DRIVER = "driver"
    """The driver is too old for the installed CUDA."""
    CUDA = "cuda"
    """A wheel was built for another CUDA than the installed torch."""
    TORCH = "torch"
    """A wheel was built for another torch than the installed one."""
    ABI = "abi"
    """A wheel was built with another C++ ABI than the installed torch."""
    DUPLICATE = "duplicate"
    """A project is installed twice."""
    SHADOWED = "shadowed"
    """The usual package index may give another file than the one that was chosen."""
    URL = "url"
    """A wheel is not where it was."""
    SIZE = "size"
    """A wheel has another size than the lock says."""
    HASH = "hash"
    """Nothing says which bytes a wheel has."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong."""

    code: FaultCode
    subject: str
    detail: str
