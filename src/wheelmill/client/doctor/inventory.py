"""Reading what is installed: its files against RECORD, and the code in them. Nothing is imported or run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from packaging.tags import Tag

from wheelmill.client.choose.look import describe_code
from wheelmill.client.install.distributions import Distribution, read_start
from wheelmill.client.records import Inside
from wheelmill.errors import UnreadableError
from wheelmill.names import TORCH
from wheelmill.system.progress import Progress
from wheelmill.wheel.archive import MAX_METADATA, MAX_RECORD
from wheelmill.wheel.elf import ELF_MAGIC, Budget
from wheelmill.wheel.label import torch_requirement
from wheelmill.wheel.metadata import tags_of
from wheelmill.wheel.record import LIBRARIES, RecordRow, digest_of, read_rows
from wheelmill.wheel.shared_objects import SharedObject

_SMALL: Final = 1 << 20
"""Bytes. Larger files are compared by their size, unless all hashes are asked for: torch and CUDA have gigabytes."""
_LEAVE_RECORD: Final = frozenset({"", "conda"})
"""Installers that change and move files and leave RECORD as it was: systems' own, which give no name, and conda."""


@dataclass(kw_only=True)
class FileCounts:
    """How much was looked at."""

    distributions: int = 0
    files: int = 0
    hashed: int = 0
    shared_objects: int = 0


@dataclass(frozen=True, kw_only=True)
class Installed:
    """What a distribution has in the environment."""

    distribution: Distribution
    rows: tuple[RecordRow, ...] = ()
    """Of its RECORD; none where it has none, as packages of the system."""
    tags: frozenset[Tag] = frozenset()
    """Those of its wheel."""
    unreadable: str | None = None
    """Why its RECORD or its tags cannot be read."""
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    corrupt: Mapping[str, str] = field(default_factory=dict)
    """What is no shared object that could be loaded, with the reason."""
    code: tuple[SharedObject, ...] = ()
    """With its symbols only where torch may have to define them."""
    inside: Inside | None = None
    """What the code asks for; None where there is none."""

    @property
    def needed(self) -> Mapping[str, str]:
        """The libraries that its code names and it does not have, each with the first of its files that does so."""
        own = {name for each in self.code for name in (each.name.rpartition("/")[2], each.soname)}
        found: dict[str, str] = {}
        for each in self.code:
            for library in each.needed:
                if library not in own:
                    found.setdefault(library, each.name)
        return found

    @property
    def links_to_torch(self) -> bool:
        """Whether its code names a library of torch."""
        return self.distribution.project != TORCH and _link_to_torch(self.code)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads distributions one after the other."""

    prefix: Path
    """The environment: what a RECORD names outside of it is not looked at."""
    all_hashes: bool
    """Whether large files are hashed, too."""
    reads_code: bool
    """Whether compiled code is for a system whose format is read here."""
    counts: FileCounts = field(default_factory=FileCounts)

    def read_all(self, distributions: Sequence[Distribution], progress: Progress) -> list[Installed]:
        """Read every distribution, and say which one is read."""
        found = []
        for number, each in enumerate(distributions, 1):
            progress.line(f"reading {each.project} ({number} of {len(distributions)})")
            found.append(self.read(each))
        progress.line("")
        return found

    def read(self, distribution: Distribution) -> Installed:
        """Read what one distribution has in the environment."""
        self.counts.distributions += 1
        folder = distribution.folder
        if folder is None or not (folder / "RECORD").is_file():
            return Installed(distribution=distribution)
        try:
            rows = read_rows(read_start(folder / "RECORD", MAX_RECORD))
            wheel_file = folder / "WHEEL"
            tags = tags_of(read_start(wheel_file, MAX_METADATA)) if wheel_file.is_file() else frozenset[Tag]()
        except (OSError, UnreadableError) as error:
            return Installed(distribution=distribution, unreadable=str(error))
        missing, changed = self._compare(rows, folder)
        if _installer_of(folder) in _LEAVE_RECORD:
            changed = []
            missing = missing if len(missing) == sum(bool(row.digest) for row in rows) else []
        code, corrupt = self._read_code([row for row in rows if row.name not in missing], folder.parent)
        return Installed(
            distribution=distribution,
            rows=tuple(rows),
            tags=tags,
            missing=tuple(missing),
            changed=tuple(name for name in changed if name not in corrupt),
            corrupt=corrupt,
            code=code if needs_torch(distribution) or _link_to_torch(code) else tuple(map(_without_symbols, code)),
            inside=describe_code(code, None) if code else None,
        )

    def _compare(self, rows: Sequence[RecordRow], folder: Path) -> tuple[Sequence[str], Sequence[str]]:
        """Compare files with RECORD: those that are gone, and those that are others."""
        missing, changed = [], []
        for row in rows:
            path = self._place(row, folder.parent)
            if path is None or not row.digest or row.name.endswith(".pyc"):
                continue
            self.counts.files += 1
            try:
                found = path.stat()
            except OSError:
                missing.append(row.name)
                continue
            if not (stat.S_ISREG(found.st_mode) and self._is_as_recorded(path, row, found.st_size)):
                changed.append(row.name)
        return missing, changed

    def _place(self, row: RecordRow, base: Path) -> Path | None:
        path = Path(os.path.normpath(base / row.name))
        return path if path.is_relative_to(self.prefix) else None

    def _is_as_recorded(self, path: Path, row: RecordRow, size: int) -> bool:
        if row.size not in (None, size):
            return False
        if size > _SMALL and not self.all_hashes:
            return True
        self.counts.hashed += 1
        try:
            return _has_hash(path, row)
        except OSError:
            return False

    def _read_code(self, rows: Sequence[RecordRow], base: Path) -> tuple[tuple[SharedObject, ...], Mapping[str, str]]:
        found: list[SharedObject] = []
        corrupt: dict[str, str] = {}
        budget = Budget()
        for row in rows if self.reads_code else ():
            path = self._place(row, base) if ".so" in row.name else None
            if path is None or ".so" not in path.suffixes or not path.is_file():
                continue
            self.counts.shared_objects += 1
            try:
                found.append(SharedObject.read(path, name=row.name, budget=budget))
            except (UnreadableError, OSError) as error:
                if not _is_as_shipped(path, row):
                    corrupt[row.name] = str(error)
        return tuple(found), corrupt


def _link_to_torch(code: Iterable[SharedObject]) -> bool:
    return any(library.startswith(("libtorch", "libc10")) for each in code for library in each.needed)


def _without_symbols(code: SharedObject) -> SharedObject:
    """An environment has millions of symbols; kept are those that are compared later."""
    return replace(code, undefined=(), defined=frozenset())


def needs_torch(distribution: Distribution) -> bool:
    """Whether what is installed says that it needs torch."""
    needs = distribution.torch is not None or torch_requirement(distribution.requires_dist) is not None
    return needs and distribution.project != TORCH


def _is_as_shipped(path: Path, row: RecordRow) -> bool:
    """Whether what cannot be read here is the wheel's own doing: a linker script, or code without section headers."""
    try:
        start = read_start(path, 64)
        is_other = start.startswith(ELF_MAGIC) or (bool(start) and start.isascii() and b"\0" not in start)
        return is_other and _has_hash(path, row)
    except OSError:
        return False


def _has_hash(path: Path, row: RecordRow) -> bool:
    """Whether a file has the hash that RECORD says; weak ones say nothing."""
    with path.open("rb") as file:
        found = digest_of(file, row.digest.partition("=")[0])
    return found in ("", row.digest)


def _installer_of(folder: Path) -> str:
    try:
        return read_start(folder / "INSTALLER", 100).decode(errors="replace").strip()
    except OSError:
        return ""


def broken_folders(path: Sequence[Path]) -> Iterator[Path]:
    """What an installation or a removal left that broke off: pip's ``~orch``, and a ``.dist-info`` without METADATA."""
    for folder in (each for each in path if each.name in LIBRARIES):  # a .pth file may add a person's own folder
        try:
            entries = sorted(
                each for each in folder.iterdir() if each.name.startswith("~") or each.suffix == ".dist-info"
            )
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("~") or not (entry / "METADATA").is_file():
                yield entry
