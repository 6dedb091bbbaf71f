"""What is installed for an interpreter."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import ProjectName, TorchNeed, project_name
from wheelmill.system import process
from wheelmill.wheel.alias import stands_for
from wheelmill.wheel.archive import MAX_DISTRIBUTIONS, MAX_METADATA
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.metadata import read_fields
from wheelmill.wheel.name import wheel_behind
from wheelmill.wheel.torch_need import needed_torch


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
    """Every distribution that an interpreter finds, those too that another one of the same name hides.

    Raises:
        UsageError: the interpreter does not run.
    """
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
    """Read a file, but of a longer one no more than shows that it is.

    Raises:
        OSError: it is not there, or is no file, such as a pipe.
    """
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
    """The top-level modules that an installed project brings.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return tuple(ask(interpreter, _MODULES, project))
    except ProcessError:
        raise UsageError("not-installed", f"{project} is not installed for {interpreter}") from None


def ask(interpreter: Path, code: str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Run code of ours by an interpreter, and read the JSON that it prints last: what starts with it may print, too."""
    command = [str(interpreter.absolute()), "-I", "-c", code, *arguments]
    return json.loads(process.run(command, env=process.environment_for_foreign_code()).splitlines()[-1])
