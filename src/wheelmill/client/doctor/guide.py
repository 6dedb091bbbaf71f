"""Where each finding of ``doctor`` and ``test`` is explained: the sections of docs/when-it-does-not-work.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from wheelmill.system.own_installation import own_document

PAGE: Final = "docs/when-it-does-not-work.md"

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Undefined symbol": ("torch", "abi", "undefined-symbol"),
    "No kernel image": ("gpu", "no-kernel-image"),
    "Driver too old": ("driver", "driver-too-old"),
    "A library of CUDA is not found": ("library", "cuda", "runtimes", "cuda-library"),
    "glibc too old": ("glibc",),
    "torch is missing, or has no CUDA": ("torch-missing", "torch-build", "torch-library"),
    "Another project is installed": ("unlabelled", "shadowed"),
    "A wheel for another machine": ("python", "platform"),
    "Something else is imported": ("import-path",),
    "A broken installation": ("missing-files", "changed-files", "corrupt", "metadata", "duplicate", "import", "crash"),
    "Not what was locked": ("lock", "alias", "hash", "size", "url"),
}
"""A heading of the page, and the codes that it explains."""


def name_sections(codes: Iterable[str]) -> str:
    """Name the sections that explain what was found."""
    found = set(codes)
    titles = [f'"{title}"' for title, explains in SECTIONS.items() if not found.isdisjoint(explains)]
    return f"explained in {own_document(PAGE)}: {', '.join(titles)}"
