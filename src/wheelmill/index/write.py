"""Replacement of a site: the new one is written beside the old one, and takes its place when it is complete.

While it is written, ``.site.lock`` and ``.site.new`` are beside ``site``; so is ``.site.old`` if two folders cannot be
exchanged in one step. The next writer removes or finishes what a killed one began. Beside a foreign folder the pages
and trees are exchanged one by one, so that a writer killed meanwhile leaves some of each site, until the next one has
replaced all. Unchanged pages are the same files in both sites, so they keep their times.
"""

from __future__ import annotations

import gzip
import math
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from wheelmill.errors import SiteError
from wheelmill.index.tree import ALIASES, DOCUMENTS, INVENTORY, VARIANTS, WHEELS_JSON
from wheelmill.system.files import PUBLIC_FILE, PUBLIC_FOLDER, behind_links, exchange, link_or_copy, make_public_folder
from wheelmill.system.folders import remove_tree
from wheelmill.system.locks import hold, wait_silently
from wheelmill.system.progress import number_of

Page = tuple[str, Iterable[bytes]]
"""Path of a page below the root of the site, and its content in pieces."""

_AT_ONCE: Final = 1 << 20


def write_page(page: str, pieces: Iterable[bytes], old: str) -> int:
    """Write a new page and return its size in bytes; if `old`, that of the old site, is equal, hard-link it.

    So hosts, mirrors and backups that compare times see the changes. Pages are replaced, never changed.
    """
    rest = iter(pieces)
    same, differs = _compare(rest, old) if _is_public_file(old) else (0, b"")
    if differs is None:
        link_or_copy(Path(old), Path(page))
        return same
    with open(page, "wb") as file:  # noqa: PTH123 - quick
        os.chmod(page, PUBLIC_FILE)  # noqa: PTH101 - quick
        _copy_head(old, same, file)
        size = same + file.write(differs)
        for piece in rest:
            size += file.write(piece)
    return size


def _compare(pieces: Iterator[bytes], old: str) -> tuple[int, bytes | None]:
    """Count the bytes of equal pieces at a file's start; return the first other piece, None if the file is equal."""
    same = 0
    with open(old, "rb") as before:  # noqa: PTH123 - quick
        for piece in pieces:
            if before.read(len(piece)) != piece:
                return same, piece
            same += len(piece)
        return same, b"" if before.read(1) else None


def _copy_head(old: str, count: int, file: IO[bytes]) -> None:
    if count:
        with Path(old).open("rb") as before:
            while count:
                count -= file.write(before.read(min(count, _AT_ONCE)))


def _is_public_file(path: str) -> bool:
    """Return whether a path is a file of its own, no link to another, that all users may read."""
    try:
        return os.lstat(path).st_mode == stat.S_IFREG | PUBLIC_FILE
    except OSError:
        return False


MAX_BYTES: Final = 1_000_000_000
"""The most bytes of a site on GitHub Pages.
https://docs.github.com/en/pages/getting-started-with-github-pages/github-pages-limits
"""


@dataclass(frozen=True, kw_only=True)
class SiteSize:
    """Size of a site."""

    pages: int
    bytes: int
    largest_detail: int
    """Bytes that an installer downloads, compressed, to read the largest project page of the narrowest trees."""

    def __str__(self) -> str:
        """Format as ``312 pages, 4,200,000 bytes, at most 21.3 GB per million installs``; wheels lie elsewhere."""
        gigabytes = f"{self.largest_detail * 1e6 / 1e9:,.1f} GB per million installs"
        return f"{number_of(self.pages, 'page')}, {self.bytes:,} bytes, at most {gigabytes}"


def write_site(pages: Iterable[Page], directory: Path, *, on_github_pages: bool = False) -> SiteSize:
    """Write a site into a folder, in place of an existing one, and return its size.

    Foreign files in the folder, such as ``CNAME``, stay. With `on_github_pages`, it may have at most `MAX_BYTES`.
    """
    try:
        directory = behind_links(directory)
        new = _beside(directory, "new")
        with hold(_beside(directory, "lock"), wait=wait_silently):
            _remove_leftovers(directory)
            make_public_folder(new)
            try:
                size = _write(pages, new, directory, MAX_BYTES if on_github_pages else math.inf)
                _swap(new, directory)
            finally:
                _remove_leftovers(directory)
    except OSError as error:
        raise SiteError("site-not-writable", f"{directory} cannot be written: {error}") from None
    return size


def _beside(directory: Path, suffix: str) -> Path:
    return directory.with_name(f".{directory.name}.{suffix}")


def _write(pages: Iterable[Page], folder: Path, old: Path, most: float) -> SiteSize:
    count = total = 0
    largest = (0, 0, "")
    made = {""}
    for path, pieces in pages:
        _make_folder(path.rpartition("/")[0], folder, made)
        size = write_page(f"{folder}/{path}", _within(most - total, pieces), f"{old}/{path}")
        count, total = count + 1, total + size
        if path.endswith("/index.html") and "simple" in path.split("/")[-3:-2]:
            largest = max(largest, (path.count("/"), size, path))
    detail = (folder / largest[2]).read_bytes() if largest[2] else b""
    return SiteSize(pages=count, bytes=total, largest_detail=len(gzip.compress(detail)))


def _make_folder(path: str, root: Path, made: set[str]) -> None:
    """Make a folder of a site and its parents, each only once: most of the disk's work is thousands of folders."""
    if path not in made:
        _make_folder(path.rpartition("/")[0], root, made)
        os.mkdir(f"{root}/{path}")  # noqa: PTH102 - quick
        os.chmod(f"{root}/{path}", PUBLIC_FOLDER)  # noqa: PTH101 - quick
        made.add(path)


def _within(free: float, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        free -= len(piece)
        if free < 0:
            message = f"the site has more than {MAX_BYTES:,} bytes, which GitHub Pages does not publish"
            hint = "take old wheels out with removed.yml, or use another host"
            raise SiteError("site-too-large", message, hint=hint)
        yield piece


def _swap(new: Path, directory: Path) -> None:
    """Exchange the new folder and the old one; keep foreign entries of the old one in both.

    A foreign folder, such as one of releases, stays where it is, since other programs may be writing to it. Then each
    page and each tree of the site is replaced by itself.
    """
    if not directory.exists():
        new.rename(directory)
        return
    for name, what in ((VARIANTS, "the store of variant wheels"), (DOCUMENTS, "documents of your own")):
        there = directory / name
        if (new / name).exists() and there.exists() and not (_is_tree(there) or (there / INVENTORY).exists()):
            message = f"{there} is not part of a site, and the site would replace it"
            raise SiteError("site-would-replace", message, hint=f"keep {what} elsewhere")
    foreign = [entry for entry in directory.iterdir() if not _is_of_a_site(entry, new)]
    replaced = sorted({entry.name for entry in directory.iterdir()} - {entry.name for entry in foreign})
    if replaced and WHEELS_JSON not in replaced:
        message = f"{directory} has {', '.join(replaced)}, which the site would replace, and is not one itself"
        raise SiteError("site-would-replace", message, hint="give another folder")
    if any(entry.is_dir() and not entry.is_symlink() for entry in foreign):
        gone = [name for name in replaced if not (new / name).exists()]
        for entry in list(new.iterdir()):
            _put(entry, directory / entry.name)
        for name in gone:
            (directory / name).rename(new / name)
        return
    for entry in foreign:
        link_or_copy(entry, new / entry.name)
    if not exchange(new, directory):
        directory.rename(_beside(directory, "old"))
        new.rename(directory)


def _put(entry: Path, place: Path) -> None:
    """Move a page or a tree of the new site into its place, and the old one out of it."""
    if not entry.is_dir() or not place.exists():
        entry.replace(place)
    elif not exchange(entry, place):
        place.rename(entry.with_name(f"{entry.name}.old"))
        entry.rename(place)


def _remove_leftovers(directory: Path) -> None:
    """Put the site of a killed writer back if it was between two renames, and remove what else it left."""
    new, old = _beside(directory, "new"), _beside(directory, "old")
    if old.exists() and not directory.exists():
        old.rename(directory)
    remove_tree(new)
    remove_tree(old)


_TREES: Final = (
    ("cu", "simple/index.html"),
    ("cu", "torch*/simple/index.html"),
    ("torch", "variants/simple/index.html"),
    ("variants", "*/*-variants.json"),
)
"""Files by which a tree of an index is known."""


def _is_tree(folder: Path) -> bool:
    return any(any(folder.glob(pattern)) for prefix, pattern in _TREES if folder.name.startswith(prefix))


def _is_of_a_site(entry: Path, new: Path) -> bool:
    """Return whether the new site has such an entry, or it is the tree of a CUDA or of variants that it lacks."""
    if (new / entry.name).exists() or entry.name in ("simple", "packages"):
        return True
    if entry.name == ALIASES:
        return any(entry.glob("*/*-py3-none-any.whl"))
    return _is_tree(entry)
