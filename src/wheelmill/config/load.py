"""Reading a ``config/`` folder: all of it is right, or every fault is named."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final, TypeVar

from packaging.specifiers import SpecifierSet
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from wheelmill import resources
from wheelmill.config.document import KeyPath, read_document
from wheelmill.config.records import (
    ArchVariable,
    Compatibility,
    Config,
    CudaRelease,
    GitSource,
    Lock,
    LockedCommit,
    LockedRequirement,
    LockedRequirements,
    LockedSdist,
    Package,
    Part,
    Rule,
    TorchRelease,
)
from wheelmill.config.schema import (
    CommitEntry,
    CompatibilityFile,
    CudaEntry,
    GitEntry,
    LockFile,
    PackageEntry,
    PackagesFile,
    PinEntry,
    RequirementsEntry,
    RuleEntry,
    SdistEntry,
    TorchEntry,
)
from wheelmill.errors import ConfigurationError
from wheelmill.names import ProjectName

PACKAGES: Final = "packages.yml"
COMPATIBILITY: Final = "compatibility.yml"
LOCK: Final = "packages.lock"

File = TypeVar("File", bound=BaseModel)
Item = TypeVar("Item")


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
    lock = _lock(locked)
    return Config(
        directory=directory,
        packages={name: _package(name, entry, directory, lock) for name, entry in packages.packages.items()},
        compatibility=_compatibility(facts),
        lock=lock,
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
    key_path = tuple(part for part in problem["loc"] if not str(part).startswith("["))
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
        for entry in (
            *(PackagesFile, PackageEntry, CompatibilityFile, CudaEntry, TorchEntry),
            *(SdistEntry, CommitEntry, RequirementsEntry, PinEntry),
        )
        for key in entry.model_fields
    }
)


def _package(name: ProjectName, entry: PackageEntry, directory: Path, lock: Lock) -> Package:
    arch = entry.arch_variable
    version_range = entry.versions if isinstance(entry.versions, SpecifierSet) else None
    listed = entry.versions if isinstance(entry.versions, list) else ()
    return Package(
        name=name,
        versions=tuple(listed) if version_range is None else lock.versions_in(name, version_range),
        version_range=version_range,
        build_arguments=entry.build_args,
        extra_deps=tuple(entry.extra_deps),
        env=tuple(sorted(entry.env.items())),
        architectures=tuple(entry.architectures),
        test_imports=tuple(entry.test_import or [name.replace("-", "_")]),
        description=entry.description,
        source=_source(entry, directory),
        licence=entry.licence,
        redistributable=entry.redistributable,
        patches=tuple(directory / path for path in entry.patches),
        requires=tuple(entry.requires),
        arch_variable=ArchVariable(name=arch.name, dotted=arch.form == "dotted") if arch else None,
        scope=Part(python=entry.python, cuda=entry.cuda, torch=entry.torch, platforms=_tuple_or_none(entry.platforms)),
        exclude=tuple(map(_rule, entry.exclude)),
        include=tuple(map(_rule, entry.include)),
        memory_per_job=entry.memory_per_job << 30 if entry.memory_per_job else None,
        timeout=entry.timeout * 60 if entry.timeout else None,
    )


def _source(entry: PackageEntry, directory: Path) -> Path | GitSource | None:
    if isinstance(entry.source, GitEntry):
        return _git(entry.source)
    return directory / entry.source if entry.source else None


def _git(entry: GitEntry) -> GitSource:
    return GitSource(url=entry.git, ref=entry.ref, submodules=entry.submodules)


def _rule(entry: RuleEntry) -> Rule:
    part = Part(
        version=entry.version,
        python=entry.python,
        cuda=entry.cuda,
        torch=entry.torch,
        platforms=_tuple_or_none(entry.platform),
    )
    return Rule(part=part, reason=entry.reason)


def _tuple_or_none(items: list[Item] | None) -> tuple[Item, ...] | None:
    return None if items is None else tuple(items)


def _compatibility(file: CompatibilityFile) -> Compatibility:
    return Compatibility(
        cuda={
            version: CudaRelease(
                toolkit=entry.toolkit,
                minimum_driver=entry.minimum_driver,
                host_gcc=entry.host_gcc,
                architectures=frozenset(architecture.capability for architecture in entry.architectures),
            )
            for version, entry in file.cuda.releases.items()
        },
        torch={
            version: TorchRelease(
                release=entry.release,
                cuda={platform: frozenset(versions) for platform, versions in entry.cuda.items()},
                python=frozenset(entry.python),
                default_cuda=entry.default_cuda,
                glibc=entry.glibc,
            )
            for version, entry in file.torch.releases.items()
        },
        pythons=tuple(sorted(file.pythons)),
        platforms=tuple(file.platforms),
    )


def _lock(file: LockFile) -> Lock:
    return Lock(
        sdists={
            (name, version): LockedSdist(
                filename=entry.sdist, sha256=entry.sha256, requires=_tuple_or_none(entry.requires)
            )
            for name, versions in file.sdists.items()
            for version, entry in versions.items()
        },
        commits={
            (name, version): LockedCommit(
                source=_git(entry), commit=entry.commit, requires=_tuple_or_none(entry.requires)
            )
            for name, versions in file.commits.items()
            for version, entry in versions.items()
        },
        requirements={
            name: LockedRequirements(
                inputs=tuple(entry.inputs),
                pinned=tuple(
                    LockedRequirement(requirement=pin.requirement, sha256=tuple(pin.sha256)) for pin in entry.pinned
                ),
            )
            for name, entry in file.requirements.items()
        },
    )
