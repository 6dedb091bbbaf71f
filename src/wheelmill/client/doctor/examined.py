"""Facts about an environment, before any of them is judged, and which of several modules of one name it imports.

No module is imported to find out.

https://docs.python.org/3/library/sys_path_init.html
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wheelmill.client.doctor.inventory import FileCounts, Installed, Reader, broken_folders, needs_torch
from wheelmill.client.install.distributions import ask, read_distributions, read_start
from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.wheel.shared_objects import open_symbols
from wheelmill.wheel.torch_links import window_of
from wheelmill.wheel.torch_symbols import TorchWindow, may_be_torchs, shipped_symbols

_PROBE: Final = """
import json, site, sys
alone = sys.prefix != sys.base_prefix and sys.base_prefix not in site.PREFIXES
user = None if alone else site.getusersitepackages()
print(json.dumps({"path": sys.path, "user": user, "packages": site.getsitepackages(), "prefix": sys.prefix}))
"""


@dataclass(frozen=True, kw_only=True)
class SearchFolder:
    """A folder in which Python looks for modules."""

    path: Path
    origin: str
    """Why it does: ``PYTHONPATH``."""


STARTED_IN: Final = "the folder that Python is started in"
USER_SITE: Final = "the user's site-packages"
PYTHONPATH: Final = "PYTHONPATH"
OWN: Final = "the environment"


@dataclass(frozen=True, kw_only=True)
class ImportPath:
    """The folders of an interpreter, in the order in which it looks."""

    folders: tuple[SearchFolder, ...]
    prefix: Path
    """The environment's own folder."""

    @classmethod
    def of(cls, interpreter: Path, started_in: Path) -> ImportPath:
        """Ask an interpreter, and add what the shell that starts it decides.

        Args:
            interpreter: it is asked without these additions, so that no file in them is run.
            started_in: the folder in which people start it.

        Raises:
            UsageError: it does not run.
        """
        try:
            found = ask(interpreter, _PROBE)
        except ProcessError as error:
            raise UsageError(
                "import-path-unknown", f"{interpreter} cannot say where it looks for modules:\n{error.tail}"
            ) from None
        entries = {Path(entry).resolve(): Path(entry) for entry in reversed(found["path"]) if entry}  # lib64 is lib
        own = [SearchFolder(path=entry, origin=OWN) for entry in reversed(entries.values())]
        packages = set(map(Path, found["packages"]))
        first = next((place for place, each in enumerate(own) if each.path in packages), len(own))
        user = found["user"] if not os.environ.get("PYTHONNOUSERSITE") else None
        added = [SearchFolder(path=Path(user), origin=USER_SITE)] if user else []
        folders = (*_from_shell(started_in), *own[:first], *added, *own[first:])
        return cls(folders=folders, prefix=Path(found["prefix"]))

    @property
    def own(self) -> tuple[Path, ...]:
        """The folders of the environment itself, whoever starts its interpreter from wherever."""
        return tuple(each.path for each in self.folders if each.origin == OWN)

    def find(self, module: str) -> tuple[SearchFolder, Path] | None:
        """The first folder that has a module or a package, and where that is in it."""
        for folder in self.folders:
            if found := next(_modules_in(folder.path, module), None):
                return folder, found
        return None


def _from_shell(started_in: Path) -> Iterator[SearchFolder]:
    yield SearchFolder(path=started_in, origin=STARTED_IN)
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if entry:
            yield SearchFolder(path=Path(entry).absolute(), origin=PYTHONPATH)


def _modules_in(folder: Path, module: str) -> Iterator[Path]:
    """A package comes before a module; a folder without ``__init__.py`` after everything else, so it is passed over."""
    if (folder / module / "__init__.py").is_file():
        yield folder / module
    yield from (path for path in (folder / f"{module}.so", folder / f"{module}.py") if path.is_file())
    yield from sorted(folder.glob(f"{module}.*.so"))


_USUAL: Final = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
"""Where the dynamic linker looks; below them Debian has a folder for each processor."""
_MAX_CONFIGURATION: Final = 1 << 16
"""Bytes of a file that names more such folders."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """An environment, read."""

    environment: TargetEnvironment
    facts: Compatibility
    path: ImportPath
    installed: Sequence[Installed] = ()
    broken: Sequence[Path] = ()
    """What an installation that broke off left."""
    libraries: frozenset[str] = frozenset()
    """The names of shared objects that this system has, beside those of the environment."""
    counts: FileCounts = field(default_factory=FileCounts)

    @functools.cached_property
    def by_project(self) -> Mapping[ProjectName, Installed]:
        """Those that Python finds."""
        return {each.distribution.project: each for each in reversed(self.installed)}

    @functools.cached_property
    def providers(self) -> Mapping[str, ProjectName]:
        """Which project has a shared object in the environment, by its file name."""
        return {
            row.name.rpartition("/")[2]: each.distribution.project
            for each in self.installed
            for row in each.rows
            if ".so" in row.name and row.name not in each.missing
        }

    @functools.cached_property
    def windows(self) -> Mapping[ProjectName, TorchWindow]:
        """In which torches the code of each project could load, as far as that is known."""
        linked = {
            name: each.code
            for name, each in self.by_project.items()
            if each.links_to_torch or needs_torch(each.distribution)
        }
        wanted = {symbol for code in linked.values() for symbol in open_symbols(code) if may_be_torchs(symbol)}
        table = shipped_symbols(wanted) if wanted else None
        found = {name: window_of(code, table) for name, code in linked.items() if table}
        return {name: window for name, window in found.items() if window}


def read_environment(
    environment: TargetEnvironment,
    facts: Compatibility,
    *,
    started_in: Path,
    all_hashes: bool,
    progress: Progress,
) -> Examined:
    """Read what is installed for the interpreter of an environment; nothing where that is only described.

    Args:
        environment: the environment as it was detected.
        facts: the facts of ``compatibility.yml``.
        started_in: the folder in which people start it.
        all_hashes: whether large files are hashed, too.
        progress: told of every distribution.

    Raises:
        UsageError: the interpreter does not run.
    """
    if environment.interpreter is None:
        return Examined(environment=environment, facts=facts, path=ImportPath(folders=(), prefix=started_in))
    path = ImportPath.of(environment.interpreter, started_in)
    reader = Reader(prefix=path.prefix, all_hashes=all_hashes, reads_code=environment.platform.is_linux)
    return Examined(
        environment=environment,
        facts=facts,
        path=path,
        installed=reader.read_all(read_distributions(path.own), progress),
        broken=tuple(broken_folders(path.own)),
        libraries=frozenset(system_libraries(path.prefix)),
        counts=reader.counts,
    )


def system_libraries(prefix: Path) -> Iterator[str]:
    """The shared objects in the folders that the dynamic linker looks into, and in the one of an environment.

    https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    named = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry]
    usual = [Path(entry) for entry in _USUAL]
    below = [each for folder in usual if folder.is_dir() for each in folder.glob("*-linux-gnu*")]
    configured = _configured(Path("/etc/ld.so.conf"), {Path("/etc/ld.so.conf")})
    for folder in dict.fromkeys([*named, prefix / "lib", *usual, *below, *configured]):
        try:
            yield from (each.name for each in folder.iterdir() if ".so" in each.name)
        except OSError:
            continue


def _configured(file: Path, seen: set[Path]) -> Iterator[Path]:
    try:
        text = read_start(file, _MAX_CONFIGURATION).decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"]:
            for pattern in words[1:]:
                for each in sorted(
                    file.parent.glob(pattern) if not pattern.startswith("/") else Path("/").glob(pattern[1:])
                ):
                    if each not in seen:
                        seen.add(each)
                        yield from _configured(each, seen)
        elif words:
            yield Path(words[0])
