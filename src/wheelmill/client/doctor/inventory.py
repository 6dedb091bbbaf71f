"""Inventory of an environment, which runs nothing: files compared with RECORD, their code, and the import path.

https://docs.python.org/3/library/sys_path_init.html
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from packaging.tags import Tag

from wheelmill.client.choose.wheel_inspection import describe_code
from wheelmill.client.environment.interpreter import ask
from wheelmill.client.install.distributions import Distribution, read_distributions
from wheelmill.client.records import TargetEnvironment, WheelInspection
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import ProcessError, UnreadableError, UsageError
from wheelmill.names import TORCH, ProjectName
from wheelmill.system.files import read_start
from wheelmill.system.progress import Progress
from wheelmill.wheel.archive import MAX_METADATA, MAX_RECORD
from wheelmill.wheel.label import torch_requirement
from wheelmill.wheel.libraries import DRIVER, system_libraries
from wheelmill.wheel.metadata import tags_of
from wheelmill.wheel.record import LIBRARIES, RecordRow, is_as_listed, read_rows
from wheelmill.wheel.shared_objects import ELF_MAGIC, CodeBudget, SharedObject, open_symbols
from wheelmill.wheel.torch_symbols import TorchWindow, may_be_torchs, shipped_symbols, window_of

_SMALL: Final = 1 << 20
"""Bytes. Larger files are compared by their size, unless all hashes are asked for: torch and CUDA have gigabytes."""
_LEAVE_RECORD: Final = frozenset({"", "conda"})
"""Installers that change and move files and leave RECORD as it was: systems' own, which give no name, and conda."""


@dataclass(kw_only=True)
class FileCounts:
    """Counts of examined files."""

    distributions: int = 0
    files: int = 0
    hashed: int = 0
    shared_objects: int = 0


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Content of a distribution in the environment."""

    distribution: Distribution
    rows: tuple[RecordRow, ...] = ()
    """Rows of its RECORD; empty if it has none, as system packages."""
    tags: frozenset[Tag] = frozenset()
    unreadable: str | None = None
    """The fault of its RECORD or its tags; None if they can be read."""
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    corrupt: Mapping[str, str] = field(default_factory=dict)
    """Files that cannot be loaded as shared objects, each with the reason."""
    code: tuple[SharedObject, ...] = ()
    """With its symbols only where torch may have to define them."""
    inside: WheelInspection | None = None
    """Needs of its code; None if it has no code."""

    @property
    def needed(self) -> Mapping[str, str]:
        """The libraries that its code needs and it does not have, each with the first file that needs it."""
        own = {name for each in self.code for name in (each.name.rpartition("/")[2], each.soname)}
        libraries: dict[str, str] = {}
        for code in self.code:
            for library in code.needed:
                if library not in own:
                    libraries.setdefault(library, code.name)
        return libraries

    @property
    def links_to_torch(self) -> bool:
        """True if its code names a library of torch."""
        return self.distribution.project != TORCH and any(each.links_to_torch for each in self.code)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reader of distributions, one after the other."""

    prefix: Path
    """The environment: what a RECORD names outside of it is not looked at."""
    all_hashes: bool
    reads_code: bool
    """True if the environment's compiled code has a format that is read here."""
    counts: FileCounts = field(default_factory=FileCounts)

    def read_all(self, distributions: Sequence[Distribution], progress: Progress) -> list[Installed]:
        """Read every distribution, showing its name as progress."""
        installed = []
        for number, distribution in enumerate(distributions, 1):
            progress.line(f"reading {distribution.project} ({number} of {len(distributions)})")
            installed.append(self.read(distribution))
        progress.line("")
        return installed

    def read(self, distribution: Distribution) -> Installed:
        """Read the content of one distribution."""
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
        inside = describe_code(code, None) if code else None
        if not needs_torch(distribution) and not any(each.links_to_torch for each in code):
            # Nothing reads its symbols, and an environment has millions of them.
            code = tuple(replace(each, undefined=(), defined=frozenset()) for each in code)
        return Installed(
            distribution=distribution,
            rows=tuple(rows),
            tags=tags,
            missing=tuple(missing),
            changed=tuple(name for name in changed if not (name in corrupt or _has_authorities(folder.parent / name))),
            corrupt=corrupt,
            code=code,
            inside=inside,
        )

    def _compare(self, rows: Sequence[RecordRow], folder: Path) -> tuple[Sequence[str], Sequence[str]]:
        """List the missing and the changed files, by RECORD."""
        missing, changed = [], []
        for row in rows:
            path = self._place(row, folder.parent)
            if path is None or not row.digest or row.name.endswith(".pyc"):
                continue
            self.counts.files += 1
            try:
                status = path.stat()
            except OSError:
                missing.append(row.name)
                continue
            if not (stat.S_ISREG(status.st_mode) and self._is_as_recorded(path, row, status.st_size)):
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
            return is_as_listed(path, row)
        except OSError:
            return False

    def _read_code(self, rows: Sequence[RecordRow], base: Path) -> tuple[tuple[SharedObject, ...], Mapping[str, str]]:
        code: list[SharedObject] = []
        corrupt: dict[str, str] = {}
        budget = CodeBudget()
        for row in rows if self.reads_code else ():
            path = self._place(row, base) if ".so" in row.name else None
            if path is None or ".so" not in path.suffixes or not path.is_file():
                continue
            self.counts.shared_objects += 1
            try:
                code.append(SharedObject.read(path, name=row.name, budget=budget))
            except (UnreadableError, OSError) as error:
                if not _is_as_shipped(path, row):
                    corrupt[row.name] = str(error)
        return tuple(code), corrupt


def needs_torch(distribution: Distribution) -> bool:
    """True if the package's metadata declares a need for torch."""
    needs = distribution.torch is not None or torch_requirement(distribution.requires_dist) is not None
    return needs and distribution.project != TORCH


def _is_as_shipped(path: Path, row: RecordRow) -> bool:
    """True if a wheel shipped this unreadable file: a linker script, or code without section headers."""
    try:
        start = read_start(path, 64)
        is_other = start.startswith(ELF_MAGIC) or (bool(start) and start.isascii() and b"\0" not in start)
        return is_other and is_as_listed(path, row)
    except OSError:
        return False


def _has_authorities(path: Path) -> bool:
    """True if a file is certifi's, to which companies add their own authority, and still has certificates."""
    with suppress(OSError):
        return path.name == "cacert.pem" and b"-----END CERTIFICATE-----" in read_start(path, _SMALL)
    return False


def _installer_of(folder: Path) -> str:
    try:
        return read_start(folder / "INSTALLER", 100).decode(errors="replace").strip()
    except OSError:
        return ""


def broken_folders(path: Sequence[Path]) -> Iterator[Path]:
    """Yield folders of interrupted installs or removals: pip's ``~orch``, and a ``.dist-info`` without METADATA."""
    for folder in (each for each in path if each.name in LIBRARIES):  # a .pth file may add the user's own folder
        try:
            entries = sorted(
                entry for entry in folder.iterdir() if entry.name.startswith("~") or entry.suffix == ".dist-info"
            )
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("~") or not (entry / "METADATA").is_file():
                yield entry


_PROBE: Final = """
import json, os, site, sys
os.environ["PYTHONUSERBASE"], site.USER_BASE, site.USER_SITE = sys.argv[1], None, None
alone = sys.prefix != sys.base_prefix and sys.base_prefix not in site.PREFIXES
user = None if alone else site.getusersitepackages()
folders, own = site.getsitepackages(), sys.prefix + os.sep
shared = [each for each in folders if sys.prefix == sys.base_prefix or not each.startswith(own)]
print(json.dumps({"path": sys.path, "user": user, "packages": shared, "prefix": sys.prefix}))
"""


@dataclass(frozen=True, kw_only=True)
class SearchFolder:
    """Folder in which Python looks for modules."""

    path: Path
    origin: str
    """The reason: ``PYTHONPATH``."""


STARTED_IN: Final = "the folder that Python is started in"
USER_SITE: Final = "the user's site-packages"
PYTHONPATH: Final = "PYTHONPATH"
OWN: Final = "the environment"


@dataclass(frozen=True, kw_only=True)
class ImportPath:
    """Import path of an interpreter, in search order."""

    folders: tuple[SearchFolder, ...]
    prefix: Path
    """The environment's own folder."""

    @classmethod
    def of(cls, interpreter: Path, started_in: Path) -> ImportPath:
        """Read an interpreter's path, and add the shell's entries: the folder where users start it, and ``PYTHONPATH``.

        The interpreter runs without these entries, so that no file in them is executed.
        """
        try:
            answer = ask(interpreter, _PROBE, os.environ.get("PYTHONUSERBASE", ""))
        except ProcessError as error:
            raise UsageError(
                "import-path-unknown", f"{interpreter} cannot say where it looks for modules:\n{error.tail}"
            ) from None
        entries = {Path(entry).resolve(): Path(entry) for entry in reversed(answer["path"]) if entry}  # lib64 is lib
        own = [SearchFolder(path=entry, origin=OWN) for entry in reversed(entries.values())]
        packages = set(map(Path, answer["packages"]))
        first = next((place for place, each in enumerate(own) if each.path in packages), len(own))
        user = answer["user"] if not os.environ.get("PYTHONNOUSERSITE") else None
        added = [SearchFolder(path=Path(user), origin=USER_SITE)] if user else []
        entered = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        shell = [SearchFolder(path=Path(entry).absolute(), origin=PYTHONPATH) for entry in entered]
        folders = (SearchFolder(path=started_in, origin=STARTED_IN), *shell, *own[:first], *added, *own[first:])
        return cls(folders=folders, prefix=Path(answer["prefix"]))

    @property
    def own(self) -> tuple[Path, ...]:
        """The folders of the environment itself, for any user and start folder."""
        return tuple(each.path for each in self.folders if each.origin == OWN)

    def find(self, module: str) -> tuple[SearchFolder, Path] | None:
        """The first folder with a module or a package, and its path there; None if there is none."""
        for folder in self.folders:
            if path := next(_modules_in(folder.path, module), None):
                return folder, path
        return None


def _modules_in(folder: Path, module: str) -> Iterator[Path]:
    """Yield a package before modules; a folder without ``__init__.py`` comes last in Python, so it is skipped."""
    if (folder / module / "__init__.py").is_file():
        yield folder / module
    yield from (path for path in (folder / f"{module}.so", folder / f"{module}.py") if path.is_file())
    yield from sorted(folder.glob(f"{module}.*.so"))


_ELSEWHERE: Final = ("ld-linux", "libpython", DRIVER, "libnvidia-ml.so.1")
"""Libraries that every process has, or only a machine with a driver."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """Data read from an environment."""

    environment: TargetEnvironment
    facts: Compatibility
    path: ImportPath
    installed: Sequence[Installed] = ()
    of_user: Sequence[Distribution] = ()
    """Distributions in the user's own site-packages; empty if packages cannot be installed anywhere else."""
    broken: Sequence[Path] = ()
    """Remains of interrupted installations."""
    libraries: frozenset[str] = frozenset()
    """The names of shared objects that this system has, beside those of the environment."""
    counts: FileCounts = field(default_factory=FileCounts)

    @functools.cached_property
    def by_project(self) -> Mapping[ProjectName, Installed]:
        """The distribution of each project that Python finds."""
        return {each.distribution.project: each for each in reversed(self.installed)}

    @functools.cached_property
    def providers(self) -> Mapping[str, ProjectName]:
        """The project of each shared object in the environment, by file name."""
        return {
            row.name.rpartition("/")[2]: installed.distribution.project
            for installed in self.installed
            for row in installed.rows
            if ".so" in row.name and row.name not in installed.missing
        }

    def has(self, library: str, user: SharedObject | None = None) -> bool:
        """True if a library is in the environment, on the system, where its user looks, or comes with Python."""
        folders = user.search_path.split(":") if user else []
        is_there = library in self.providers or library in self.libraries or library.startswith(_ELSEWHERE)
        return is_there or any(os.access(f"{each}/{library}", os.R_OK) for each in folders if each.startswith("/"))

    @functools.cached_property
    def windows(self) -> Mapping[ProjectName, TorchWindow]:
        """The torches that can load the code of each project, as far as known."""
        linked = {
            name: installed.code
            for name, installed in self.by_project.items()
            if installed.links_to_torch or needs_torch(installed.distribution)
        }
        wanted = {symbol for code in linked.values() for symbol in open_symbols(code) if may_be_torchs(symbol)}
        table = shipped_symbols(wanted) if wanted else None
        windows = {name: window_of(code, table) for name, code in linked.items() if table}
        return {name: window for name, window in windows.items() if window}


def read_environment(
    environment: TargetEnvironment,
    facts: Compatibility,
    *,
    started_in: Path,
    all_hashes: bool,
    progress: Progress,
) -> Examined:
    """Read the packages of an environment, if not only described; ``all_hashes`` includes those of large files."""
    if environment.interpreter is None:
        return Examined(environment=environment, facts=facts, path=ImportPath(folders=(), prefix=started_in))
    path = ImportPath.of(environment.interpreter, started_in)
    reader = Reader(prefix=path.prefix, all_hashes=all_hashes, reads_code=environment.platform.is_linux)
    return Examined(
        environment=environment,
        facts=facts,
        path=path,
        installed=reader.read_all(read_distributions(path.own), progress),
        of_user=read_distributions(
            folder.path for folder in path.folders if folder.origin == USER_SITE and os.access(path.prefix, os.W_OK)
        ),
        broken=tuple(broken_folders(path.own)),
        libraries=frozenset(system_libraries(path.prefix, environment.interpreter.resolve().parent.parent)),
        counts=reader.counts,
    )
