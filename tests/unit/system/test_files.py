import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest

from tests.files import umask
from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.system.files import (
    PUBLIC_FILE,
    PUBLIC_FOLDER,
    atomic_write,
    behind_links,
    link_or_copy,
    make_public_folder,
    read_bounded,
    sha256_of,
    write_bytes,
)


def test_a_hash_is_that_of_the_content(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    (tmp_path / "file").write_bytes(content)
    assert sha256_of(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with atomic_write(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("mask", "mode"), [(0o002, 0o664), (0o022, 0o644), (0o077, 0o600)])
def test_a_file_follows_the_umask_unless_it_has_a_mode_of_its_own(tmp_path: Path, mask: int, mode: int) -> None:
    with umask(mask):
        write_bytes(tmp_path / "usual", b"content")
        write_bytes(tmp_path / "public", b"content", mode=PUBLIC_FILE)
        write_bytes(tmp_path / "private", b"content", mode=0o600)
        make_public_folder(tmp_path / "above" / "folder")
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert found == {"usual": mode, "public": 0o644, "private": 0o600, "above": 0o777 & ~mask}
    assert stat.S_IMODE((tmp_path / "above" / "folder").stat().st_mode) == PUBLIC_FOLDER


def test_a_folder_that_was_made_by_others_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    make_public_folder(tmp_path / "folder")
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


def test_a_copy_in_place_of_a_hard_link_has_the_mode_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bytes(tmp_path / "file", b"content", mode=0o640)

    def cannot(*_paths: Path, follow_symlinks: bool) -> None:
        raise OSError(errno.EPERM, f"no second name, follow_symlinks={follow_symlinks}")

    monkeypatch.setattr(os, "link", cannot)
    assert stat.S_IMODE(link_or_copy(tmp_path / "file", tmp_path / "copy").stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_file_that_was_not_finished_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    with pytest.raises(error), atomic_write(path) as file:  # noqa: PT012 - the error comes in the middle of the write
        file.write(b"new")
        raise error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_replaced_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        write_bytes(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("below", ["first", "first/file"])
def test_links_in_a_circle_lead_nowhere(below: str, tmp_path: Path) -> None:
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("first")
    with pytest.raises(OSError, match="symbolic links"):
        behind_links(tmp_path / below)


def test_a_link_may_lead_to_what_is_yet_to_be(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new/file")
    assert behind_links(tmp_path / "link") == tmp_path / "new" / "file"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(pipe, b"content")
    assert os.read(reader, 10) == b"content"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_file_of_a_user_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1234")
    (tmp_path / "link").symlink_to("file")
    assert read_bounded(tmp_path / "link", 4) == b"1234"
    with pytest.raises(UsageError, check=coded("file-too-large", tmp_path / "file")):
        read_bounded(tmp_path / "file", 3)
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "missing")


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_opened(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(UsageError, check=coded("not-a-file", path)):
        read_bounded(path)
