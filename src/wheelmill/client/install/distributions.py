"""What is installed for an interpreter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import ProjectName, TorchNeed
from wheelmill.system import process
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.torch_need import needed_torch

_DISTRIBUTIONS: Final = """
import importlib.metadata, json
found = [
    (each.metadata["Name"], each.metadata["Version"], each.read_text("direct_url.json"), each.requires or [])
    for each in importlib.metadata.distributions()
]
print(json.dumps([each for each in found if each[0] and each[1]]))
"""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """What is installed of one project."""

    project: ProjectName
    version: str
    requires_dist: tuple[str, ...] = ()
    """As its METADATA has it."""

    @property
    def label(self) -> BuiltFor:
        """What its version says that it was built for."""
        return BuiltFor.of_installed(self.version)

    @property
    def torch(self) -> TorchNeed | None:
        """What it needs of torch: as its version says; where that says only CUDA, as its METADATA does."""
        return self.label.torch or (needed_torch(self.requires_dist) if self.label.cuda_major else None)


def versions_in(interpreter: Path) -> dict[ProjectName, str]:
    """The version of everything that an interpreter can import, by project; see `distributions_of`.

    Raises:
        UsageError: the interpreter does not run.
    """
    # The first that is found of a name is the one that Python imports.
    return {each.project: each.version for each in reversed(distributions_of(interpreter))}


def distributions_of(interpreter: Path) -> list[Distribution]:
    """Every distribution, those too that another one of the same name hides.

    A version has the local label of the wheel's file name, where its URL was kept (PEP 610): flash-attn's own wheels,
    among others, are renamed after they are built, so that their METADATA does not say what they were built for.

    Raises:
        UsageError: the interpreter does not run.
    """
    try:
        found = ask(interpreter, _DISTRIBUTIONS)
    except ProcessError as error:
        raise UsageError(f"{interpreter} cannot list what is installed:\n{error.tail}") from None
    return [
        Distribution(
            project=canonicalize_name(name), version=_version_with_label(version, origin), requires_dist=tuple(requires)
        )
        for name, version, origin, requires in found
    ]


def _version_with_label(written: str, origin: str | None) -> str:
    """The version of a distribution, with what its ``direct_url.json`` tells beyond METADATA; normalized (PEP 440)."""
    try:
        version = Version(written)
    except InvalidVersion:
        return written
    try:
        filename = unquote(urlsplit(json.loads(origin or "{}")["url"]).path).rpartition("/")[2]
        named = WheelName.parse(filename).version
    except (ValueError, KeyError, TypeError):  # from an index, from a folder, or anything that somebody wrote there
        return str(version)
    return str(named if named.public == str(version) else version)


_MODULES: Final = """
import importlib.metadata, json, sys
own = importlib.metadata.distribution(sys.argv[1]).metadata["Name"]
found = importlib.metadata.packages_distributions().items()
print(json.dumps(sorted(name for name, owners in found if own in owners and name.isidentifier())))
"""


def modules_of(interpreter: Path, project: ProjectName) -> tuple[str, ...]:
    """The top-level modules that an installed project brings.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return tuple(ask(interpreter, _MODULES, project))
    except ProcessError:
        raise UsageError(f"{project} is not installed for {interpreter}") from None


_LIBRARIES: Final = """
import importlib.metadata, json, sys
def libraries_of(project):
    files = importlib.metadata.distribution(project).files or ()
    return [str(file.locate()) for file in files if ".so" in file.suffixes]
print(json.dumps({project: libraries_of(project) for project in sys.argv[1:]}))
"""


def libraries_of(interpreter: Path, projects: Iterable[ProjectName]) -> Mapping[ProjectName, tuple[Path, ...]]:
    """The shared objects that installed projects bring.

    Raises:
        UsageError: one of them is not installed.
    """
    try:
        found = ask(interpreter, _LIBRARIES, *projects)
    except ProcessError as error:
        raise UsageError(f"{interpreter} cannot say where its libraries are:\n{error.tail}") from None
    return {project: tuple(map(Path, paths)) for project, paths in found.items()}


def ask(interpreter: Path, code: str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Run code of ours by an interpreter, and read the JSON that it prints last: what starts with it may print, too."""
    command = [str(interpreter.absolute()), "-I", "-c", code, *arguments]
    return json.loads(process.run(command, env=process.environment_for_foreign_code()).splitlines()[-1])
