"""A journal of changes to projects and environments: what fails or is interrupted or killed is undone, byte for byte.

A journal is written before the first change and removed after the last one. It lies with the user's own state, never in
a project: whoever sends somebody a folder must not decide what is written where. Whoever has the lock of a place and
finds a journal about it undoes what that says: its writer, and all that this had started, have ended.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from wheelmill.client.install.places import InstallPlace
from wheelmill.client.project.journal_file import (
    Journal,
    forget_journal,
    journals_about,
    lock_of,
    name_of,
    read_journal,
    state_folder,
    write_journal,
)
from wheelmill.client.project.kept import KeptTree, keep_file, keep_tree
from wheelmill.errors import UsageError
from wheelmill.system.files import behind_links, sha256_of_bytes, sync_folder, write_durably
from wheelmill.system.locks import hold, wait_silently

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
