"""Contents of a source's ``pyproject.toml`` (PEP 518, PEP 621), read without running any of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from pydantic import TypeAdapter

from wheelmill.config.fields import index_requirement
from wheelmill.config.model.package_parts import projects_of
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, ProjectVersion, project_name, project_version

PYPROJECT: Final = "pyproject.toml"
PKG_INFO: Final = "PKG-INFO"
MAX_BYTES: Final = 1 << 20

_VERSION_TOOLS: Final = frozenset({"setuptools-scm", "hatch-vcs", "poetry-dynamic-versioning"})
"""Tools that read the version from git, beside pdm-backend."""

Word = TypeVar("Word")

_TEXTS: Final = TypeAdapter(list[str])


@dataclass(frozen=True, kw_only=True)
class Pyproject:
    """The file of one source."""

    origin: str
    """The source, as errors name it."""
    tables: Mapping[str, Any]

    @classmethod
    def parse(cls, content: bytes, origin: str) -> Self:
        """Read the bytes of a file."""
        try:
            return cls(origin=origin, tables=tomllib.loads(content.decode()))
        except (ValueError, RecursionError) as error:
            raise UsageError("not-toml", f"the {PYPROJECT} of {origin} is not TOML: {error}") from None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the file in a folder; a missing file is an empty one."""
        path = folder / PYPROJECT
        if path.is_symlink() or not path.is_file():
            return cls(origin=folder.name, tables={})
        with path.open("rb") as file:
            return cls.parse(file.read(MAX_BYTES), folder.name)

    @property
    def requires(self) -> tuple[str, ...]:
        """``build-system.requires``; empty if absent. The lock adds `EVERY_BUILD_NEEDS`."""
        return self._requirements("build-system", "requires", "its build requires")

    @property
    def dependencies(self) -> tuple[str, ...]:
        """``project.dependencies``; empty if the build may change them (PEP 621), or if they cannot be read."""
        with suppress(LookupError, TypeError, AttributeError, UsageError):
            if "dependencies" not in self.tables["project"].get("dynamic", ()):
                return self._requirements("project", "dependencies", "it depends on")
        return ()

    def _requirements(self, table: str, key: str, what: str) -> tuple[str, ...]:
        try:
            texts = _TEXTS.validate_python(self.tables.get(table, {}).get(key, []))
            return tuple(sorted({index_requirement(text) for text in texts}))
        except (ValueError, AttributeError) as error:
            raise UsageError(
                "pyproject-invalid", f"the {PYPROJECT} of {self.origin} does not say what {what}: {error}"
            ) from None

    @property
    def name(self) -> ProjectName | None:
        """``project.name``; None if absent."""
        return self._read("name", project_name)

    @property
    def version(self) -> ProjectVersion | None:
        """``project.version``; None if the build computes it."""
        return self._read("version", project_version)

    @property
    def is_versioned_by_tags(self) -> bool:
        """True if the build reads the version from git, with a tool for which a build sets it."""
        if self.version:
            return False
        with suppress(LookupError, TypeError):
            if self.tables["tool"]["pdm"]["version"]["source"] == "scm":
                return True
        return not _VERSION_TOOLS.isdisjoint(projects_of(self.requires))

    def _read(self, key: str, parse: Callable[[str], Word]) -> Word | None:
        table = self.tables.get("project")
        value = table.get(key) if isinstance(table, dict) else None
        try:
            return parse(value) if isinstance(value, str) else None
        except ValueError:
            return None
