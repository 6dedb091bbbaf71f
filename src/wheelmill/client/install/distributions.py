"""Installed packages of an interpreter, the folders that installers write to, and changes between two states."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from zlib import crc32

from wheelmill.client.environment.detect import python_of
from wheelmill.client.environment.interpreter import ask
from wheelmill.errors import ProcessError, UnreadableError, UsageError
from wheelmill.names import ProjectName, TorchNeed, project_name, version_or_none
from wheelmill.system.files import read_start
from wheelmill.wheel.archive import MAX_DISTRIBUTIONS, MAX_METADATA
from wheelmill.wheel.label import BuiltFor, needed_torch
from wheelmill.wheel.metadata import read_fields
from wheelmill.wheel.name import required_project, stands_for, wheel_behind
from wheelmill.wheel.record import read_rows


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Installed distribution of one project."""

    project: ProjectName
    version: str
    requires_dist: tuple[str, ...] = ()
    """As its METADATA has it."""
    folder: Path | None = None
    """Its ``.dist-info``; None where an older form keeps what is known of it."""
    origin: str | None = None
    """The URL that it was installed from (PEP 610); None for what came from an index."""
    is_source_tree: bool = False
    """True if it was installed from a folder of sources, as an editable project is."""

    @property
    def stands_for(self) -> ProjectName | None:
        """The project that this alias stands for; None if it is no alias."""
        return stands_for(self.version, self.requires_dist)

    @property
    def label(self) -> BuiltFor:
        """The build label in its version; empty for an alias, because its wheel has the label."""
        label = BuiltFor() if self.stands_for else BuiltFor.of_installed(self.version)
        if not label.torch_readings:
            return label
        from wheelmill.client.choose.resolve import read_facts  # for rare labels alone

        return label.decided(read_facts().torches_of)

    @property
    def torch(self) -> TorchNeed | None:
        """The torch that it needs: from its version, or from its METADATA if the version names CUDA only."""
        return self.label.torch or (needed_torch(self.requires_dist) if self.label.cuda_major else None)


def installed_in(interpreter: Path) -> dict[ProjectName, Distribution]:
    """Map every project that an interpreter can import to its distribution; of two with one name, the imported one."""
    return {each.project: each for each in reversed(distributions_of(interpreter))}


def distributions_of(interpreter: Path) -> list[Distribution]:
    """List every distribution on an interpreter's path, including those hidden by another of the same name."""
    try:
        path = ask(interpreter, "import json, sys; print(json.dumps(sys.path))")
    except ProcessError as error:
        raise UsageError(
            "installed-unreadable", f"{interpreter} cannot list what is installed:\n{error.tail}"
        ) from None
    return read_distributions(Path(entry) for entry in path if entry)


def read_distributions(path: Iterable[Path]) -> list[Distribution]:
    """Read the distributions in folders, given in import order; entries without a valid name or a version are skipped.

    A version includes the local label of the wheel's file name if its URL is recorded (PEP 610). Some wheels,
    flash-attn's own among them, are renamed after the build, so their METADATA does not state their target.
    """
    return [found for folder in dict.fromkeys(path) for each in _metadata_in(folder) if (found := _read(each))]


def _metadata_in(folder: Path) -> list[Path]:
    """List the metadata files of distributions; an ``.egg-info`` may itself be one."""
    try:
        entries = sorted(each for each in folder.iterdir() if each.suffix in (".dist-info", ".egg-info"))
    except OSError:  # a zip file or a missing folder
        return []
    named = {".dist-info": "METADATA", ".egg-info": "PKG-INFO"}
    return [entry if entry.is_file() else entry / named[entry.suffix] for entry in entries[:MAX_DISTRIBUTIONS]]


def _read(metadata: Path) -> Distribution | None:
    try:
        fields = read_fields(read_start(metadata, MAX_METADATA))
        project = project_name(fields.get("name", ""))
    except (OSError, ValueError):
        return None
    if not (version := fields.get("version")):
        return None
    folder = metadata.parent if metadata.name == "METADATA" else None
    origin, is_source_tree = _origin_in(folder) if folder else (None, False)
    return Distribution(
        project=project,
        version=_version_with_label(version, origin),
        requires_dist=tuple(fields.get("requires_dist", ())),
        folder=folder,
        origin=origin,
        is_source_tree=is_source_tree,
    )


def _origin_in(folder: Path) -> tuple[str | None, bool]:
    """The URL in ``direct_url.json``, and True if it is a folder's; None if the file is missing or malformed."""
    try:
        origin = json.loads(read_start(folder / "direct_url.json", MAX_METADATA))
        return str(origin["url"]), "dir_info" in origin
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None, False


def _version_with_label(written: str, origin: str | None) -> str:
    """Normalize a version (PEP 440), with the local label from its wheel's URL if METADATA has none."""
    version, named = version_or_none(written), wheel_behind(origin or "")  # None if it came from an index or a folder
    if version is None:
        return written
    return str(named.version if named and named.version.public == str(version) else version)


_MODULES: Final = """
import importlib.metadata, json, sys
own = importlib.metadata.distribution(sys.argv[1]).metadata["Name"]
found = importlib.metadata.packages_distributions().items()
print(json.dumps(sorted(name for name, owners in found if own in owners and name.isidentifier())))
"""


def modules_of(interpreter: Path, project: ProjectName) -> tuple[str, ...]:
    """The top-level modules of an installed project."""
    try:
        return tuple(ask(interpreter, _MODULES, project))
    except ProcessError:
        raise UsageError("not-installed", f"{project} is not installed for {interpreter}") from None


class ChangeKind(StrEnum):
    """Kinds of package change, as shown to users and in JSON."""

    INSTALLED = "installed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    REPLACED = "replaced"
    """By another build of the same version."""
    REMOVED = "removed"


@dataclass(frozen=True, kw_only=True)
class InstalledPackage:
    """Package in an environment, now or after an installation."""

    version: str
    size: int | None
    """Bytes: unpacked if it is installed, else of its wheel; None when that is not known."""
    identity: int | None = None
    """Another number is another build; None is any."""


@dataclass(frozen=True, kw_only=True)
class PackageChange:
    """Change to one package of an environment."""

    project: ProjectName
    change: ChangeKind
    before: str | None
    """The version that is replaced or removed; None if it was not installed."""
    after: str | None
    """The version that is there afterwards; None if it is removed."""
    size: int | None
    """Bytes of the installed file, or of what is removed; None if not known."""

    @property
    def sign(self) -> str:
        """The mark that uv prints for it."""
        return {ChangeKind.INSTALLED: "+", ChangeKind.REMOVED: "-"}.get(self.change, "~")

    @property
    def versions(self) -> str:
        """Both versions, as in ``2.8.0 -> 2.9.0``, or the only one."""
        return " -> ".join(dict.fromkeys(filter(None, (self.before, self.after))))


def unrequired(
    removed: Sequence[ProjectName], named: Collection[ProjectName], installed: Mapping[ProjectName, Distribution]
) -> list[ProjectName]:
    """List the projects that can be uninstalled: the named ones, and of the others what nothing that stays requires."""
    gone = set(removed)
    while needed := gone & _requirements_of(installed[project] for project in installed.keys() - gone) - {*named}:
        gone -= needed
    return [project for project in removed if project in gone]


def _requirements_of(distributions: Iterable[Distribution]) -> set[ProjectName]:
    return {required_project(text) for each in distributions for text in each.requires_dist}


def packages_in(interpreter: Path) -> Mapping[ProjectName, InstalledPackage]:
    """Map every project that is installed for an interpreter to its package."""
    return {project: _package(each) for project, each in installed_in(interpreter).items()}


def _package(distribution: Distribution) -> InstalledPackage:
    try:
        record = distribution.folder.joinpath("RECORD").read_bytes() if distribution.folder else b""
        size = sum(row.size or 0 for row in read_rows(record)) if record else None
    except (OSError, UnreadableError):
        return InstalledPackage(version=distribution.version, size=None)
    return InstalledPackage(
        version=distribution.version, size=size, identity=crc32(record + str(distribution.origin).encode())
    )


def compare_packages(
    before: Mapping[ProjectName, InstalledPackage], after: Mapping[ProjectName, InstalledPackage]
) -> Iterator[PackageChange]:
    """Yield the changes between two states of an environment, sorted by name."""
    for project in sorted({*before, *after}):
        old, new = before.get(project), after.get(project)
        if change := _change_of(old, new):
            yield PackageChange(
                project=project,
                change=change,
                before=old.version if old else None,
                after=new.version if new else None,
                size=new.size if new else old.size if old else None,
            )


def _change_of(old: InstalledPackage | None, new: InstalledPackage | None) -> ChangeKind | None:
    if new is None:
        return ChangeKind.REMOVED
    if old is None:
        return ChangeKind.INSTALLED
    if old.version == new.version:
        is_other = None not in (old.identity, new.identity) and old.identity != new.identity
        return ChangeKind.REPLACED if is_other else None
    before, after = version_or_none(old.version), version_or_none(new.version)
    if before is None or after is None:
        return ChangeKind.REPLACED
    return ChangeKind.UPGRADED if before < after else ChangeKind.DOWNGRADED


_FOLDERS: Final = """
import json, os, site, sys, sysconfig
paths = sysconfig.get_paths()
folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
if sys.prefix == sys.base_prefix and not os.access(paths["purelib"], os.W_OK):
    paths = sysconfig.get_paths(os.name + "_user")
    folders = [paths["purelib"], paths["platlib"]]
shared = [os.path.join(paths["data"], name) for name in ("share", "etc", "include")]
print(json.dumps([paths["data"], sys.prefix != sys.base_prefix, [*folders, paths["scripts"], *shared]]))
"""
"""As pip does, an interpreter that a user may not write for has its packages in the user's own folders.

https://docs.python.org/3/library/sysconfig.html#installation-paths
"""

_VERSION: Final = "import json, platform; print(json.dumps(platform.python_version()))"


@dataclass(frozen=True, kw_only=True)
class InstallPlace:
    """Folders that an installer changes."""

    base: Path
    """The folder that has all of it."""
    trees: tuple[Path, ...]
    """The folders that are written to: just that one, if it is a virtual environment."""
    interpreter: Path
    """Interpreter of that environment, which may not exist yet."""

    @property
    def is_virtual(self) -> bool:
        """True for a virtual environment, which is one folder."""
        return self.trees == (self.base,)

    def __str__(self) -> str:
        """Its folder and Python, for people."""
        return f"{self.base}, Python {ask(self.interpreter, _VERSION)}"

    @classmethod
    def of_environment(cls, folder: Path) -> InstallPlace:
        """The place of an environment's folder, which need not exist yet."""
        python = python_of(folder)
        if python.exists() and not (folder / "pyvenv.cfg").exists():  # a conda environment
            return cls.of_interpreter(python)
        return cls(base=folder, trees=(folder,), interpreter=python)

    @classmethod
    def of_interpreter(cls, interpreter: Path) -> InstallPlace:
        """The place that an installer writes to for an interpreter."""
        try:
            base, virtual, folders = ask(interpreter, _FOLDERS)
        except ProcessError as error:
            raise UsageError(
                "places-unknown", f"{interpreter} cannot say where packages are installed:\n{error.tail}"
            ) from None
        trees = (Path(base),) if virtual else tuple(map(Path, dict.fromkeys(folders)))
        return cls(base=Path(base), trees=trees, interpreter=interpreter)
