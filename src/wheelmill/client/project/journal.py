"""A journal of changes to projects and environments: a failed, interrupted or killed change is rolled back.

A journal is written before the first change and removed after the last one. It lies with the user's own state, never in
a project: the sender of a folder must not decide what is written where. A command that has the lock of a place and
finds a journal about it rolls back: its writer, and all programs started by it, have ended. Restoring files and folders
twice is harmless.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import uuid
from collections.abc import Callable, Iterator, Sequence
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
from wheelmill.system.records import plain_of, record_of


@dataclass(frozen=True, kw_only=True)
class KeptFile:
    """A file as it was; its fields are what JSON can hold."""

    path: Path
    content: str | None = None
    """In base64; None when there was none."""
    mode: int = 0
    link: str | None = None
    """Where it leads, if it was a symbolic link."""

    @property
    def other_content(self) -> bytes | None:
        """What the file holds now, if that is anything else than it was."""
        if not self.path.is_file() or self.path.is_symlink():
            return None
        now = self.path.read_bytes()
        return None if self.content is not None and now == base64.b64decode(self.content) else now

    def put_back(self) -> None:
        """Restore it, byte for byte."""
        if self.link is not None:
            if not self.path.is_symlink() or str(self.path.readlink()) != self.link:
                remove_entry(self.path)
                self.path.symlink_to(self.link)
        elif self.content is None:
            remove_entry(self.path)
        else:
            if self.path.is_symlink() or not self.path.is_file() or self.other_content is not None:
                if self.path.is_dir() and not self.path.is_symlink():
                    remove_entry(self.path)
                write_durably(self.path, base64.b64decode(self.content), mode=self.mode)
            self.path.chmod(self.mode)


@dataclass(frozen=True, kw_only=True)
class KeptTree:
    """A folder as it was, with all that was in it."""

    path: Path
    snapshot: Path | None = None
    """None when there was no such folder."""
    entries: int = 0
    """The number of entries in the snapshot."""

    def put_back(self) -> bool:
        """Make it what it was; False, and nothing is touched, when a loss of power left no whole snapshot."""
        if self.snapshot is None:
            remove_entry(self.path)
        elif count_entries(self.snapshot) == self.entries:
            restore_snapshot(self.path, self.snapshot)
        else:
            return False
        return True


def keep_file(path: Path) -> Iterator[KeptFile]:
    """What a file is now; of a link also what it leads to."""
    if path.is_symlink():
        yield KeptFile(path=path, link=str(path.readlink()))
        yield from keep_file(behind_links(path))
    elif path.exists():
        content = base64.b64encode(path.read_bytes()).decode()
        yield KeptFile(path=path, content=content, mode=stat.S_IMODE(path.stat().st_mode))
    else:
        yield KeptFile(path=path)


def keep_tree(folder: Path, snapshot: Path) -> KeptTree:
    """What a folder is now; its snapshot is made where it says."""
    if not folder.is_dir():
        return KeptTree(path=folder)
    return KeptTree(path=folder, snapshot=snapshot, entries=take_snapshot(folder, snapshot))


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
    """Read a journal that this version or an older one wrote."""
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
    """A folder of this user's state, made when it is not there."""
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


Say = Callable[[str], None]


@contextmanager
def have_alone(place: Path, say: Say) -> Iterator[None]:
    """Keep other commands from changing a place while the context lasts; first undo what a killed one left there.

    Programs that are started meanwhile keep the place too, until they have ended.

    Args:
        place: the folder of a project or of an environment.
        say: is told who has it, before that is waited for, and what was undone.

    Raises:
        UsageError: what was left cannot be undone, or there is no folder for locks and journals.
    """

    def wait(holder: str) -> None:
        say(f"{place} is being changed by {holder or 'another command'}: waiting for it")

    with hold(lock_of(place), wait=wait, inherited=True):
        _undo_what_was_left(place, say)
        yield


def undo_what_was_left(place: Path, say: Say) -> bool:
    """Undo what a killed command left of a place that is only read; one that is being changed is left alone.

    Returns:
        Whether there was anything.
    """
    if not journals_about(place):
        return False
    with suppress(BlockingIOError), hold(lock_of(place), wait=None):
        _undo_what_was_left(place, say)
        return True
    return False


@contextmanager
def undo_on_failure(root: Path, files: Sequence[Path], environment: InstallPlace | None, say: Say) -> Iterator[None]:
    """Put files and an environment back as they were when the context is left by an error or an interruption.

    Args:
        root: the folder of the project, which is had alone.
        files: every file that may be written, whether it is there or not.
        environment: what is installed into; None when nothing is.
        say: is told what could not be undone, and who has the environment.

    Raises:
        UsageError: the environment cannot be written.
    """
    path = state_folder("journals") / f"{name_of(root)}.json"
    with ExitStack() as held:
        if environment and behind_links(environment.base) != behind_links(root):
            held.enter_context(have_alone(environment.base, say))
        try:
            journal = _begin(path, root, files, environment)
            yield
        except BaseException:
            try:
                _undo(path, say)
            except OSError as error:
                reason = ": ".join(map(str, filter(None, (error.filename, error.strerror))))
                say(f"not everything is as it was: {reason}; the next command of wheelmill here tries again")
            raise
        forget_journal(path, journal)


def _begin(path: Path, root: Path, files: Sequence[Path], environment: InstallPlace | None) -> Journal:
    """Write a journal: first where snapshots will be, so that those of a killed command are removed, then all of it."""
    bases = (behind_links(root), *([behind_links(environment.base)] if environment else []))
    name = f".wheelmill-journal-{uuid.uuid4().hex}"
    beside = [next(each for each in (bases[0], *bases[0].parents) if each.is_dir()) / name] if files else []
    scratch = [each / name for each in _scratch_places(environment)]
    journal = Journal(places=bases, scratch=tuple(dict.fromkeys(beside + scratch)))
    write_journal(path, journal)
    marks = [_make_one_of([each]) for each in beside]
    folders = [tree.resolve() for tree in (environment.trees if environment else ()) if not tree.is_file()]
    trees = [KeptTree(path=folder) for folder in folders]
    if any(folder.is_dir() for folder in folders):
        marks.append(_make_one_of(scratch))
        trees = [keep_tree(folder, marks[-1] / str(number)) for number, folder in enumerate(folders)]
        sync_folder(marks[-1])
    kept = tuple(each for file in files for each in keep_file(file.absolute()))
    journal = replace(journal, marks=tuple(marks), files=kept, trees=tuple(trees))
    write_journal(path, journal)
    return journal


def _scratch_places(environment: InstallPlace | None) -> Sequence[Path]:
    """Where snapshots may be: beside an environment, which its tool may remove and make anew, or in it."""
    if environment is None:
        return ()
    base = behind_links(environment.base)
    if environment.trees != (environment.base,):
        return (base,)
    return (base.parent, base) if base.is_dir() else (base.parent,)


def _make_one_of(folders: Sequence[Path]) -> Path:
    """Make the first of these folders that can be made on the environment's file system; the last one is in it."""
    place = folders[-1].parent
    for folder in folders:
        if folder.parent.stat().st_dev == place.stat().st_dev and os.access(folder.parent, os.W_OK):
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / ".gitignore").write_text("*\n")  # until it is gone, git would tell of it
            return folder
    raise UsageError(
        "place-not-writable",
        f"{place} cannot be written",
        hint="use a project and an environment that you may write to",
    )


def _undo_what_was_left(place: Path, say: Say) -> None:
    if not journals_about(place):
        return
    with hold(state_folder("locks") / "undo", wait=wait_silently):  # two may come from two places of one journal
        for path in journals_about(place):
            journal = read_journal(path)
            if journal.marks and all(folder.is_dir() for folder in journal.marks):
                _save_what_is_there(journal, say)
                _undo(path, say)
                say(f"a command that was killed had left {place} half changed: it is as it was before")
            else:  # it had changed nothing, or what it had changed is gone
                forget_journal(path, journal)


def _save_what_is_there(journal: Journal, say: Say) -> None:
    """Keep copies of files that are to be put back: since the command was killed, somebody may have worked on them."""
    for file in journal.files:
        if (content := file.other_content) is not None:
            copy = state_folder("undone") / f"{sha256_of_bytes(content)[:12]}-{file.path.name}"
            write_durably(copy, content)
            say(f"{file.path} as it was left is kept as {copy}")


def _undo(path: Path, say: Say) -> None:
    """Undo what a journal lists, and remove it; if this is interrupted, too, it starts again."""
    if not path.exists():  # it was not written yet
        return
    journal = read_journal(path)
    with ExitStack() as last_first:  # all of it is tried; removing is first, as the disk may be full
        for file in sorted(journal.files, key=lambda each: each.content is None):
            last_first.callback(file.put_back)
        for tree in journal.trees:
            last_first.callback(_put_back, tree, say)
    forget_journal(path, journal)


def _put_back(tree: KeptTree, say: Say) -> None:
    if not tree.put_back():
        say(f"{tree.path} could not be put back: its snapshot is not whole; create that environment again")
