"""The compiler cache of a group: builds for further Pythons, and later attempts, reuse what one build compiled.

ccache keys on the bytes of compilers and headers and on the command line; see ``docker/through-ccache.sh``.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from platformdirs import user_cache_path

from wheelmill.build.identity import COMPILERS, BuildPlace, identity_of
from wheelmill.build.provenance import CacheCounts
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import process, resources
from wheelmill.system.progress import Progress, number_of
from wheelmill.system.sandbox import Sandbox

MAX_SIZE: Final = 10 << 30
"""Bytes of one cache."""
_PATHS: Final = 2
"""Raised when builds see sources under another path: nvcc names symbols by it, and ccache ignores it."""


@dataclass(frozen=True, kw_only=True)
class CompilerCache:
    """A folder of compiled objects, and compilers that look there first."""

    folder: Path
    compilers: Path

    def variables(self, folder: PurePath | None = None, compilers: PurePath | None = None) -> Mapping[str, str]:
        """What the compilers read, with the places where a build sees the two folders."""
        asked = {name: "1" for name in ("CCACHE_DISABLE", "CCACHE_RECACHE") if os.environ.get(name)}
        return asked | {
            "WHEELMILL_COMPILERS": str(compilers or self.compilers),
            "CCACHE_DIR": str(folder or self.folder),
            "CCACHE_COMPILERCHECK": "content",
            "CCACHE_NOHASHDIR": "1",  # paths are the same in every build
            # Installers link headers to their cache, and the next installation changes the time of that inode.
            "CCACHE_SLOPPINESS": "include_file_ctime",
            "CCACHE_MAXSIZE": f"{MAX_SIZE >> 30}Gi",
        }

    def forget_counts(self) -> None:
        """Reset the counts of hits and misses."""
        self._ccache("--zero-stats")

    def counts(self) -> CacheCounts:
        """Where the objects came from since `forget_counts`."""
        printed = (line.split("\t") for line in self._ccache("--print-stats").splitlines())
        numbers = {name: int(number) for name, number in printed}
        found = numbers["direct_cache_hit"] + numbers["preprocessed_cache_hit"]
        return CacheCounts(found=found, compiled=numbers["cache_miss"] + numbers["recache"])

    def _ccache(self, option: str) -> str:
        return process.run([self.compilers / "ccache", option], env={"CCACHE_DIR": str(self.folder)})


def caches() -> Path:
    """Where the caches of all groups are, a folder each."""
    return user_cache_path("wheelmill") / "compiled"


def cache_of(
    target: BuildTarget, toolkit: str, place: BuildPlace, workspace: Path, python_include: PurePath
) -> CompilerCache:
    """Open the cache of a target's group, with compilers in its workspace.

    Args:
        target: the build target: one cell of the plan.
        toolkit: the CUDA toolkit release: ccache sees the bytes of nvcc, but not those of what nvcc calls.
        place: where it is compiled: ccache sees the compilers' bytes, but not those of what they call either.
        workspace: the folder of the build.
        python_include: the headers of the build's Python, as the build will see them.
    """
    folder = caches() / f"{target.cell.group}-{toolkit}-{identity_of(place)[:16]}-{_PATHS}"
    folder.mkdir(parents=True, exist_ok=True)
    compilers = workspace / "compilers"
    (compilers / "bin").mkdir(parents=True)
    shutil.copy2(Path(sysconfig.get_path("scripts")) / "ccache", compilers / "ccache")
    (compilers / "python-include").symlink_to(python_include)
    for name in COMPILERS:
        shutil.copy(resources.DOCKER / "through-ccache.sh", compilers / "bin" / name)
        (compilers / "bin" / name).chmod(0o755)
    return CompilerCache(folder=folder, compilers=compilers)


@contextmanager
def tell_hits(target: BuildTarget, cache: CompilerCache, progress: Progress) -> Iterator[None]:
    """Count while something is built, and report the counts, also when it fails."""
    cache.forget_counts()
    try:
        yield
    finally:
        counts = cache.counts()
        if counts.found or counts.compiled:
            came = f"{number_of(counts.found, 'object')} from the compiler cache, {counts.compiled:,} compiled"
            progress.step(f"{target.cell.id}: {came}")


def link_toolkit(toolkit: Path, home: Path, sandbox: Sandbox) -> None:
    """Make a CUDA home of links to a toolkit as a build sees it, with an nvcc that goes through the cache."""
    environment = process.environment_for_foreign_code()
    sandbox.run(["bash", resources.DOCKER / "link-toolkit.sh", toolkit, home], cwd=home.parent, env=environment)
