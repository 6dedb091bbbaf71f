"""One wheel over many jobs: each compiles its part of the source into the compiler cache, and a last one links.

In a part's build the units of other parts come out as empty objects, so that it runs to its end; what it makes goes
with its workspace, and only the compiler cache stays. The last job takes up the caches of all parts and builds as
always, so that a wheel is the same however many jobs compiled it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final, Self

from wheelmill.build.compiler_cache import MAX_SIZE, CompilerCache, caches
from wheelmill.errors import IntegrityError
from wheelmill.system.files import atomic_write

UNITS: Final = (".c", ".cc", ".cpp", ".cu", ".cxx")
"""The endings of files that are compiled one by one."""
_OURS, _OTHERS = "ours", "others"
"""Beside the objects of a cache: where ``docker/through-ccache.sh`` lists what it compiled, and left to other parts."""

_OBJECT: Final = re.compile("[0-9a-v]{24,}[A-Z]?")
"""What ccache calls a file that holds a result, or the list of headers of one: by its hash, in some releases of ccache
with a letter for its kind."""


@dataclass(frozen=True, kw_only=True)
class BuildPart:
    """Which of the parts of a source one job compiles."""

    number: int
    """Counted from 1."""
    of: int
    """How many there are."""

    def __str__(self) -> str:
        """``2/4``."""
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2/4``.

        Raises:
            ValueError: it is no such part.
        """
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ValueError(f"expected a part such as 2/4, not {text!r}")
        return cls(number=int(number), of=int(of))

    def divide(self, source: Path, seen: PurePath, cache: CompilerCache) -> dict[str, str]:
        """Have the compilers of a build skip the units of other parts.

        Args:
            source: the folder of the source, patched: the same in every job.
            seen: the same folder, as the build sees it.
            cache: the compilers.

        Returns:
            The variables that the compilers read.
        """
        paths = (path for path in source.rglob("*") if path.suffix in UNITS and path.is_file())
        # By kind first: kernels take the time, and each part gets as many of them.
        names = sorted((path.suffix, str(path.relative_to(source))) for path in paths)
        listed = "".join(f"{name}\n" for _, name in names)
        (cache.compilers / "units").write_bytes(os.fsencode(listed))  # a name need not be UTF-8
        part_in(cache)  # of a build that was ended
        return {"WHEELMILL_PART": str(self), "WHEELMILL_SOURCE": str(seen)}


@dataclass(frozen=True, kw_only=True)
class CompiledPart:
    """What the build of a part compiled."""

    ours: int
    """Units of this part."""
    others: int
    """Units that were left to other parts."""


def part_in(cache: CompilerCache) -> CompiledPart:
    """Take the lists of what a part's build compiled, and what it left to others, and count them."""

    def count(name: str) -> int:
        listed = cache.folder / name
        units = len(listed.read_bytes().splitlines()) if listed.exists() else 0
        listed.unlink(missing_ok=True)
        return units

    return CompiledPart(ours=count(_OURS), others=count(_OTHERS))


def take_up(folders: Iterable[Path]) -> int:
    """Copy the objects of other jobs' compiler caches to where this machine has its own.

    Nothing but objects is taken: neither links nor settings, and no counts.

    Args:
        folders: each with the caches of groups as this machine has them, or with folders that have such.

    Returns:
        How many objects were not here yet.

    Raises:
        IntegrityError: they take more space than compiler caches may.
    """
    taken = size = 0
    for folder in folders:
        for path, name in _objects(folder):
            size += path.lstat().st_size
            if size > MAX_SIZE:
                raise IntegrityError("cache-too-large", f"{folder}: compiler caches of more than {MAX_SIZE >> 30} GiB")
            copy = caches() / name
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                with path.open("rb") as original, atomic_write(copy) as file:
                    shutil.copyfileobj(original, file)
                taken += 1
    return taken


def _objects(folder: Path) -> Iterator[tuple[Path, PurePath]]:
    """The objects of all caches in a folder, each with its place below `caches`: ``GROUP/0/1/NAME``."""
    for parent, _, names in os.walk(folder):  # which goes through no links
        levels = PurePath(parent).relative_to(folder).parts
        depth = next((n for n, level in enumerate(reversed(levels)) if len(level) > 1), len(levels))
        if 0 < depth < len(levels):
            below = PurePath(*levels[-depth - 1 :])
            for path in (Path(parent, name) for name in names):
                if _OBJECT.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
                    yield path, below / path.name
