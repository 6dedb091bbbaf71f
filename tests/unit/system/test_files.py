import hashlib
import stat
from pathlib import Path

import pytest

from wheelmill.system.files import atomic_write, behind_links, sha256_of, write_bytes


def test_a_hash_is_that_of_the_content(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    (tmp_path / "file").write_bytes(content)

    assert sha256_of(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_a_file_appears_whole_and_readable_for_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"

    with atomic_write(path) as file:
        file.write(b"content")
        assert not path.exists()

    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(path.parent.iterdir()) == [path]


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
