"""Compiler cache of a group, shared by builds for further Pythons and by later attempts.

ccache keys on the bytes of compilers and headers and on the command line; see ``docker/through-ccache.sh``.

Many jobs may compile one wheel, each a part of the source. Units of other parts come out as empty objects, so that the
build runs to its end; its result is dropped. The last job copies the caches of all parts and builds as always. So a
wheel is the same for any number of jobs.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import Final, Self

from platformdirs import user_cache_path

from wheelmill.build.provenance import COMPILERS, BuildPlace, CacheCounts, identity_of, source_identity
from wheelmill.errors import IntegrityError
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import own_installation, process
from wheelmill.system.files import atomic_write
from wheelmill.system.folders import remove_tree
from wheelmill.system.progress import Progress, number_of
from wheelmill.system.sandbox import Sandbox

MAX_SIZE: Final = 10 << 30
"""Bytes of one cache."""
_UNUSED_S: Final = 30 * 24 * 3600
"""Seconds after which an unused cache is removed: each change of a source begins another."""
_CCACHE: Final = Path(sysconfig.get_path("scripts"), "ccache")
_MARK: Final = "unit."
"""Beginning of the name of a unit's mark, which ``docker/through-ccache.sh`` makes and empties."""
_MAX_MARKS: Final = 10_000
"""Marks that are read at a time: foreign code may make any number."""
_PATHS: Final = 3
"""Raised when builds see sources or the toolkit under another path: it reaches objects, and ccache ignores it."""


@dataclass(frozen=True, kw_only=True)
class CompilerCache:
    """Folder of compiled objects, and compilers that search it first."""

    folder: Path
    compilers: Path

    def variables(self, folder: PurePath | None = None, compilers: PurePath | None = None) -> Mapping[str, str]:
        """Variables that the compilers read; the arguments are the two folders' paths inside a build."""
        return {name: "1" for name in ("CCACHE_DISABLE", "CCACHE_RECACHE") if os.environ.get(name)} | {
            "WHEELMILL_COMPILERS": str(compilers or self.compilers),
            "CCACHE_DIR": str(folder or self.folder),
            "CCACHE_COMPILERCHECK": "content",
            "CCACHE_NOHASHDIR": "1",  # paths are the same in every build
            # Installers link headers to their cache, and the next installation changes the time of that inode.
            "CCACHE_SLOPPINESS": "include_file_ctime",
            "CCACHE_MAXSIZE": f"{MAX_SIZE >> 30}Gi",
        }

    def reset_counts(self) -> None:
        """Reset the counts of hits and misses."""
        self._ccache("--zero-stats")

    def counts(self) -> CacheCounts:
        """Count the objects from the cache and from the compiler since `reset_counts`."""
        printed = (line.split("\t") for line in self._ccache("--print-stats").splitlines())
        numbers = {name: int(number) for name, number in printed}
        from_cache = numbers["direct_cache_hit"] + numbers["preprocessed_cache_hit"]
        return CacheCounts(found=from_cache, compiled=numbers["cache_miss"] + numbers["recache"])

    def units(self) -> tuple[list[tuple[float, str]], int]:
        """Units that compile, each after the time of its start, the first one first; and the number of those done."""
        marks = []
        for mark in islice(self._marks(), _MAX_MARKS):
            with suppress(OSError):  # foreign code may remove it
                marks.append((mark.name.split(".", 2)[-1], mark.stat(follow_symlinks=False)))
        compiling = sorted((status.st_mtime, unit) for unit, status in marks if status.st_size)
        return compiling, len(marks) - len(compiling)

    def remove_marks(self) -> None:
        """Remove the marks of units that a build left."""
        for mark in self._marks():
            with suppress(OSError):  # foreign code may have made a folder of it
                os.unlink(mark)  # noqa: PTH108 - an entry of a folder

    def _marks(self) -> Iterator[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(self.folder) as entries:  # foreign code may close the folder
            yield from (entry for entry in entries if entry.name.startswith(_MARK))

    def _ccache(self, option: str) -> str:
        """Run our own ccache: a build may have replaced the one among its compilers, and written settings."""
        sandbox = Sandbox(writable={self.folder: self.folder}, readable=[_CCACHE])
        variables = {"CCACHE_DIR": str(self.folder), "CCACHE_CONFIGPATH": os.devnull}
        return sandbox.run([_CCACHE, option], cwd=self.folder, env=variables)


def caches() -> Path:
    """Folder with the cache folders of all groups."""
    return user_cache_path("wheelmill") / "compiled"


def cache_of(
    target: BuildTarget, toolkit: str, place: BuildPlace, workspace: Path, python_include: PurePath
) -> CompilerCache:
    """Open the cache of a target's group, with compilers in the build's workspace.

    Foreign code may write into it, so only builds of the same source and patches open it. `toolkit` and `place` are
    part of its name, too: ccache sees the bytes of nvcc and of compilers, but not of programs that they call.
    `python_include` has the headers of the build's Python, as the build will see them.
    """
    identities = f"{source_identity(target)[:32]}-{identity_of(place)[:16]}"
    folder = caches() / f"{target.cell.group}-{toolkit}-{identities}-{_PATHS}"
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for other in caches().iterdir():
        if time.time() - other.lstat().st_mtime > _UNUSED_S:
            remove_tree(other)
    compilers = workspace / "compilers"
    (compilers / "bin").mkdir(parents=True)
    shutil.copy2(_CCACHE, compilers / "ccache")
    (compilers / "python-include").symlink_to(python_include)
    for name in COMPILERS:
        shutil.copy(own_installation.DOCKER / "through-ccache.sh", compilers / "bin" / name)
        (compilers / "bin" / name).chmod(0o755)
    return CompilerCache(folder=folder, compilers=compilers)


@contextmanager
def report_hits(target: BuildTarget, cache: CompilerCache, progress: Progress) -> Iterator[None]:
    """Report the cache hits of a build, also if it fails."""
    cache.reset_counts()
    cache.remove_marks()
    try:
        yield
    finally:
        cache.remove_marks()
        counts = cache.counts()
        if counts.found or counts.compiled:
            came = f"{number_of(counts.found, 'object')} from the compiler cache, {counts.compiled:,} compiled"
            progress.step(f"{target.cell.id}: {came}")


def link_toolkit(toolkit: Path, home: Path, sandbox: Sandbox) -> None:
    """Make a CUDA home of links to a toolkit as a build sees it, with an nvcc that goes through the cache."""
    environment = process.environment_for_foreign_code()
    sandbox.run(["bash", own_installation.DOCKER / "link-toolkit.sh", toolkit, home], cwd=home.parent, env=environment)


UNITS: Final = (".c", ".cc", ".cpp", ".cu", ".cxx")
"""Suffixes of files that are compiled one by one."""
_OBJECT: Final = re.compile("[0-9a-v]{24,}[A-Z]?")
"""Name of a ccache file with a result or a list of headers: a hash, in some releases with a letter for its kind."""


@dataclass(frozen=True, kw_only=True)
class BuildPart:
    """Part of a source for one job to compile, of several."""

    number: int
    """Counted from 1."""
    of: int

    def __str__(self) -> str:
        """``2/4``."""
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a part such as ``2/4``; raises ValueError for any other text."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ValueError(f"expected a part such as 2/4, not {text!r}")
        return cls(number=int(number), of=int(of))

    def divide(self, source: Path, seen: PurePath, cache: CompilerCache) -> dict[str, str]:
        """Make compilers skip the units of other parts, and return their variables; builds see the source at `seen`."""
        paths = (path for path in source.rglob("*") if path.suffix in UNITS and path.is_file())
        # Sorted by suffix: kernels take the time, and each part gets the same number of them.
        names = sorted((path.suffix, str(path.relative_to(source))) for path in paths)
        listed = "".join(f"{name}\n" for _, name in names)
        (cache.compilers / "units").write_bytes(os.fsencode(listed))  # a name need not be UTF-8
        part_in(cache)  # removes the lists of an aborted build
        return {"WHEELMILL_PART": str(self), "WHEELMILL_SOURCE": str(seen)}


@dataclass(frozen=True, kw_only=True)
class CompiledPart:
    """Numbers of units that the build of a part compiled and skipped."""

    ours: int
    others: int
    """Left to other parts."""


def part_in(cache: CompilerCache) -> CompiledPart:
    """Count the units that a part's build compiled and skipped, and remove its lists of them."""

    def count(name: str) -> int:
        listed = cache.folder / name  # by ``docker/through-ccache.sh``
        units = len(listed.read_bytes().splitlines()) if listed.is_file() and not listed.is_symlink() else 0
        listed.unlink(missing_ok=True)
        return units

    return CompiledPart(ours=count("ours"), others=count("others"))


def import_caches(folders: Iterable[Path]) -> int:
    """Copy the objects, and nothing else, of other jobs' compiler caches to this machine's, and count the new ones.

    Raises IntegrityError if they take more space than compiler caches may.
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
    """Objects of all caches in a folder, each with its path below `caches`: ``GROUP/0/1/NAME``."""
    for parent, _, names in os.walk(folder):  # does not follow links
        levels = PurePath(parent).relative_to(folder).parts
        depth = next((n for n, level in enumerate(reversed(levels)) if len(level) > 1), len(levels))
        if 0 < depth < len(levels):
            below = PurePath(*levels[-depth - 1 :])
            for path in (Path(parent, name) for name in names):
                if _OBJECT.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
                    yield path, below / path.name
