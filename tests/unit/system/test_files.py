import hashlib
import stat
from pathlib import Path

import pytest

from wheelmill.system.files import atomic_write, sha256_of, write_bytes


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
