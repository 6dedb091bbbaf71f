"""Folders that are put back as they were."""

import os
import shutil
from pathlib import Path

import pytest

from tests.trees import content_of, environment_tree
from wheelmill.system.snapshots import count_entries, restore_snapshot, take_snapshot


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
