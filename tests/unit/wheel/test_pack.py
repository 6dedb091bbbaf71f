import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.pack import SOURCE_DATE_EPOCH, pack

FILES = {
    "demo-1.0.dist-info/METADATA": b"metadata",
    "demo-1.0.dist-info/RECORD": b"record",
    "demo/__init__.py": b"",
    "demo/kernel.so": bytes(range(256)) * 100,
    "zz/last.txt": b"text",
}


def folder_of(directory: Path, names: Iterable[str], *, time: int) -> Path:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FILES[name])
        path.chmod(0o755 if name.endswith(".so") else 0o644)
        os.utime(path, (time, time))
    return directory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "demo", FILES, time=SOURCE_DATE_EPOCH)


@pytest.fixture
def packed(folder: Path, tmp_path: Path) -> Path:
    pack(folder, tmp_path / "demo.whl")
    return tmp_path / "demo.whl"


def test_the_same_content_gives_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "other", reversed(FILES), time=SOURCE_DATE_EPOCH * 4)
    (other / "empty").mkdir()

    pack(other, tmp_path / "other.whl")

    assert (tmp_path / "other.whl").read_bytes() == packed.read_bytes()


def test_other_content_gives_other_bytes(packed: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "zz/last.txt").write_bytes(b"test")

    pack(folder, tmp_path / "other.whl")

    assert (tmp_path / "other.whl").read_bytes() != packed.read_bytes()


def test_everything_is_packed_and_the_dist_info_last(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        content = {name: archive.read(name) for name in names}

    assert content == FILES
    assert [name.partition("/")[0] for name in names] == [*["demo"] * 2, "zz", *["demo-1.0.dist-info"] * 2]


def test_what_can_be_run_stays_so(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        modes = {member.filename: member.external_attr >> 16 for member in archive.infolist()}

    assert modes == {name: 0o100755 if name.endswith(".so") else 0o100644 for name in FILES}


def test_the_result_is_a_sound_archive(packed: Path) -> None:
    assert check_archive(packed) == ()


def test_a_folder_that_cannot_be_packed_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    (folder / "demo/surrogate\udcff").write_bytes(b"a name that no zip can hold")

    with pytest.raises(UnicodeEncodeError):
        pack(folder, tmp_path / "new" / "demo.whl")

    assert list((tmp_path / "new").iterdir()) == []
