"""The words of the domain: names, versions and tags, checked once where they enter."""

from wheelmill.names.machines import Architecture, CudaVersion, Gpu, Platform, PythonVersion
from wheelmill.names.text import (
    MAX_TEXT,
    CudaTag,
    ProjectName,
    ProjectVersion,
    ReleaseTag,
    Sha256,
    bounded,
    project_name,
    project_version,
    read_range,
    read_requirement,
    words_like,
)
from wheelmill.names.torch import TORCH, StableTorch, TorchNeed, TorchVersion
from wheelmill.names.word import Word

__all__ = [
    "MAX_TEXT",
    "TORCH",
    "Architecture",
    "CudaTag",
    "CudaVersion",
    "Gpu",
    "Platform",
    "ProjectName",
    "ProjectVersion",
    "PythonVersion",
    "ReleaseTag",
    "Sha256",
    "StableTorch",
    "TorchNeed",
    "TorchVersion",
    "Word",
    "bounded",
    "project_name",
    "project_version",
    "read_range",
    "read_requirement",
    "words_like",
]
