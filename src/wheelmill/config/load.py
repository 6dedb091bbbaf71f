"""Reading a ``config/`` folder: all of it is right, or every fault is named."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from wheelmill import resources
from wheelmill.config.compatibility_file import CompatibilityFile, compatibility_of
from wheelmill.config.document import KeyPath, read_document
from wheelmill.config.fields import Entry
from wheelmill.config.lock_file import LockFile, lock_of
from wheelmill.config.packages import package_of
from wheelmill.config.packages_file import PackagesFile, contradictions_in
from wheelmill.config.records import Config
from wheelmill.errors import ConfigurationError

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
    packages = _read(directory / PACKAGES, PackagesFile, faults, contradictions_in)
    own_facts = directory / COMPATIBILITY
    facts = _read(own_facts if own_facts.exists() else resources.CONFIG / COMPATIBILITY, CompatibilityFile, faults)
    locked = _read(directory / LOCK, LockFile, faults) if (directory / LOCK).exists() else LockFile(sdists={})
    if packages is None or facts is None or locked is None:
        raise ConfigurationError(tuple(faults))
    lock = lock_of(locked)
    return Config(
        directory=directory,
        packages={name: package_of(name, entry, directory, lock) for name, entry in packages.packages.items()},
        compatibility=compatibility_of(facts),
        lock=lock,
    )


def _read(
    path: Path,
    file_type: type[File],
    faults: list[str],
    contradictions: Callable[[File], Iterable[tuple[KeyPath, str]]] = lambda _file: (),
) -> File | None:
    """Read one file; its faults are added to those of the others."""
    try:
        document = read_document(path)
    except ConfigurationError as error:
        faults.extend(error.faults)
        return None
    try:
        file = file_type.model_validate(document.content, context=path.parent)
        found = list(contradictions(file))
    except ValidationError as error:
        file, found = None, list(map(_explained, error.errors()))
    faults.extend(document.fault(*fault) for fault in sorted(found, key=lambda fault: document.position_of(fault[0])))
    return None if found else file


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
    close = difflib.get_close_matches(key.lower(), _KNOWN_KEYS - {key}, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _keys_of(entry: type[Entry]) -> set[str]:
    """The keys of an entry and of all that stand below one."""
    below = (_keys_of(each) for each in entry.__subclasses__())
    return set(entry.model_fields).union(*below)


_KNOWN_KEYS: Final = _keys_of(Entry)
