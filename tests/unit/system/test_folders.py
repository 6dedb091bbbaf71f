"""Folders that one process has alone, folders of killed processes, and snapshots."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.kills import killed_at_every_step
from tests.trees import content_of, environment_tree
from wheelmill.system import folders
from wheelmill.system.folders import (
    claim_folder,
    count_entries,
    entries_below,
    remove_tree,
    restore_snapshot,
    sweep,
    take_snapshot,
    temporary_files_in,
    temporary_folder,
)

KILLED = """
import os, pathlib, signal, sys
from wheelmill.system.folders import temporary_folder
with temporary_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "file").write_bytes(b"12345678")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_process(place: Path) -> Path:
    """The temporary folder of a process that was killed."""
    argv = [sys.executable, "-c", KILLED, str(place)]
    return Path(subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip())


def left_folder(place: Path) -> Path:
    """What such a process leaves."""
    (place / "left").mkdir(parents=True)
    (place / "left" / "file").write_bytes(b"12345678")
    with claim_folder(place / "other", wait=None):
        shutil.copy(place / ".other.wheelmill-lock", place / ".left.wheelmill-lock")
    return place / "left"


def test_a_temporary_folder_is_empty_and_private_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_is_where_this_machine_has_its(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as folder:
        assert folder.parent == tmp_path


def test_what_a_killed_process_left_is_removed_by_the_next_one_in_the_same_place(tmp_path: Path) -> None:
    left = killed_process(tmp_path)
    assert (left / "file").exists()
    with temporary_folder(tmp_path) as folder:
        assert {path for path in tmp_path.iterdir() if path.is_dir()} == {folder}
    assert list(tmp_path.iterdir()) == []


def test_what_a_living_process_has_is_not_swept(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        assert sweep(tmp_path) == 0
        assert folder.exists()


def test_what_would_be_swept_is_counted_first(tmp_path: Path) -> None:
    left = left_folder(tmp_path)
    assert sweep(tmp_path, dry_run=True) == 8
    assert left.exists()
    assert sweep(tmp_path) == 8
    assert list(tmp_path.iterdir()) == []


def test_a_kill_at_any_step_leaves_nothing_that_the_next_process_does_not_remove(tmp_path: Path) -> None:
    def claim(place: Path) -> None:
        with temporary_folder(place):
            pass

    for place in killed_at_every_step(tmp_path, lambda _place: None, claim):
        claim(place)
        assert list(place.iterdir()) == []


def test_nothing_else_of_a_place_is_swept(tmp_path: Path) -> None:
    for name in ("folder", ".wheelmill-of-nobody"):
        (tmp_path / name).mkdir()
    (tmp_path / ".folder.lock").touch()
    assert sweep(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_lock_that_names_no_folder_in_its_place_sweeps_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    left_folder(tmp_path / "place").rename(tmp_path / "elsewhere")
    (tmp_path / "place" / ".left.wheelmill-lock").rename(tmp_path / "place" / f".{name}.wheelmill-lock")
    sweep(tmp_path / "place")
    assert (tmp_path / "file").exists()
    assert (tmp_path / "place").exists()


def test_a_link_that_a_lock_stands_beside_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").touch()
    (tmp_path / "place" / "link").symlink_to(tmp_path / "own")
    left_folder(tmp_path / "place")
    (tmp_path / "place" / ".left.wheelmill-lock").rename(tmp_path / "place" / ".link.wheelmill-lock")
    sweep(tmp_path / "place")
    assert (tmp_path / "own" / "file").exists()


@pytest.mark.parametrize("content", ["", "\n", "0" * 32 + "\n", "process 1 (wheelmill), since 2026-01-01 00:00:00 UTC"])
def test_a_folder_beside_a_lock_of_another_program_is_not_swept(tmp_path: Path, content: str) -> None:
    """A repository or an archive in a shared place may bring such a file."""
    for name in ("thesis", ".git"):
        (tmp_path / name).mkdir()
        (tmp_path / f".{name}.wheelmill-lock").write_text(content)
    assert sweep(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("secret", [b"", b"\n", b"0123", b"\xff" * 33])
def test_a_truncated_secret_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: bytes) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state/wheelmill").mkdir(parents=True)
    (tmp_path / "state/wheelmill/locks-of-folders").write_bytes(secret)
    (tmp_path / "thesis").mkdir()
    (tmp_path / ".thesis.wheelmill-lock").write_text("")
    forget = folders._secret.cache_clear  # noqa: SLF001 - a process reads it once
    forget()
    try:
        assert sweep(tmp_path) == 0
        assert (tmp_path / "thesis").is_dir()
    finally:
        forget()


def test_what_others_left_in_a_shared_place_is_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = left_folder(tmp_path)
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    assert sweep(tmp_path) == 0
    assert left.exists()


def test_a_folder_that_somebody_has_is_refused_or_waited_for(tmp_path: Path) -> None:
    with claim_folder(tmp_path / "folder", wait=None) as folder:
        (folder / "file").touch()
        with pytest.raises(BlockingIOError), claim_folder(tmp_path / "folder", wait=None):
            pytest.fail("two have it")
        assert (folder / "file").exists()


def test_a_folder_that_foreign_code_closed_is_removed(tmp_path: Path) -> None:
    closed = tmp_path / "folder" / "closed" / "again"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    closed.parent.chmod(0)
    remove_tree(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []
    remove_tree(tmp_path / "folder")  # nothing need be there


def test_libraries_have_their_temporary_files_where_they_are_told(tmp_path: Path) -> None:
    before = tempfile.gettempdir()
    with temporary_files_in(tmp_path), tempfile.TemporaryDirectory() as name:
        assert Path(name).parent == tmp_path
    assert tempfile.gettempdir() == before


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return environment_tree(tmp_path / "folder")


def spoil(folder: Path) -> None:
    """Do everything to a folder that an installer may."""
    shutil.rmtree(folder / "torch" / "lib")
    (folder / "torch" / "lib").write_text("a file now")
    (folder / "torch" / "new").mkdir()
    (folder / "torch" / "new" / "file.py").touch()
    (folder / "link").unlink()
    (folder / "link").symlink_to("elsewhere")
    (folder / "script").unlink()
    (folder / "script").mkdir()
    (folder / "torch" / "version.py.part").write_text("2.9")
    (folder / "torch" / "version.py.part").replace(folder / "torch" / "version.py")


def test_a_folder_is_what_it_was(folder: Path, tmp_path: Path) -> None:
    before = content_of(folder)
    entries = take_snapshot(folder, tmp_path / "snapshot")
    spoil(folder)
    assert count_entries(tmp_path / "snapshot") == entries
    restore_snapshot(folder, tmp_path / "snapshot")
    assert content_of(folder) == before


def test_a_folder_that_is_gone_comes_back(folder: Path, tmp_path: Path) -> None:
    before = content_of(folder)
    take_snapshot(folder, tmp_path / "snapshot")
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    restore_snapshot(folder, tmp_path / "snapshot")
    assert content_of(folder) == before
    assert not folder.is_symlink()


def test_a_snapshot_may_lie_in_its_folder(folder: Path) -> None:
    before = content_of(folder)
    scratch = folder / "scratch"
    scratch.mkdir()
    take_snapshot(folder, scratch / "0")
    spoil(folder)
    restore_snapshot(folder, scratch / "0")
    shutil.rmtree(scratch)
    assert content_of(folder) == before


def test_a_snapshot_takes_no_space(folder: Path, tmp_path: Path) -> None:
    take_snapshot(folder, tmp_path / "snapshot")
    assert (folder / "torch" / "version.py").samefile(tmp_path / "snapshot" / "torch" / "version.py")


def test_without_hard_links_files_are_copied(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    before = content_of(folder)
    take_snapshot(folder, tmp_path / "snapshot")
    (folder / "torch" / "version.py").write_text("2.9")  # in place, too
    spoil(folder)
    restore_snapshot(folder, tmp_path / "snapshot")
    assert content_of(folder) == before


def test_what_did_not_change_is_not_touched(folder: Path, tmp_path: Path) -> None:
    take_snapshot(folder, tmp_path / "snapshot")
    changed = (folder / "torch" / "version.py").stat().st_ctime_ns
    restore_snapshot(folder, tmp_path / "snapshot")
    assert (folder / "torch" / "version.py").stat().st_ctime_ns == changed


def test_a_folder_is_listed_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to("b")
    assert [path.name for path in entries_below(tmp_path)] == ["a", "b", "c", "link"]
    with pytest.raises(FileNotFoundError):
        entries_below(tmp_path / "absent")
