"""Putting a site into its folder: it is written beside the old one and takes its place when it is whole."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.errors import SiteError
from wheelmill.index.tree import WHEELS_JSON

MAX_BYTES: Final = 1_000_000_000
"""Of a published GitHub Pages site.
https://docs.github.com/en/pages/getting-started-with-github-pages/github-pages-limits
"""


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
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with _folder_beside(directory) as new:
            size = _write(pages, new)
            _swap(new, directory)
    except OSError as error:
        raise SiteError(f"{directory} cannot be written: {error}") from None
    return size


@contextmanager
def _folder_beside(directory: Path) -> Iterator[Path]:
    """A new folder on the same disk; whatever is left of it at the end is taken away."""
    holder = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        (holder / directory.name).mkdir()  # mkdtemp's own is closed to everybody else
        yield holder / directory.name
    finally:
        shutil.rmtree(holder)


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
    """Put the new folder where the old one is, and what is foreign in the old one into the new one."""
    if not directory.exists():
        new.rename(directory)
        return
    entries = {entry.name: _is_of_a_site(entry, new) for entry in directory.iterdir()}
    foreign = [name for name, ours in entries.items() if not ours]
    replaced = sorted(entries.keys() - foreign)
    if replaced and WHEELS_JSON not in replaced:
        raise SiteError(
            f"{directory} has {', '.join(replaced)}, which the site would replace, and is not one itself",
            hint="give another folder",
        )
    old = Path(tempfile.mkdtemp(prefix=f".{directory.name}-old-", dir=directory.parent))
    try:
        directory.rename(old)
    except OSError:  # such as of a mounted folder
        old.rmdir()
        raise
    new.rename(directory)
    for name in foreign:
        (old / name).rename(directory / name)
    shutil.rmtree(old)


def _is_of_a_site(entry: Path, new: Path) -> bool:
    """Whether the new site has such a page or folder, or it is the tree of a CUDA that the new site lacks."""
    if (new / entry.name).exists() or entry.name in ("simple", "packages"):
        return True
    return entry.name.startswith("cu") and any((*entry.glob("simple"), *entry.glob("torch*/simple")))
