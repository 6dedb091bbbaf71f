import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.wheel import archive
from wheelmill.wheel.archive import check_archive
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
