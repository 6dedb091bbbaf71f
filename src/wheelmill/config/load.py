"""Reading a ``config/`` folder: all of it is right, or every fault is named."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from wheelmill import resources
from wheelmill.config.document import KeyPath, read_document
from wheelmill.config.records import (
    Compatibility,
    Config,
    CudaRelease,
    Lock,
    LockedSdist,
    Package,
    TorchRelease,
)
from wheelmill.config.schema import (
    CompatibilityFile,
    CudaEntry,
    LockFile,
    PackageEntry,
    PackagesFile,
    SdistEntry,
    TorchEntry,
)
from wheelmill.errors import ConfigurationError
from wheelmill.names import ProjectName

PACKAGES: Final = "packages.yml"
COMPATIBILITY: Final = "compatibility.yml"
LOCK: Final = "packages.lock"

File = TypeVar("File", bound=BaseModel)


def load_config(directory: Path) -> Config:
    """Read a configuration folder.

    Only ``packages.yml`` must be there: the facts in ``compatibility.yml`` ship with wheelmill, and a missing
    ``packages.lock`` locks nothing.

    Raises:
        ConfigurationError: with every fault of every file.
    """
    faults: list[str] = []
    packages = _read(directory / PACKAGES, PackagesFile, faults)
    own_facts = directory / COMPATIBILITY
    facts = _read(own_facts if own_facts.exists() else resources.CONFIG / COMPATIBILITY, CompatibilityFile, faults)
    locked = _read(directory / LOCK, LockFile, faults) if (directory / LOCK).exists() else LockFile(sdists={})
    if packages is None or facts is None or locked is None:
        raise ConfigurationError(tuple(faults))
    return Config(
        directory=directory,
        packages={name: _package(name, entry, directory) for name, entry in packages.packages.items()},
        compatibility=_compatibility(facts),
        lock=_lock(locked),
    )


def _read(path: Path, file_type: type[File], faults: list[str]) -> File | None:
    """Read one file; its faults are added to those of the others."""
    try:
        document = read_document(path)
    except ConfigurationError as error:
        faults.extend(error.faults)
        return None
    try:
        return file_type.model_validate(document.content, context=path.parent)
    except ValidationError as error:
        explained = sorted(map(_explained, error.errors()), key=lambda fault: document.position_of(fault[0]))
        faults.extend(document.fault(*fault) for fault in explained)
        return None


def _explained(problem: ErrorDetails) -> tuple[KeyPath, str]:
    """Say in the words of the file what pydantic says in its own."""
    key_path = tuple(part for part in problem["loc"] if part != "[key]")
    value = problem["input"]
    match problem["type"]:
        case "missing":
            message = "is required"
        case "extra_forbidden":
            message = "is not a key here" + _did_you_mean(str(key_path[-1]))
        case "value_error":
            message = str(problem["ctx"]["error"])
        case "string_type":
            message = f"expected text, not {_shown(value)}"
        case "list_type":
            message = f"expected a list, not {_shown(value)}"
        case "dict_type" | "model_type" | "model_attributes_type":
            message = f"expected keys and values, not {_shown(value)}"
        case "too_short":
            message = "expected at least one item"
        case _:
            message = problem["msg"]
    return key_path, message


def _shown(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "keys and values"
        case list():
            return "a list"
        case _:
            return repr(value)


def _did_you_mean(key: str) -> str:
    close = difflib.get_close_matches(key.lower(), _KNOWN_KEYS, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


_KNOWN_KEYS: Final = sorted(
    {
        key
        for entry in (PackagesFile, PackageEntry, CompatibilityFile, CudaEntry, TorchEntry, SdistEntry)
        for key in entry.model_fields
    }
)


def _package(name: ProjectName, entry: PackageEntry, directory: Path) -> Package:
    return Package(
        name=name,
        versions=tuple(entry.versions),
        build_arguments=entry.build_args,
        extra_deps=tuple(entry.extra_deps),
        env=tuple(sorted(entry.env.items())),
        architectures=tuple(entry.architectures),
        test_import=entry.test_import or name.replace("-", "_"),
        description=entry.description,
        source=directory / entry.source if entry.source else None,
    )


def _compatibility(file: CompatibilityFile) -> Compatibility:
    return Compatibility(
        checked=min(file.cuda.checked, file.torch.checked),
        cuda={
            version: CudaRelease(
                toolkit=entry.toolkit,
                architectures=frozenset(architecture.capability for architecture in entry.architectures),
            )
            for version, entry in file.cuda.releases.items()
        },
        torch={
            version: TorchRelease(release=entry.release, cuda=frozenset(entry.cuda), python=frozenset(entry.python))
            for version, entry in file.torch.releases.items()
        },
        platforms=tuple(file.platforms),
    )


def _lock(file: LockFile) -> Lock:
    return Lock(
        sdists={
            (name, version): LockedSdist(filename=entry.sdist, sha256=entry.sha256)
            for name, versions in file.sdists.items()
            for version, entry in versions.items()
        }
    )
