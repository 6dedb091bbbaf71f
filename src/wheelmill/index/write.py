"""Putting a site into its folder: it is written beside the old one and takes its place when it is whole.

Beside ``site`` lie, while it is written, ``.site.lock``, ``.site.new`` and, where two folders cannot take each other's
place in one step, ``.site.old``. The next writer finishes what a killed one began: nothing is ever lost.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.errors import SiteError
from wheelmill.index.tree import WHEELS_JSON
from wheelmill.system.files import exchange, link_or_copy
from wheelmill.system.folders import remove_tree
from wheelmill.system.locks import hold, wait_silently

MAX_BYTES: Final = 1_000_000_000
"""Of a published GitHub Pages site.
https://docs.github.com/en/pages/getting-started-with-github-pages/github-pages-limits
"""

_FOLDERS: Final = ("simple", "packages", "about", "static")
"""Of every site; the others are named after a CUDA."""


@dataclass(frozen=True, kw_only=True)
class SiteSize:
    """What a site weighs."""

    pages: int
    bytes: int
    largest_detail: int
    """Bytes that an installer downloads, compressed, to read the largest project page of the narrowest trees."""

    @property
    def gigabytes_per_million_installs(self) -> float:
        """What a host serves for a million installs of the project with that page; wheels lie elsewhere."""
        return self.largest_detail * 1e6 / 1e9

    def __str__(self) -> str:
        """``312 pages, 4,200,000 bytes, at most 21.3 GB per million installs``."""
        gigabytes = f"{self.gigabytes_per_million_installs:.1f} GB per million installs"
        return f"{self.pages:,} pages, {self.bytes:,} bytes, at most {gigabytes}"


def write_site(pages: Iterable[tuple[str, Iterable[bytes]]], directory: Path) -> SiteSize:
    """Write a site into a folder, in place of the one that may be there.

    Args:
        pages: paths below the folder, and what stands there, in pieces.
        directory: the folder. What stands in it beside a site, such as ``CNAME``, stays.

    Returns:
        What it weighs.

    Raises:
        SiteError: it is too large, or the folder cannot be written or has something else than a site in its place.
    """
    directory = directory.resolve()
    new = _beside(directory, "new")
    try:
        with hold(_beside(directory, "lock"), wait=wait_silently):
            _finish_what_was_begun(directory)
            new.mkdir()
            try:
                size = _write(pages, new)
                _swap(new, directory)
            finally:
                _finish_what_was_begun(directory)
    except OSError as error:
        raise SiteError(f"{directory} cannot be written: {error}") from None
    return size


def _beside(directory: Path, suffix: str) -> Path:
    return directory.with_name(f".{directory.name}.{suffix}")


def _write(pages: Iterable[tuple[str, Iterable[bytes]]], folder: Path) -> SiteSize:
    count = total = 0
    largest = (0, 0, "")
    for path, pieces in pages:
        page = folder / path
        page.parent.mkdir(parents=True, exist_ok=True)
        size = 0
        with page.open("wb") as file:
            for piece in pieces:
                size += file.write(piece)
                if total + size > MAX_BYTES:
                    raise SiteError(
                        f"the site has more than {MAX_BYTES:,} bytes, which GitHub Pages does not publish",
                        hint="take old wheels out with removed.yml",
                    )
        count, total = count + 1, total + size
        if path.endswith("/index.html") and page.parent.parent.name == "simple":
            largest = max(largest, (path.count("/"), size, path))
    detail = (folder / largest[2]).read_bytes() if largest[2] else b""
    return SiteSize(pages=count, bytes=total, largest_detail=len(gzip.compress(detail)))


def _swap(new: Path, directory: Path) -> None:
    """Let the new folder and the old one take each other's place; foreign folders are then still in the old one."""
    if not directory.exists():
        new.rename(directory)
        return
    foreign = [entry for entry in directory.iterdir() if not _is_of_a_site(entry, new)]
    replaced = sorted({entry.name for entry in directory.iterdir()} - {entry.name for entry in foreign})
    if replaced and WHEELS_JSON not in replaced:
        raise SiteError(
            f"{directory} has {', '.join(replaced)}, which the site would replace, and is not one itself",
            hint="give another folder",
        )
    for entry in foreign:
        if entry.is_symlink() or not entry.is_dir():
            link_or_copy(entry, new / entry.name)
    if not exchange(new, directory):
        directory.rename(_beside(directory, "old"))
        new.rename(directory)


def _finish_what_was_begun(directory: Path) -> None:
    """Have a whole site in its place with all that is foreign, and nothing beside it, whenever a writer was killed."""
    new, old = _beside(directory, "new"), _beside(directory, "old")
    if old.exists() and not directory.exists():
        old.rename(directory)
    for left in (new, old):
        if left.exists() and directory.exists():
            for entry in left.iterdir():
                if entry.is_dir() and not entry.is_symlink() and not _is_of_a_site(entry, directory):
                    entry.rename(directory / entry.name)
        remove_tree(left)


def _is_of_a_site(entry: Path, site: Path) -> bool:
    """Whether a site has such a page or folder, too, or it is the tree of a CUDA that the site lacks."""
    if (site / entry.name).exists() or entry.name in _FOLDERS:
        return True
    return entry.name.startswith("cu") and any((*entry.glob("simple"), *entry.glob("torch*/simple")))
