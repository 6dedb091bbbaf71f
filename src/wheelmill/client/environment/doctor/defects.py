"""Defects: what can be wrong with an environment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from wheelmill.names import ProjectName


class DefectCode(StrEnum):
    """What kind of defect it is. The values are part of the command's JSON."""

    DRIVER = "driver"
    """The driver is too old for the installed CUDA."""
    CUDA = "cuda"
    """A wheel was built for another CUDA than the installed torch."""
    TORCH = "torch"
    """A wheel was built for another torch than the installed one, or torch itself is of two releases."""
    TORCH_MISSING = "torch-missing"
    """A wheel needs torch, and none is installed."""
    TORCH_BUILD = "torch-build"
    """torch is built without CUDA, and a wheel with it."""
    ABI = "abi"
    """A wheel was built with another C++ ABI than the installed torch."""
    PYTHON = "python"
    """A wheel is for another Python."""
    PLATFORM = "platform"
    """A wheel is for another system or processor."""
    GLIBC = "glibc"
    """A wheel needs a newer glibc than this system has."""
    GPU = "gpu"
    """A wheel has no code that runs on a GPU of this machine."""
    LIBRARY = "library"
    """A library of torch or CUDA that a wheel needs is missing."""
    RUNTIMES = "runtimes"
    """The runtimes of two CUDA majors are installed."""
    IMPORT_PATH = "import-path"
    """Another module of the same name is imported in its place."""
    DUPLICATE = "duplicate"
    """A project is installed twice."""
    ALIAS = "alias"
    """An alias such as demo-cu13 stands for a wheel that is not installed."""
    MISSING_FILES = "missing-files"
    """Installed files are missing."""
    CHANGED_FILES = "changed-files"
    """Installed files have been changed."""
    CORRUPT = "corrupt"
    """A library or an extension module cannot be loaded: it is cut off, or no shared object."""
    METADATA = "metadata"
    """The metadata of something installed cannot be read, as after an interrupted installation."""
    LOCK = "lock"
    """Another version is installed than the lock or the project names, or none."""
    UNLABELLED = "unlabelled"
    """The usual index gave a wheel in place of the one that is locked, which names its CUDA and torch."""
    SHADOWED = "shadowed"
    """The usual package index may give another file than the one that was chosen."""
    URL = "url"
    """The URL of a wheel no longer works."""
    SIZE = "size"
    """A wheel has another size than the lock says."""
    HASH = "hash"
    """A wheel has no hash, or another one."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One thing that is wrong."""

    code: DefectCode
    subject: str
    detail: str
    project: ProjectName | None = None
    """The project at fault; None if it is no installed project."""
    place: Path | None = None
    """The file or folder that is in the way, or that names what should be installed."""
