import os
import stat
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.wheel import archive
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH, check_archive, pack
from wheelmill.wheel.findings import Code

CENTRAL_ENTRY = b"PK\1\2"
FLAGS_AT = 8


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files={"demo/__init__.py": b"", "demo/a b.txt": b"x"})


def codes_of(path: Path) -> list[Code]:
    return [finding.code for finding in check_archive(path)]


def add(path: Path, name: str, content: bytes = b"added", *, mode: int = 0o100644, method: int = 0) -> Path:
    """Add a member to a zip, whatever its name."""
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    member.compress_type = method
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(member, content)
    return path


def test_a_sound_wheel_is_let_through(wheel: Path) -> None:
    assert check_archive(wheel) == ()


@pytest.mark.parametrize(
    "name",
    ["../x", "demo/../../x", "demo/..", "/etc/x", "//x", "demo\\x", "..\\x", "C:x", "."],
)
def test_a_name_that_leads_out_of_its_folder_is_refused(wheel: Path, name: str) -> None:
    assert codes_of(add(wheel, name)) == [Code.PATH]


def test_a_name_that_ends_early_is_refused(wheel: Path) -> None:
    add(wheel, "demo/x?.py")
    wheel.write_bytes(wheel.read_bytes().replace(b"demo/x?.py", b"demo/x\0.py"))

    assert codes_of(wheel) == [Code.PATH]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["demo/__init__.py", "demo//__init__.py", "demo/./__init__.py"])
def test_a_second_file_of_the_same_name_is_refused(wheel: Path, name: str) -> None:
    assert codes_of(add(wheel, name)) == [Code.ARCHIVE]


def test_a_symbolic_link_is_refused(wheel: Path) -> None:
    assert codes_of(add(wheel, "demo/link", b"/etc/passwd", mode=stat.S_IFLNK | 0o777)) == [Code.ARCHIVE]


def test_an_encrypted_member_is_refused(wheel: Path) -> None:
    content = bytearray(wheel.read_bytes())
    content[content.index(CENTRAL_ENTRY) + FLAGS_AT] |= 1
    wheel.write_bytes(content)

    assert codes_of(wheel) == [Code.ARCHIVE]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_installers_lack_is_refused(wheel: Path, method: int) -> None:
    assert codes_of(add(wheel, "demo/x", method=method)) == [Code.ARCHIVE]


def test_a_bomb_is_refused(wheel: Path) -> None:
    add(wheel, "demo/zeros", bytes(archive.MAX_RATIO + 1 << 20), method=zipfile.ZIP_DEFLATED)

    assert codes_of(wheel) == [Code.ARCHIVE]


def test_too_many_members_are_refused(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)

    assert codes_of(wheel) == [Code.ARCHIVE]


def test_every_fault_is_named(wheel: Path) -> None:
    add(wheel, "../x", mode=stat.S_IFLNK | 0o777, method=zipfile.ZIP_BZIP2)

    assert codes_of(wheel) == [Code.PATH, Code.ARCHIVE, Code.ARCHIVE]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"not a zip" * 100,
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content[len(content) // 2 :],
        lambda content: content.replace(b"one of a kind", b"one of a mind"),
    ],
    ids=["empty", "other", "last byte cut", "first half", "second half", "changed content"],
)
def test_a_damaged_file_is_refused(wheel: Path, damage: Callable[[bytes], bytes]) -> None:
    add(wheel, "demo/x", b"one of a kind")
    wheel.write_bytes(damage(wheel.read_bytes()))

    assert codes_of(wheel) == [Code.ARCHIVE]


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
