"""Journals as files: with the user's own state, where nobody else can put one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

from wheelmill.client.project.kept import KeptFile, KeptTree
from wheelmill.errors import UsageError
from wheelmill.system.files import behind_links, is_mine, sha256_of_bytes, write_durably
from wheelmill.system.folders import remove_tree
from wheelmill.system.plain_records import plain_of, record_of

FORMAT: Final = 1
"""Raised when an older program would undo a journal wrongly."""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """What to restore, and where it is kept."""

    format: int = FORMAT
    places: tuple[Path, ...]
    """The folders that its writer had locked."""
    scratch: tuple[Path, ...] = ()
    """The folders that snapshots may lie in."""
    marks: tuple[Path, ...] = ()
    """Those that were made. Where one is gone, what was changed has been removed since; another may have its place."""
    files: tuple[KeptFile, ...] = ()
    trees: tuple[KeptTree, ...] = ()


def is_anything_left() -> bool:
    """Whether a command is changing any place, or was killed when it did."""
    return any(_all_journals())


def forget_journal(path: Path, journal: Journal) -> None:
    """Remove a journal and its snapshots; once it says nothing of files and trees, it is no longer undone."""
    write_journal(path, replace(journal, marks=(), files=(), trees=()))
    for folder in journal.scratch:
        remove_tree(folder)
    path.unlink()


def write_journal(path: Path, journal: Journal) -> None:
    """Write a journal, flushed to the disk before this returns."""
    write_durably(path, json.dumps(plain_of(journal)).encode())


def read_journal(path: Path) -> Journal:
    """Read a journal that this version or an older one wrote.

    Raises:
        UsageError: a newer one did, or it is damaged.
    """
    number, places = _head_of(path)
    if number > FORMAT:
        raise UsageError(
            "journal-newer",
            f"{path}: a newer wheelmill left {places[0]} half changed",
            hint="run a command of that newer version there; or correct it yourself, and remove the file",
        )
    with _damage_told(path):
        journal: Journal = record_of(Journal, json.loads(path.read_bytes()))
    return journal


def journals_about(place: Path) -> list[Path]:
    """The journals of this user about a place."""
    found = []
    for path in sorted(_all_journals()):
        with suppress(FileNotFoundError):  # its writer has just ended
            if is_mine(path) and str(behind_links(place)) in _head_of(path)[1]:
                found.append(path)
    return found


def _head_of(path: Path) -> tuple[int, list[str]]:
    """The format and the places of a journal, which those of a newer wheelmill have too."""
    with _damage_told(path):
        content = json.loads(path.read_bytes())
        return int(content["format"]), list(content["places"])


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError):
        raise UsageError(
            "journal-damaged", f"{path} is damaged, so the change in it cannot be undone", hint="remove it"
        ) from None


def _all_journals() -> Iterator[Path]:
    return (user_state_path("wheelmill") / "journals").glob("*.json")


def lock_of(place: Path) -> Path:
    """The file whose lock is that of a place."""
    return state_folder("locks") / name_of(place)


def name_of(place: Path) -> str:
    """What files about a place are called."""
    return sha256_of_bytes(os.fsencode(behind_links(place)))


def state_folder(name: str) -> Path:
    """A folder of this user's state, made when it is not there.

    Raises:
        UsageError: it cannot be made.
    """
    folder = user_state_path("wheelmill") / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "journal-unusable",
            f"{folder}: {error.strerror}",
            hint="XDG_STATE_HOME names another folder for what changes need to be undone",
        ) from None
    return folder
