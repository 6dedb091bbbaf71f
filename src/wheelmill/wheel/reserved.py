"""Names that no wheel of a factory may have: whoever adds its index to pip's would get these from it.

pip asks all its indexes and takes the highest version, and a label makes a version higher: a ``torch 2.11.0+cu130`` of
ours would take the place of the real one. So would a wheel of what torch, numpy and the installers need.
"""

from __future__ import annotations

from typing import Final

from wheelmill.names import ProjectName

RESERVED: Final = frozenset(
    (
        *("torch", "numpy", "triton", "pytorch-triton"),
        *("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "typing-extensions"),  # torch's
        *("cuda-bindings", "cuda-core", "cuda-pathfinder", "cuda-python", "cuda-toolkit"),
        *("pip", "setuptools", "wheel", "uv", "packaging", "wheelmill"),
    )
)
"""Normalized (PEP 503)."""

RESERVED_PREFIXES: Final = ("nvidia-",)
"""NVIDIA publishes CUDA's libraries under such names, and torch requires a dozen of them."""


def is_reserved(project: ProjectName) -> bool:
    """Whether a project's name belongs to torch, numpy, CUDA, an installer, or what one of them needs."""
    return project in RESERVED or project.startswith(RESERVED_PREFIXES)


def reservation(project: ProjectName) -> str | None:
    """Why there may be no wheel of a project here; None when there may."""
    if not is_reserved(project):
        return None
    return f"the name {project} is reserved: installers would take this wheel for the project that everybody knows"
