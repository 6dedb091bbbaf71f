"""Projects managed by uv, PDM, Hatch or Poetry.

uv projects may be members of a workspace. Hatch installs the dependencies of ``[project]`` whenever one of its
environments is used. Poetry has dependencies under ``[project]`` or, as before Poetry 2, under ``[tool.poetry]``, with
specifiers of its own.

https://docs.astral.sh/uv/concepts/projects/sync/
https://docs.astral.sh/uv/concepts/projects/workspaces/
https://pdm-project.org/en/stable/usage/lockfile/
https://pdm-project.org/en/stable/usage/config/#configure-the-package-indexes
https://hatch.pypa.io/latest/config/environment/overview/
https://python-poetry.org/docs/pyproject/
https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, InlineTable, String

from wheelmill.client.environment.detect import declared_request, find_interpreter, python_in
from wheelmill.client.environment.interpreter import is_virtual
from wheelmill.client.install.installer import installer_for
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.pins import Index, Pin
from wheelmill.client.project.change import Edit
from wheelmill.client.project.pyproject import (
    EXTRAS,
    GROUPS,
    OURS,
    PROJECT_LIST,
    IndexTables,
    PyprojectEditor,
    UvPyproject,
)
from wheelmill.client.project.toml_tables import TomlTables, listed, set_key
from wheelmill.client.project.tool_project import LockedProject, ToolProject, read_tool_lock
from wheelmill.client.records import Resolution
from wheelmill.errors import ProcessError, UsageError
from wheelmill.installers.uv import installer_environment, run_installer
from wheelmill.names import TORCH, ProjectName, read_requirement
from wheelmill.system import process
from wheelmill.system.files import read_bounded
from wheelmill.system.progress import Progress


def specifiers_of(constraint: str) -> str:
    """Translate Poetry's ``^2.7``, ``~2.7``, ``2.7.*``, ``*``, ``>=2.7,<3`` or ``2.7`` to PEP 440; ``*`` is empty."""
    if "|" in constraint:
        raise ValueError(f"{constraint!r} has alternatives, which version specifiers cannot express")
    try:
        return str(SpecifierSet(",".join(_specifier_of(part.strip()) for part in constraint.split(","))))
    except (InvalidSpecifier, InvalidVersion):
        raise ValueError(f"expected a version constraint, not {constraint!r}") from None


def _specifier_of(part: str) -> str:
    if part == "*":
        return ""
    if part[:1].isdigit():
        return f"=={part}"
    if not part.startswith(("^", "~")) or part.startswith("~="):
        return part
    version = Version(part[1:].strip())
    release = version.release
    place = min(1, len(release) - 1)
    if part.startswith("^"):
        place = next((place for place, number in enumerate(release) if number), len(release) - 1)
    upper = ".".join(map(str, (*release[:place], release[place] + 1)))
    return f">={version},<{upper}"


@dataclass(frozen=True, kw_only=True)
class UvProject(LockedProject):
    """Folder with a ``pyproject.toml`` that uv manages; see `Project`."""

    uv: Path
    workspace: Path | None = None
    """The folder of the workspace that it is a member of."""

    pyproject = UvPyproject
    lock_name = "uv.lock"
    tool = "uv"
    lock_arguments = ("lock",)
    install_arguments = ("sync", "--inexact")
    makes_environment_to_lock = False

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return "uv workspace member" if self.workspace else "uv project"

    @property
    def program(self) -> str:
        """The path of uv."""
        return str(self.uv)

    @property
    def root(self) -> Path:
        """The folder of its lock: the workspace's, else its own."""
        return self.workspace or self.path.parent

    @property
    def environment(self) -> Path:
        """The folder in ``UV_PROJECT_ENVIRONMENT``, else the ``.venv`` of the root."""
        return self.root / (os.environ.get("UV_PROJECT_ENVIRONMENT") or ".venv")

    @property
    def own_python(self) -> Path | None:
        """The interpreter of its environment."""
        return python_in(self.environment)

    def find_python(self) -> Path | None:
        """The interpreter that uv takes."""
        return self.python or find_interpreter(self.path.parent, self.environment)

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        tables = self._read()
        if tables.table("tool", "uv", "workspace") is not None and tables.table("project") is None:
            raise UsageError(
                "workspace-without-project",
                f"{self.path} is a workspace without a project of its own",
                hint="name one of its members with --project",
            )
        return super().add(asked, resolutions)

    def _run(self, progress: Progress, *arguments: str | Path) -> None:
        command, *options = arguments
        declared_request(self.path.parent)  # uv would start a path
        run_installer([self.uv, command, "--directory", self.path.parent, *options], progress)

    def _options(self, resolutions: Sequence[Resolution], *, offline: bool, locks: bool) -> list[str]:
        """Also name a Python outside the project's own environment, and refresh pages from before a publication."""
        options = super()._options(resolutions, offline=offline, locks=locks) + ["--offline"] * offline
        for resolution in resolutions[:1]:
            interpreter = resolution.environment.interpreter
            if not (interpreter.is_relative_to(self.environment) if interpreter else locks):
                options += ["--python", str(interpreter or resolution.environment.python)]
        if locks and not offline:
            chosen = {choice.candidate.project for each in resolutions for choice in each.choices.values()}
            options += [word for each in sorted(chosen) for word in ("--refresh-package", each)]
        return options


def is_made_by_uv(environment: Path) -> bool:
    """True if uv created an environment: it writes its version into ``pyvenv.cfg``."""
    return is_virtual(environment) and b"\nuv = " in read_bounded(environment / "pyvenv.cfg")


def find_workspace(folder: Path) -> Path | None:
    """The folder of the uv workspace with a project's folder as a member; None if there is none."""
    for above in folder.parents:
        path = above / "pyproject.toml"
        workspace = TomlTables.read(path).table("tool", "uv", "workspace") if path.exists() else None
        if workspace is not None:
            members = _folders(path, workspace, "members") - _folders(path, workspace, "exclude")
            return above if folder in members else None
    return None


def _folders(path: Path, workspace: Mapping[str, Any], key: str) -> set[Path]:
    """The folders that match patterns in a workspace's table."""
    try:
        # str.strip rejects non-strings, and returns plain strings for glob to intern, unlike tomlkit's.
        patterns = map(str.strip, workspace.get(key, ()))
        return {each for pattern in patterns for each in path.parent.glob(pattern)}
    except (TypeError, ValueError, NotImplementedError) as error:
        raise UsageError(
            "workspace-invalid", f"{path}: tool.uv.workspace.{key}: expected patterns of folders: {error}"
        ) from None


class PdmPyproject(PyprojectEditor):
    """``pyproject.toml`` of a PDM project, whose indexes list their own packages."""

    names_indexes = True

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Add indexes for a project only, and remove those that were added for it before."""
        wanted = {pin.index.url: pin.index for pin in pins if pin.index}
        sources = self.array_of_tables("tool", "pdm", "source")
        for place in reversed(range(len(sources))):
            source = sources[place]
            if project in listed(source.get("include_packages")) and source.get("url") in wanted:
                del wanted[source["url"]]
            elif str(source.get("name")).startswith(OURS) and source.get("include_packages") == [project]:
                del sources[place]
        if not sources:
            self.prune("tool", "pdm", "source")
        for index in wanted.values():
            added = tomlkit.table()
            added.update(
                {"name": index.name, "url": index.url, "include_packages": [project], "exclude_packages": ["*"]}
            )
            pdm = self.make_table("tool", "pdm")
            if "source" not in pdm:
                pdm["source"] = tomlkit.aot()
            pdm["source"].append(added)

    def has_source_by_hand(self, project: ProjectName, pins: Sequence[Pin]) -> bool:  # noqa: ARG002 - for every machine
        """True if the user set a project's source."""
        sources = self.array_of_tables("tool", "pdm", "source")
        named = [str(each.get("name")) for each in sources if project in listed(each.get("include_packages"))]
        return any(not name.startswith(OURS) for name in named)


@dataclass(frozen=True, kw_only=True)
class PdmProject(LockedProject):
    """Folder with a ``pyproject.toml`` and a ``pdm.lock``; see `Project`."""

    pyproject = PdmPyproject
    lock_name = "pdm.lock"
    tool = "pdm"
    lock_arguments = ("lock", "--update-reuse")
    extra_option = "--group"
    install_arguments = ("sync",)

    @property
    def files(self) -> tuple[Path, ...]:
        """Its own file, the lock, and PDM's record of its interpreter."""
        return (*super().files, self.root / ".pdm-python")

    @property
    def own_python(self) -> Path | None:
        """The interpreter in ``.pdm-python`` if it is that of a virtual environment, else that of the ``.venv``."""
        kept = self.root / ".pdm-python"
        named = Path(read_bounded(kept).decode(errors="replace").strip()) if kept.exists() else None
        is_kept = named and named.exists() and is_virtual(named.parent.parent)
        return named if is_kept else python_in(self.root / ".venv")

    def _options(self, resolutions: Sequence[Resolution], *, offline: bool, locks: bool) -> list[str]:
        """A lock keeps its selection of groups, so a new one is named beside these."""
        options = super()._options(resolutions, offline=offline, locks=False)
        known = read_tool_lock(self.lock).groups if locks and options else ()
        return options + [word for each in known if each != "default" for word in (self.group_option, each)]

    def make_environment(self, python: Path, progress: Progress) -> None:
        """Let PDM create the ``.venv``."""
        self._run(progress, "venv", "create", python)


def hatch_environments(folder: Path, *keys: str) -> Mapping[str, Any] | None:
    """The table of Hatch's environments, or one of them: in ``hatch.toml``, else in ``pyproject.toml``."""
    own = TomlTables.read(folder / "hatch.toml")
    if own.table("envs") is not None:
        return own.table("envs", *keys)
    return TomlTables.read(folder / "pyproject.toml").table("tool", "hatch", "envs", *keys)


@dataclass(frozen=True, kw_only=True)
class HatchProject(ToolProject):
    """Folder with environments of Hatch; see `Project`."""

    tool = "hatch"

    @cached_property
    def environment(self) -> Path | None:
        """Its default environment, which need not exist yet; None if hatch prints no path."""
        with installer_environment() as variables:
            argv = [self.program, "--no-color", "env", "find"]
            lines = process.run(argv, cwd=self.root, env=variables).splitlines()
        return Path(lines[-1]) if lines else None

    @property
    def own_python(self) -> Path | None:
        """The interpreter of the default environment."""
        return python_in(self.environment) if self.environment else None

    def check_install(self) -> None:
        """Refuse to install if hatch is missing, or is set to skip the project's dependencies."""
        super().check_install()
        default = hatch_environments(self.root, "default") or {}
        if default.get("skip-install") or default.get("detached"):
            raise UsageError(
                "hatch-skips-install",
                f"{self.path}: hatch leaves the project's dependencies out of its default environment (skip-install)",
                hint="remove skip-install, or give --no-sync",
            )

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels into its file; see `Project`."""
        for resolution in resolutions:
            if resolution.torch and resolution.torch_index and not resolution.environment.torch_release:
                raise UsageError(
                    "hatch-index-fixed",
                    f"{self.path}: hatch takes torch from PyPI only, and torch for CUDA "
                    f"{resolution.environment.cuda} is at {resolution.torch_index}",
                    hint="install that torch into hatch's environment first, or take another --cuda",
                )
        return super().add(asked, resolutions)

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache) -> None:  # noqa: ARG002 - hatch installs what the file says
        """Let hatch install missing packages; see `Project`."""
        run_installer([self.program, "--no-color", "run", "python", "-V"], cache.progress, cwd=self.root)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Uninstall projects, which hatch never does; see `Project`."""
        if python := self.own_python:
            installer_for(python, progress).uninstall(projects)


_DEPENDENCIES = ("tool", "poetry", "dependencies")
_WRITTEN = "torch-as-written"
"""The key of tool.wheelmill with the TOML of a dependency on torch."""


def _table_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Poetry's own table for a list of dependencies."""
    return ("tool", "poetry", "group", keys[-1], "dependencies") if keys[:-1] == GROUPS else _DEPENDENCIES


class PoetryPyproject(IndexTables):
    """``pyproject.toml`` of a Poetry project."""

    index_keys = ("tool", "poetry", "source")
    source_keys = _DEPENDENCIES
    source_word = "source"
    marker_word = "markers"
    explicit = MappingProxyType({"priority": "explicit"})

    @property
    def _is_old(self) -> bool:
        """True if the project's dependencies, without those of groups, are in Poetry's own table."""
        return "dependencies" not in (self.table("project") or {}) and self.table(*_DEPENDENCIES) is not None

    def _is_own(self, project: ProjectName) -> bool:
        """True if a dependency stands, or will stand, in a table of Poetry's own."""
        return self._is_table(self._keys_of(project))

    def _is_table(self, keys: tuple[str, ...]) -> bool:
        """True if Poetry's own table is in the place of a list; beside one it only has sources."""
        if keys[:-1] != GROUPS:
            return self._is_old and keys == PROJECT_LIST
        return keys[-1] not in (self.table(*GROUPS) or {}) and self.table(*_table_of(keys)) is not None

    def _named_lists(self) -> Iterator[tuple[str, ...]]:
        yield from super()._named_lists()
        yield from ((*GROUPS, name) for name in self.table("tool", "poetry", "group") or ())

    def _listed(self, keys: tuple[str, ...]) -> Iterator[tuple[int, Requirement]]:
        """Yield the dependencies of a list, only the name of one that PEP 508 cannot express."""
        if not self._is_table(keys):
            return super()._listed(keys)
        items = (self.table(*_table_of(keys)) or {}).items()
        return enumerate(Requirement(text) for name, value in items if name != "python" for text in _texts(name, value))

    def _sources_of(self, project: ProjectName) -> tuple[str, ...]:
        return _table_of(self._keys_of(project))

    def choose_list(self, keys: tuple[str, ...]) -> None:
        """Write new dependencies into a list; an extra of ``[project]`` needs that table."""
        if self._is_old and keys[:-1] == EXTRAS:
            raise self.unchangeable
        super().choose_list(keys)

    def dependencies_on(self, project: ProjectName) -> list[str]:
        """The dependencies on a project, in the form of PEP 508."""
        if not self._is_own(project):
            return super().dependencies_on(project)
        return [str(each) for each in self.requirements if canonicalize_name(each.name) == project]

    def write_dependencies(self, project: ProjectName, texts: Sequence[str]) -> None:
        """Replace all dependencies on a project."""
        if not self._is_own(project):
            super().write_dependencies(project, texts)
            return
        table, key = self.make_table(*self._sources_of(project)), self._source_key(project)
        values = [_constraint_of(Requirement(text), table.get(key)) for text in texts]
        if values:
            set_key(table, key, values[0] if len(values) == 1 else values)
        else:
            table.pop(key, None)

    def keep_torch_for(self, linked: Iterable[ProjectName]) -> None:
        """Also record the dependency on torch in Poetry's own syntax, because PEP 508 spells ``^2.0`` differently."""
        ours = self.make_table("tool", "wheelmill")
        torch = self._source_of(TORCH) if self._is_own(TORCH) else None
        if "torch-was" not in ours and isinstance(torch, String | InlineTable | Array):
            ours[_WRITTEN] = torch.as_string()
        super().keep_torch_for(linked)

    def release_torch(self, removed: Collection[ProjectName]) -> None:
        """Undo changes for wheels linked to torch; the user's own text is restored."""
        if TORCH in removed:
            self.prune("tool", "wheelmill", _WRITTEN)
        had = self._noted("torch-was")
        super().release_torch(removed)
        ours = self.table("tool", "wheelmill") or {}
        if "torch-for" in ours or _WRITTEN not in ours:
            return
        try:
            written = tomlkit.value(str(ours[_WRITTEN]))
        except TOMLKitError as error:
            raise UsageError(
                "saved-table-invalid", f"{self.path}: tool.wheelmill.{_WRITTEN}: expected a value of TOML: {error}"
            ) from None
        self.prune("tool", "wheelmill", _WRITTEN)
        if self.dependencies_on(TORCH) == had:
            self.make_table(*self._sources_of(TORCH))[self._source_key(TORCH)] = written
            self._drop_unused_indexes()

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Name the index in each entry of a project for a target of pins, and remove unused ones of wheelmill's."""
        if not self._is_own(project):
            super().draw_from(project, pins)
            self._keep_elsewhere(project, pins)
            return
        table, key = self.make_table(*self._sources_of(project)), self._source_key(project)
        had = table.get(key)
        holder: Any = had if isinstance(had, list) else table
        places = range(len(had)) if isinstance(had, list) else [key] if had is not None else []
        for place in places:
            entry = holder[place]
            marker = self._marker_of(entry)
            pin = next((pin for pin in pins if pin.counts_for(marker)), None)
            changed = self._set_source(entry, pin.index if pin else None) if pin or not pins else entry
            if changed is not entry:
                holder[place] = changed
        self._drop_unused_indexes()

    def _keep_elsewhere(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Keep a dependency on machines that its source is not for, where Poetry would leave it out."""
        entries, marker = self._source_entries(project), pins[0].marker if pins else None
        is_everywhere = any(Requirement(text).marker is None for text in self.dependencies_on(project))
        if (
            is_everywhere
            and marker
            and [pin.marker for pin in pins] == [each.get(self.marker_word) for each in entries]
        ):
            terms = (f"({term.replace(' and ', ' or ')})" for term in marker.replace("==", "!=").split(" or "))
            elsewhere = tomlkit.inline_table()
            elsewhere[self.marker_word] = " and ".join(terms)
            self._write_sources(project, [*entries, elsewhere])

    def _set_source(self, entry: object, index: Index | None) -> object:
        """Name the index in an entry, making a bare version a table; without an index, remove wheelmill's."""
        if not isinstance(entry, MutableMapping):
            if index is None:
                return entry
            version = str(entry)  # without the item's own comment
            entry = tomlkit.inline_table()
            entry["version"] = version
        if index:
            set_key(entry, self.source_word, self._index_named(index))
        elif str(entry.get(self.source_word, "")).startswith(OURS):
            del entry[self.source_word]
        return entry


@dataclass(frozen=True, kw_only=True)
class PoetryProject(LockedProject):
    """Folder with a ``pyproject.toml`` and a ``poetry.lock``; see `Project`."""

    pyproject = PoetryPyproject
    lock_name = "poetry.lock"
    tool = "poetry"
    lock_arguments = ("lock", "--no-interaction")
    extra_option = "--extras"
    install_arguments = ("install", "--no-interaction")
    group_option = "--with"

    def _run(self, progress: Progress, *arguments: str | Path) -> None:
        if self.lock.exists():
            self._unlock_removed_sources()
        super()._run(progress, *arguments)

    def _unlock_removed_sources(self) -> None:
        """Take packages of sources that the project has no longer out of its lock, which Poetry cannot read else."""
        named = {str(each.get("name")) for each in self._read().array_of_tables("tool", "poetry", "source")}
        locked = enumerate(read_tool_lock(self.lock).packages)
        gone = [place for place, each in locked if each.index.startswith(OURS) and each.index not in named]
        if gone:
            lock = tomlkit.parse(self.lock.read_bytes().decode())
            for place in reversed(gone):
                del lock["package"][place]
            Edit.of(self.lock, tomlkit.dumps(lock).encode()).write()

    @cached_property
    def own_python(self) -> Path | None:
        """The interpreter of the ``.venv``, which Poetry starts, else of ``poetry env info``; None if there is none."""
        if is_virtual(self.root / ".venv") and (python := python_in(self.root / ".venv")):
            return python
        try:
            with installer_environment() as variables:
                argv = [self.program, "env", "info", "--executable", "--no-ansi"]
                return Path(process.run(argv, cwd=self.root, env=variables).splitlines()[-1])
        except (ProcessError, IndexError):
            return None

    def make_environment(self, python: Path, progress: Progress) -> None:
        """Let Poetry create its environment."""
        self._run(progress, "env", "use", "--no-interaction", python)
        self.__dict__.pop("own_python", None)


def _texts(name: str, value: Any) -> list[str]:  # noqa: ANN401 - TOML
    """Translate a dependency of Poetry's own table to PEP 508; only its name if PEP 508 cannot express it."""
    texts = []
    for entry in value if isinstance(value, list) else [value]:
        table = entry if isinstance(entry, MutableMapping) else {"version": str(entry)}
        extras = f"[{','.join(table['extras'])}]" if table.get("extras") else ""
        marker = f" ; {table['markers']}" if table.get("markers") else ""
        try:
            place = f" @ {table['url']}" if "url" in table else specifiers_of(str(table.get("version", "*")))
            texts.append(str(read_requirement(f"{name}{extras}{place}{marker}")))
        except ValueError:
            texts.append(name)
    return texts


def _constraint_of(requirement: Requirement, had: object) -> object:
    """Translate a requirement to Poetry's own table, keeping keys of the old entry that it does not set."""
    table = tomlkit.inline_table()
    if requirement.url:
        table["url"] = requirement.url.partition("#")[0]  # Poetry keeps the hash in its lock alone
    else:
        table["version"] = str(requirement.specifier) or "*"
    if requirement.extras:
        table["extras"] = sorted(requirement.extras)
    if requirement.marker:
        table["markers"] = str(requirement.marker)
    if isinstance(had, MutableMapping):
        is_elsewhere = requirement.url or str(had.get("source", "")).startswith(OURS)
        kept = ("optional",) if is_elsewhere else ("optional", "source")
        table.update({key: had[key] for key in kept if key in had})
    return table if set(table) != {"version"} else table["version"]
