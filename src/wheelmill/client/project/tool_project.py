"""The base of every kind of project, parts of those with a ``pyproject.toml``, and projects without a tool."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final

import msgspec
import msgspec.toml
from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.environment.detect import find_interpreter
from wheelmill.client.environment.interpreter import check_trusted
from wheelmill.client.install.installer import install_chosen, installer_for
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.project.change import Edit, add_wheels, remove_packages
from wheelmill.client.project.declared import asked_with_pins, read_declared
from wheelmill.client.project.pyproject import EXTRAS, GROUPS, PROJECT_LIST, PyprojectEditor
from wheelmill.client.records import Candidate, Links, Resolution, Source
from wheelmill.errors import IntegrityError, UsageError
from wheelmill.installers.uv import run_installer
from wheelmill.names import TORCH, ProjectName
from wheelmill.system.files import MAX_LOCK_BYTES, read_bounded
from wheelmill.system.process import find_program
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import wheel_behind

_IS_NO_WHEEL: Final = frozenset(("editable", "virtual", "directory", "git", "path"))
"""Keys and types of a source by which these locks mark a package that is built from a source tree."""


class _LockedFile(Struct):
    hash: str = ""


class _LockEntry(Struct):
    """Package of a lock of uv, Poetry or PDM."""

    name: str
    version: str = ""
    source: Mapping[str, str] = {}
    url: str = ""
    git: object = None
    path: object = None
    editable: object = None
    wheels: tuple[_LockedFile, ...] = ()
    files: tuple[_LockedFile, ...] = ()


class _LockMetadata(Struct, frozen=True):
    groups: tuple[str, ...] = ()


class _ToolLock(Struct):
    package: tuple[_LockEntry, ...] = ()
    metadata: _LockMetadata = _LockMetadata()


@dataclass(frozen=True, kw_only=True)
class LockedPackage:
    """Package in a lock; a project may have several, for several environments."""

    project: ProjectName
    version: Version | None
    """With the label of the wheel's file name; None for what is built from a source tree."""
    hashes: frozenset[str]
    """``sha256:`` and the hash, of each of its files."""
    index: str = ""
    """The name of its index in Poetry's lock; empty if there is none."""


@dataclass(frozen=True, kw_only=True)
class ToolLock:
    """Lock of uv, Poetry or PDM."""

    packages: tuple[LockedPackage, ...] = ()
    groups: tuple[str, ...] = ()
    """Of PDM's."""


def read_tool_lock(path: Path) -> ToolLock:
    """Read a lock of uv, Poetry or PDM; one that does not exist yet is empty."""
    if not path.exists():
        return ToolLock()
    try:
        lock = msgspec.toml.decode(read_bounded(path, MAX_LOCK_BYTES), type=_ToolLock)
        return ToolLock(packages=tuple(map(_package, lock.package)), groups=lock.metadata.groups)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError("lock-unreadable", f"{path} cannot be read as a lock: {error}") from None


def _package(entry: _LockEntry) -> LockedPackage:
    wheel = wheel_behind(entry.source.get("url") or entry.url)
    is_source = entry.git or entry.path or entry.editable or _IS_NO_WHEEL & {*entry.source, entry.source.get("type")}
    return LockedPackage(
        project=canonicalize_name(entry.name),
        version=None if is_source else wheel.version if wheel else Version(entry.version),
        hashes=frozenset(file.hash for file in (*entry.wheels, *entry.files)),
        index=entry.source.get("reference", ""),
    )


def check_lock(path: Path, chosen: Iterable[Candidate]) -> None:
    """Check that a lock has the hashes of the chosen wheels."""
    packages = read_tool_lock(path).packages
    for candidate in chosen:
        hashes = {each for package in packages if package.project == candidate.project for each in package.hashes}
        if candidate.sha256 and f"sha256:{candidate.sha256}" not in hashes:
            raise IntegrityError(
                "hash-not-locked",
                f"{path.name} has no {candidate.filename} with sha256 {candidate.sha256}: "
                f"it has {', '.join(sorted(hashes)) or 'no wheel of that name'}",
            )


@dataclass(frozen=True, kw_only=True)
class Project(ABC):
    """Project: files that declare dependencies, and the environment for them."""

    path: Path
    """The file with its dependencies, which need not exist yet."""
    python: Path | None
    """The interpreter that the user named."""
    prefix: Path | None = None
    """The folder of its environment, unless its tool has one for it."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Its kind, in words: ``uv project``."""

    @property
    def root(self) -> Path:
        """The folder of its lock."""
        return self.path.parent

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that an edit or its own tool may write, even if it does not exist."""
        return (self.path,)

    @property
    def environment(self) -> Path | None:
        """The folder of its environment, which need not exist yet; None if there is none, or only its tool knows it."""
        return self.prefix

    def find_python(self) -> Path | None:
        """The interpreter for its wheels: the one that the user named, else its tool's choice; None if none fits."""
        return self.python or find_interpreter(self.path.parent, self.environment)

    @abstractmethod
    def check_install(self) -> None:
        """Refuse an impossible `install` before any change."""

    @property
    @abstractmethod
    def asked(self) -> tuple[Requirement, ...]:
        """The user's requests to wheelmill, from which an update may take any matching version, and pinned wheels."""

    @property
    @abstractmethod
    def links(self) -> Links:
        """The wheels that others require, which were chosen with these."""

    @property
    @abstractmethod
    def requirements(self) -> tuple[Requirement, ...]:
        """All its dependencies."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Source, ...]:
        """The sources that its files name: those of its wheels, and the indexes of its tool."""

    @abstractmethod
    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Make it depend on chosen wheels, given for each environment in ``resolutions``; updates read ``asked``."""

    @abstractmethod
    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Remove dependencies, and all additions made for them alone."""

    @abstractmethod
    def install(self, resolutions: Sequence[Resolution], cache: WheelCache) -> None:
        """Lock it and install the dependencies in its files, with its own tool.

        The lock must have the hashes of the chosen wheels. The cache shows progress, and is for tools without a lock.
        """

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Lock it and remove projects from its environment, with its own tool."""
        if (self.environment or self.python) and (python := self.find_python()):
            installer_for(python, progress).uninstall(projects)


@dataclass(frozen=True, kw_only=True)
class PyprojectProject(Project):
    """Project with a ``pyproject.toml``; see `Project`."""

    list_keys: tuple[str, ...] = PROJECT_LIST
    """The list for what stands in none yet: the project's own, an extra or a dependency group."""

    pyproject: ClassVar[type[PyprojectEditor]] = PyprojectEditor
    """The editor of the file, which knows where its tool keeps indexes."""

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements in ``tool.wheelmill.packages``, and the wheels that it pins; see `asked_with_pins`."""
        read = self._read()
        tied = {name for each in self.sources if TORCH not in each.projects for name in each.projects}
        return asked_with_pins(read.asked, read.requirements, tied, read.source_urls)

    @property
    def links(self) -> Links:
        """The wheels that others require."""
        return self._read().links

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The dependencies in its ``pyproject.toml``."""
        return self._read().requirements

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources in its ``pyproject.toml``, in a ``uv.toml`` beside it, and in those of its workspace."""
        return read_declared(dict.fromkeys((self.path.parent, self.root)))

    @property
    def lists(self) -> Mapping[ProjectName, tuple[str, ...]]:
        """The list in which each dependency stands."""
        return self._read().lists

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        return add_wheels(self._read(), asked, resolutions)

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Remove dependencies from its file; see `Project`."""
        return remove_packages(self._read(), projects)

    def _read(self) -> PyprojectEditor:
        pyproject = self.pyproject.read(self.path)
        pyproject.choose_list(self.list_keys)
        return pyproject


@dataclass(frozen=True, kw_only=True)
class ToolProject(PyprojectProject):
    """Project whose dependencies a tool installs; see `Project`."""

    tool: ClassVar[str]

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return f"{self.tool} project"

    @property
    def program(self) -> str:
        """The path of the tool."""
        check_trusted(self.path)
        if program := find_program(self.tool):
            return program
        raise tool_absent(self.path, self.tool)

    @property
    @abstractmethod
    def own_python(self) -> Path | None:
        """The interpreter of the tool's environment for the project; None if there is none yet."""

    def find_python(self) -> Path | None:
        """The interpreter of the tool's environment, else of the project's declaration."""
        return self.python or self.own_python or find_interpreter(self.root, None)

    def check_install(self) -> None:
        """Check that the tool is available."""
        _ = self.program


def tool_absent(path: Path, tool: str) -> UsageError:
    """Make the error for a project whose tool is not installed."""
    return UsageError(
        "tool-absent", f"{path} is a project of {tool}, which is not on PATH", hint=f"install {tool} first"
    )


@dataclass(frozen=True, kw_only=True)
class LockedProject(ToolProject):
    """Project with the lock of uv, Poetry or PDM; see `Project`.

    Poetry and PDM do not check the hash in a URL, so the lock is checked against the chosen wheels before installation.
    They do not uninstall packages that are no longer required.
    """

    lock_name: ClassVar[str]
    lock_arguments: ClassVar[tuple[str, ...]]
    """Lock, and keep what is locked where it fits."""
    install_arguments: ClassVar[tuple[str, ...]]
    """Install what is locked, and uninstall nothing."""
    makes_environment_to_lock: ClassVar[bool] = True
    """True if locking creates the tool's environment where there is none."""
    group_option: ClassVar[str] = "--group"
    """Installs a dependency group beside the default ones; empty if there are none."""
    extra_option: ClassVar[str] = "--extra"

    @property
    def lock(self) -> Path:
        """The tool's own lock, which need not exist yet."""
        return self.root / self.lock_name

    @property
    def files(self) -> tuple[Path, ...]:
        """Its own file and the tool's lock."""
        return (self.path, self.lock)

    def make_environment(self, python: Path, progress: Progress) -> None:
        """Create the tool's environment for an interpreter, if locking and installing do not."""

    @property
    def environment(self) -> Path:
        """The folder of the tool's environment; until it exists, the project's ``.venv``.

        By default Poetry creates its environment in its cache, so the journal of a first install does not protect it.
        """
        return self.own_python.parent.parent if self.own_python else self.root / ".venv"

    def find_python(self) -> Path | None:
        """The interpreter of the tool's environment, which alone may be named, else of the project's declaration."""
        own = self.own_python
        if self.python and own and self.python.absolute() != own.absolute():
            raise UsageError(
                "another-environment",
                f"{self.tool} installs into {own}, not into {self.python}",
                hint=f"leave out --python-path, or tell {self.tool} to use that interpreter",
            )
        return super().find_python()

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache) -> None:
        """Lock it, check the lock against the chosen wheels, and install it; see `Project`."""
        interpreter = resolutions[0].environment.interpreter
        if self.own_python is None and interpreter:
            self.make_environment(interpreter, cache.progress)
        self._lock_and_install(cache.progress, resolutions, offline=cache.offline)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:  # noqa: ARG002 - the lock knows
        """Lock it, and sync its environment; see `Project`."""
        self._lock_and_install(progress)

    def relock(self, progress: Progress, resolutions: Sequence[Resolution] = (), *, offline: bool = False) -> None:
        """Lock the project, and check the lock against the chosen wheels."""
        self._run(progress, *self.lock_arguments, *self._options(resolutions, offline=offline, locks=True))
        check_lock(self.lock, [each.candidate for one in resolutions for each in one.choices.values()])

    def _lock_and_install(
        self, progress: Progress, resolutions: Sequence[Resolution] = (), *, offline: bool = False
    ) -> None:
        """Lock, install, and uninstall what has left the lock: an exact sync would remove other packages, too."""
        before = self._locked
        self.relock(progress, resolutions, offline=offline)
        self._run(progress, *self.install_arguments, *self._options(resolutions, offline=offline, locks=False))
        python, gone = self.own_python, sorted(before - self._locked)
        if python and gone:
            installer_for(python, progress).uninstall(gone)

    def _options(self, resolutions: Sequence[Resolution], *, offline: bool, locks: bool) -> list[str]:  # noqa: ARG002 - uv has one
        """The options to lock, or to install the lists of chosen and installed wheels: Poetry removes other extras."""
        if locks:
            return []
        from wheelmill.client.install.distributions import installed_in  # choosing wheels asks for none

        read, present = self._read(), installed_in(self.own_python) if self.own_python else {}
        installed = {canonicalize_name(each.name) for each in read.asked} & present.keys()
        chosen = {choice.candidate.project for each in resolutions for choice in each.choices.values()}
        wanted = {keys for project, keys in read.lists.items() if project in chosen | installed} - {PROJECT_LIST}
        words = {GROUPS: self.group_option, EXTRAS: self.extra_option}
        return [word for keys in sorted(wanted) for word in (words[keys[:-1]], keys[-1])]

    @property
    def _locked(self) -> set[ProjectName]:
        return {each.project for each in read_tool_lock(self.lock).packages}

    def _run(self, progress: Progress, *arguments: str | Path) -> None:
        run_installer([self.program, *arguments], progress, cwd=self.root)


@dataclass(frozen=True, kw_only=True)
class PlainProject(PyprojectProject):
    """Project whose environment uv did not create, and whose other packages stay; see `Project`."""

    kind: ClassVar[str] = "project without a tool of its own"

    def check_install(self) -> None:
        """Check that there is an environment."""
        if self.environment is None:
            raise UsageError(
                "no-environment",
                f"{self.root} has no environment to install into",
                hint="make one with 'python3 -m venv .venv', or install uv, which makes its own",
            )

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file, with a note on an index of torch that the file cannot name; see `Project`."""
        edit = super().add(asked, resolutions)
        places = {each.torch_index: each.environment.cuda for each in resolutions if each.torch and each.torch_index}
        notes = [
            f"{self.path.name} cannot say that torch for CUDA {cuda} is at {place}" for place, cuda in places.items()
        ]
        return replace(edit, notes=(*edit.notes, *notes))

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache) -> None:
        """Install the wheels and their requirements; see `Project`."""
        install_chosen(resolutions[0], cache)
