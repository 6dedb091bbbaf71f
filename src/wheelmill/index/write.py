"""Putting a site into a folder: every page whole, and no page left of what is gone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wheelmill.files import write_bytes

_TREES: Final = ("simple", "cu*/simple", "cu*/torch*/simple")
"""Where pages of an index stand; elsewhere nothing is removed."""


def write_site(pages: Mapping[str, bytes], directory: Path) -> None:
    """Write pages into a folder, which may hold an older site and other files.

    Pages that are listed elsewhere come first: a reader meets no link to a page that is not there yet.

    Args:
        pages: contents by path below the folder.
        directory: the folder.
    """
    for path in sorted(pages, key=lambda path: (-path.count("/"), path)):
        write_bytes(directory / path, pages[path])
    old = [page for tree in _TREES for page in directory.glob(f"{tree}/**/index.html")]
    for page in sorted(old, key=lambda page: -len(page.parts)):
        if page.relative_to(directory).as_posix() not in pages:
            page.unlink()
            if not any(page.parent.iterdir()):
                page.parent.rmdir()
