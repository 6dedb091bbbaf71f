"""Installed packages of an interpreter, where installers write them, and how a change alters them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from packaging.version import InvalidVersion, Version

from wheelmill.client.target.interpreter import python_of
from wheelmill.errors import ProcessError, UnreadableError, UsageError
from wheelmill.names import ProjectName, TorchNeed, project_name
from wheelmill.system import process
from wheelmill.wheel.alias import stands_for
from wheelmill.wheel.archive import MAX_DISTRIBUTIONS, MAX_METADATA
from wheelmill.wheel.label import BuiltFor, needed_torch
from wheelmill.wheel.metadata import read_fields
from wheelmill.wheel.name import wheel_behind
from wheelmill.wheel.record import read_rows


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """What is installed of one project."""

    project: ProjectName
    version: str
    requires_dist: tuple[str, ...] = ()
    """As its METADATA has it."""
    folder: Path | None = None
    """Its ``.dist-info``; None where an older form keeps what is known of it."""
    origin: str | None = None
    """The URL that it was installed from (PEP 610); None for what came from an index."""

    @property
    def stands_for(self) -> ProjectName | None:
        """The project that it is an alias of."""
        return stands_for(self.version, self.requires_dist)

    @property
    def label(self) -> BuiltFor:
        """What its version says that it was built for; nothing for an alias, whose wheel says it."""
        return BuiltFor() if self.stands_for else BuiltFor.of_installed(self.version)

    @property
    def torch(self) -> TorchNeed | None:
        """What it needs of torch: as its version says; where that says only CUDA, as its METADATA does."""
        return self.label.torch or (needed_torch(self.requires_dist) if self.label.cuda_major else None)


def versions_in(interpreter: Path) -> dict[ProjectName, str]:
    """The version of everything that an interpreter can import, by project; see `installed_in`.

    Raises:
        UsageError: the interpreter does not run.
    """
    return {project: each.version for project, each in installed_in(interpreter).items()}


def installed_in(interpreter: Path) -> dict[ProjectName, Distribution]:
    """Everything that an interpreter can import, by project: of two with one name, the one that Python imports.

    Raises:
        UsageError: the interpreter does not run.
    """
    return {each.project: each for each in reversed(distributions_of(interpreter))}


def distributions_of(interpreter: Path) -> list[Distribution]:
    """Every distribution that an interpreter finds, those too that another one of the same name hides."""
    try:
        path = ask(interpreter, "import json, sys; print(json.dumps(sys.path))")
    except ProcessError as error:
        raise UsageError(
            "installed-unreadable", f"{interpreter} cannot list what is installed:\n{error.tail}"
        ) from None
    return read_distributions(Path(entry) for entry in path if entry)


def read_distributions(path: Iterable[Path]) -> list[Distribution]:
    """Read what is installed in folders; what has no name that could be one, or no version, is left out.

    A version has the local label of the wheel's file name, where its URL was kept (PEP 610): flash-attn's own wheels,
    among others, are renamed after they are built, so that their METADATA does not say what they were built for.

    Args:
        path: the folders in the order in which Python looks for modules in them.
    """
    return [found for folder in dict.fromkeys(path) for each in _metadata_in(folder) if (found := _read(each))]


def _metadata_in(folder: Path) -> list[Path]:
    """The files with the metadata of distributions; an ``.egg-info`` may itself be one."""
    try:
        entries = sorted(each for each in folder.iterdir() if each.suffix in (".dist-info", ".egg-info"))
    except OSError:  # a zip, or a folder that is not there
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
    origin = _origin_in(folder) if folder else None
    return Distribution(
        project=project,
        version=_version_with_label(version, origin),
        requires_dist=tuple(fields.get("requires_dist", ())),
        folder=folder,
        origin=origin,
    )


def read_start(path: Path, most: int) -> bytes:
    """Read a file, but of a longer one no more than shows that it is."""
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(most + 1)


def _origin_in(folder: Path) -> str | None:
    """The URL in ``direct_url.json``; None where it is not there, or anything that somebody wrote."""
    try:
        origin = json.loads(read_start(folder / "direct_url.json", MAX_METADATA))
        return str(origin["url"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _version_with_label(written: str, origin: str | None) -> str:
    """The version of a distribution, with what the URL of its wheel tells beyond METADATA; normalized (PEP 440)."""
    try:
        version = Version(written)
    except InvalidVersion:
        return written
    named = wheel_behind(origin or "")  # None for what is from an index, or from a folder
    return str(named.version if named and named.version.public == str(version) else version)


_MODULES: Final = """
import importlib.metadata, json, sys
own = importlib.metadata.distribution(sys.argv[1]).metadata["Name"]
found = importlib.metadata.packages_distributions().items()
print(json.dumps(sorted(name for name, owners in found if own in owners and name.isidentifier())))
"""


def modules_of(interpreter: Path, project: ProjectName) -> tuple[str, ...]:
    """The top-level modules that an installed project brings."""
    try:
        return tuple(ask(interpreter, _MODULES, project))
    except ProcessError:
        raise UsageError("not-installed", f"{project} is not installed for {interpreter}") from None


def ask(interpreter: Path, code: str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Run code of ours by an interpreter, and read the JSON that it prints last: what starts with it may print, too."""
    command = [str(interpreter.absolute()), "-I", "-c", code, *arguments]
    return json.loads(process.run(command, env=process.environment_for_foreign_code()).splitlines()[-1])


class ChangeKind(StrEnum):
    """What happens to a package: the words for people and in JSON."""

    INSTALLED = "installed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    REPLACED = "replaced"
    """By another build of the same version."""
    REMOVED = "removed"


@dataclass(frozen=True, kw_only=True)
class InstalledPackage:
    """A package in an environment, or one that will be."""

    version: str
    size: int | None
    """Bytes: unpacked if it is installed, else of its wheel; None when that is not known."""
    identity: int | None = None
    """Another number is another build; None is any."""


@dataclass(frozen=True, kw_only=True)
class PackageChange:
    """What happens to one package."""

    project: ProjectName
    kind: ChangeKind
    before: str | None
    """The version that is replaced or removed."""
    after: str | None
    """The version that is there afterwards."""
    size: int | None
    """Bytes of what comes; of a package that is removed, of what goes."""

    @property
    def sign(self) -> str:
        """The mark that uv uses for it."""
        return {ChangeKind.INSTALLED: "+", ChangeKind.REMOVED: "-"}.get(self.kind, "~")

    @property
    def versions(self) -> str:
        """``2.8.0 -> 2.9.0``, or the only one."""
        return " -> ".join(dict.fromkeys(filter(None, (self.before, self.after))))


def packages_in(interpreter: Path) -> Mapping[ProjectName, InstalledPackage]:
    """Everything that is installed for an interpreter.

    Raises:
        UsageError: it does not run.
    """
    return {each.project: _package(each) for each in reversed(distributions_of(interpreter))}


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
) -> tuple[PackageChange, ...]:
    """The changes between two states of an environment, by name."""
    return tuple(_changes(before, after))


def _changes(
    before: Mapping[ProjectName, InstalledPackage], after: Mapping[ProjectName, InstalledPackage]
) -> Iterator[PackageChange]:
    for project in sorted({*before, *after}):
        old, new = before.get(project), after.get(project)
        if kind := _kind_of(old, new):
            yield PackageChange(
                project=project,
                kind=kind,
                before=old.version if old else None,
                after=new.version if new else None,
                size=(new or old or InstalledPackage(version="", size=None)).size,
            )


def _kind_of(old: InstalledPackage | None, new: InstalledPackage | None) -> ChangeKind | None:
    if new is None:
        return ChangeKind.REMOVED
    if old is None:
        return ChangeKind.INSTALLED
    if old.version == new.version:
        return (
            ChangeKind.REPLACED if None not in (old.identity, new.identity) and old.identity != new.identity else None
        )
    try:
        return ChangeKind.UPGRADED if Version(old.version) < Version(new.version) else ChangeKind.DOWNGRADED
    except InvalidVersion:
        return ChangeKind.REPLACED


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


@dataclass(frozen=True, kw_only=True)
class InstallPlace:
    """What an installer changes."""

    base: Path
    """The folder that has all of it."""
    trees: tuple[Path, ...]
    """The folders that are written to: just that one, if it is a virtual environment."""
    interpreter: Path
    """Of that environment; it need not be there yet."""

    @classmethod
    def of_environment(cls, folder: Path) -> InstallPlace:
        """A folder that is an environment, or becomes one.

        Raises:
            UsageError: its interpreter does not run.
        """
        python = python_of(folder)
        if python.exists() and not (folder / "pyvenv.cfg").exists():  # conda's
            return cls.of_interpreter(python)
        return cls(base=folder, trees=(folder,), interpreter=python)

    @classmethod
    def of_interpreter(cls, interpreter: Path) -> InstallPlace:
        """What is written when something is installed for an interpreter.

        Raises:
            UsageError: it does not run.
        """
        try:
            base, virtual, folders = ask(interpreter, _FOLDERS)
        except ProcessError as error:
            raise UsageError(
                "places-unknown", f"{interpreter} cannot say where packages are installed:\n{error.tail}"
            ) from None
        trees = (Path(base),) if virtual else tuple(map(Path, dict.fromkeys(folders)))
        return cls(base=Path(base), trees=trees, interpreter=interpreter)
