"""A journal of changes to projects and environments: a failed, interrupted or killed change is rolled back.

It is written before the first change and removed after the last. It is part of the user's own state, not of a project:
the sender of a folder must not decide what is written where. A command that holds a place's lock and finds a journal
for it rolls back: its writer, and all programs started by it, have ended. Restoring twice is harmless.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

from wheelmill.client.install.distributions import InstallPlace
from wheelmill.errors import UsageError
from wheelmill.system.files import behind_links, is_mine, sha256_of_bytes, sync_folder, write_durably
from wheelmill.system.folders import count_entries, remove_entry, remove_tree, restore_snapshot, take_snapshot
from wheelmill.system.locks import hold, wait_silently
from wheelmill.system.progress import Warn
from wheelmill.system.records import plain_of, record_of


@dataclass(frozen=True, kw_only=True)
class FileBackup:
    """Backup of a file, with fields that JSON can hold."""

    path: Path
    content: str | None = None
    """In base64; None if there was no file."""
    mode: int = 0
    link: str | None = None
    """Target, if it was a symbolic link."""

    @property
    def changed_content(self) -> bytes | None:
        """The file's current content; None if it is unchanged or no regular file."""
        if not self.path.is_file() or self.path.is_symlink():
            return None
        now = self.path.read_bytes()
        return None if self.content is not None and now == base64.b64decode(self.content) else now

    def restore(self) -> None:
        """Restore the file, byte for byte."""
        if self.link is not None:
            if not self.path.is_symlink() or str(self.path.readlink()) != self.link:
                remove_entry(self.path)
                self.path.symlink_to(self.link)
        elif self.content is None:
            remove_entry(self.path)
        else:
            if self.path.is_symlink() or not self.path.is_file() or self.changed_content is not None:
                if self.path.is_dir() and not self.path.is_symlink():
                    remove_entry(self.path)
                write_durably(self.path, base64.b64decode(self.content), mode=self.mode)
            if stat.S_IMODE(self.path.stat().st_mode) != self.mode:  # an immutable file refuses even the same mode
                self.path.chmod(self.mode)


@dataclass(frozen=True, kw_only=True)
class FolderBackup:
    """Backup of a folder with its content."""

    path: Path
    snapshot: Path | None = None
    """None if there was no such folder."""
    entries: int = 0
    """The number of entries in the snapshot."""

    def restore(self, say: Warn) -> None:
        """Restore the folder; a warning, and no change, if a power loss left the snapshot incomplete."""
        if self.snapshot is None:
            remove_entry(self.path)
        elif count_entries(self.snapshot) == self.entries:
            restore_snapshot(self.path, self.snapshot)
        else:
            say(f"{self.path} could not be put back: its snapshot is not whole; create that environment again")


def back_up_file(path: Path) -> Iterator[FileBackup]:
    """Back up a file; for a symbolic link, also its target."""
    if path.is_symlink():
        yield FileBackup(path=path, link=str(path.readlink()))
        yield from back_up_file(behind_links(path))
    elif path.exists():
        content = base64.b64encode(path.read_bytes()).decode()
        yield FileBackup(path=path, content=content, mode=stat.S_IMODE(path.stat().st_mode))
    else:
        yield FileBackup(path=path)


def _back_up_folder(folder: Path, snapshot: Path) -> FolderBackup:
    if not folder.is_dir():
        return FolderBackup(path=folder)
    return FolderBackup(path=folder, snapshot=snapshot, entries=take_snapshot(folder, snapshot))


FORMAT: Final = 1
"""Raised when an older program would undo a journal wrongly."""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """Backups of one change, and their places."""

    format: int = FORMAT
    places: tuple[Path, ...]
    """The folders that its writer had locked."""
    scratch: tuple[Path, ...] = ()
    """The folders that snapshots may lie in."""
    marks: tuple[Path, ...] = ()
    """Marks that were made. If one is gone, the changed file was removed since, and another may have its place."""
    files: tuple[FileBackup, ...] = ()
    trees: tuple[FolderBackup, ...] = ()


def has_journals() -> bool:
    """True if a command is changing any place, or was killed during a change."""
    return any(_all_journals())


def remove_journal(path: Path, journal: Journal) -> None:
    """Remove a journal and its snapshots; it is emptied first, so that a rollback no longer applies it."""
    write_journal(path, replace(journal, marks=(), files=(), trees=()))
    for folder in journal.scratch:
        remove_tree(folder)
    path.unlink()


def write_journal(path: Path, journal: Journal) -> None:
    """Write a journal, flushed to the disk before this returns."""
    write_durably(path, json.dumps(plain_of(journal)).encode())


def read_journal(path: Path) -> Journal:
    """Read a journal of this format or an older one."""
    number, places = _head_of(path)
    if number > FORMAT:
        raise UsageError(
            "journal-newer",
            f"{path}: a newer wheelmill left {places[0]} half changed",
            hint="run a command of that newer version there; or correct it yourself, and remove the file",
        )
    with _damage_as_error(path):
        journal: Journal = record_of(Journal, json.loads(path.read_bytes()))
    return journal


def journals_about(place: Path) -> list[Path]:
    """List this user's journals for a place."""
    journals = []
    for path in sorted(_all_journals()):
        with suppress(FileNotFoundError):  # its writer has just ended
            if is_mine(path) and str(behind_links(place)) in _head_of(path)[1]:
                journals.append(path)
    return journals


def _head_of(path: Path) -> tuple[int, list[str]]:
    """The format and the places of a journal, which newer formats have too."""
    with _damage_as_error(path):
        content = json.loads(path.read_bytes())
        return int(content["format"]), list(content["places"])


@contextmanager
def _damage_as_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError):
        raise UsageError(
            "journal-damaged", f"{path} is damaged, so the change in it cannot be undone", hint="remove it"
        ) from None


def _all_journals() -> Iterator[Path]:
    return (user_state_path("wheelmill") / "journals").glob("*.json")


def lock_of(place: Path) -> Path:
    """The lock file of a place."""
    return state_folder("locks") / name_of(place)


def name_of(place: Path) -> str:
    """The name of files about a place."""
    return sha256_of_bytes(os.fsencode(behind_links(place)))


def state_folder(name: str) -> Path:
    """Return a folder of this user's state, creating it if it is missing."""
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


@contextmanager
def exclusive(place: Path, say: Warn) -> Iterator[None]:
    """Lock a place while the context lasts, after rolling back a killed command's change to it.

    Programs that are started meanwhile hold the lock too, until they end. Before waiting, ``say`` gets the holder.
    """

    def wait(holder: str) -> None:
        say(f"{place} is being changed by {holder or 'another command'}: waiting for it")

    with hold(lock_of(place), wait=wait, inherited=True):
        _roll_back_under_lock(place, say)
        yield


def roll_back_interrupted(place: Path, say: Warn) -> bool:
    """Roll back a killed command's change to a place that is only read, unless it is locked; False without one."""
    if not journals_about(place):
        return False
    with suppress(BlockingIOError), hold(lock_of(place), wait=None):
        _roll_back_under_lock(place, say)
        return True
    return False


@contextmanager
def roll_back_on_failure(
    root: Path, files: Sequence[Path], environment: InstallPlace | None, say: Warn
) -> Iterator[None]:
    """Restore files and an environment if the context ends with an error or an interruption.

    The caller has locked ``root``. ``files`` are all that may be written, even if they do not exist. ``say`` gets
    failures of the rollback, and the holder of the environment's lock.
    """
    path = state_folder("journals") / f"{name_of(root)}.json"
    with ExitStack() as held:
        if environment and behind_links(environment.base) != behind_links(root):
            held.enter_context(exclusive(environment.base, say))
        try:
            journal = _begin(path, root, files, environment)
            yield
        except BaseException:
            try:
                _roll_back(path, say)
            except OSError as error:
                reason = ": ".join(map(str, filter(None, (error.filename, error.strerror))))
                say(f"not everything is as it was: {reason}; the next command of wheelmill here tries again")
            raise
        remove_journal(path, journal)


def _begin(path: Path, root: Path, files: Sequence[Path], environment: InstallPlace | None) -> Journal:
    """Write a journal of the snapshots' places, so that a killed command's are removed, then the full journal."""
    bases = (behind_links(root), *([behind_links(environment.base)] if environment else []))
    name = f".wheelmill-journal-{uuid.uuid4().hex}"
    beside = [next(each for each in (bases[0], *bases[0].parents) if each.is_dir()) / name] if files else []
    scratch = [each / name for each in _scratch_places(environment)]
    journal = Journal(places=bases, scratch=tuple(dict.fromkeys(beside + scratch)))
    write_journal(path, journal)
    marks = [_make_first_possible([each]) for each in beside]
    folders = [tree.resolve() for tree in (environment.trees if environment else ()) if not tree.is_file()]
    trees = [FolderBackup(path=folder) for folder in folders]
    if any(folder.is_dir() for folder in folders):
        marks.append(_make_first_possible(scratch))
        trees = [_back_up_folder(folder, marks[-1] / str(number)) for number, folder in enumerate(folders)]
        sync_folder(marks[-1])
    kept = tuple(each for file in files for each in back_up_file(file.absolute()))
    journal = replace(journal, marks=tuple(marks), files=kept, trees=tuple(trees))
    write_journal(path, journal)
    return journal


def _scratch_places(environment: InstallPlace | None) -> Sequence[Path]:
    """List places for snapshots: beside an environment, because its tool may recreate it, or in it."""
    if environment is None:
        return ()
    base = behind_links(environment.base)
    if not environment.is_virtual:
        return (base,)
    return (base.parent, base) if base.is_dir() else (base.parent,)


def _make_first_possible(folders: Sequence[Path]) -> Path:
    """Create the first of these folders that is possible on the environment's file system; the last one is in it."""
    place = folders[-1].parent
    for folder in folders:
        if folder.parent.stat().st_dev == place.stat().st_dev and os.access(folder.parent, os.W_OK):
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / ".gitignore").write_text("*\n")  # keep it out of git status
            return folder
    raise UsageError(
        "place-not-writable",
        f"{place} cannot be written",
        hint="use a project and an environment that you may write to",
    )


def _roll_back_under_lock(place: Path, say: Warn) -> None:
    if not journals_about(place):
        return
    with hold(state_folder("locks") / "undo", wait=wait_silently):  # commands in both places of a journal may run
        for path in journals_about(place):
            journal = read_journal(path)
            if journal.marks and all(folder.is_dir() for folder in journal.marks):
                _save_current_files(journal, say)
                _roll_back(path, say)
                say(f"a command that was killed had left {place} half changed: it is as it was before")
            else:  # nothing was changed, or the changed folders are gone
                remove_journal(path, journal)


def _save_current_files(journal: Journal, say: Warn) -> None:
    """Copy files that a rollback will overwrite: the user may have edited them since the command was killed."""
    for file in journal.files:
        if (content := file.changed_content) is not None:
            copy = state_folder("undone") / f"{sha256_of_bytes(content)[:12]}-{file.path.name}"
            write_durably(copy, content)
            say(f"{file.path} as it was left is kept as {copy}")


def _roll_back(path: Path, say: Warn) -> None:
    """Roll back the changes in a journal, and remove it; if interrupted, it starts again."""
    if not path.exists():  # it was not written yet
        return
    journal = read_journal(path)
    with ExitStack() as last_first:  # an error stops none of it; removal first, as the disk may be full
        for file in sorted(journal.files, key=lambda each: each.content is None):
            last_first.callback(file.restore)
        for tree in journal.trees:
            last_first.callback(tree.restore, say)
    remove_journal(path, journal)
