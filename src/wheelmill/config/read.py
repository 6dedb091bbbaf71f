"""Reading one file under ``config/``: it has its form, or every fault is named."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from wheelmill.config.document import KeyPath, read_document
from wheelmill.config.fields import Entry, Form
from wheelmill.errors import ConfigurationError

File = TypeVar("File", bound=Form)


def read_file(path: Path, form: type[File], faults: list[str]) -> File | None:
    """Read one file.

    Args:
        path: the file.
        form: what must stand in it.
        faults: where its faults are added to those of other files.

    Returns:
        The file; None when it has faults.
    """
    try:
        document = read_document(path)
    except ConfigurationError as error:
        faults.extend(error.faults)
        return None
    try:
        file = form.model_validate(document.content, context=path.parent)
        found = list(file.contradictions())
    except ValidationError as error:
        file, found = None, faults_of(error)
    faults.extend(document.fault(*fault) for fault in sorted(found, key=lambda fault: document.position_of(fault[0])))
    return None if found else file


def faults_of(error: ValidationError) -> list[tuple[KeyPath, str]]:
    """Every fault that pydantic found: where, and what is said of it."""
    return list(map(_explained, error.errors()))


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
        case "literal_error":
            message = f"expected {problem['ctx']['expected']}, not {_shown(value)}"
        case "too_short":
            message = "expected at least one item"
        case kind if kind.startswith("date_"):
            message = f"expected a date such as 2026-11-21, not {_shown(value)}"
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
    close = difflib.get_close_matches(key.lower(), sorted(_keys_of(Entry) - {key}), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _keys_of(entry: type[Entry]) -> set[str]:
    """The keys of an entry and of all that stand below one."""
    below = (_keys_of(each) for each in entry.__subclasses__())
    return set(entry.model_fields).union(*below)
