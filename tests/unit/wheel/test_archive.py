import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import pytest

from tests.refusals import coded
from tests.wheels import write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.wheel import archive
from wheelmill.wheel.archive import (
    MAX_DIRECTORY,
    MAX_FINDINGS,
    MAX_RATIO,
    SOURCE_DATE_EPOCH,
    check_archive,
    check_members,
    open_archive,
    pack,
    read_member,
)
from wheelmill.wheel.findings import Code

END = struct.Struct("<4sHHHHIIH")
CENTRAL_ENTRY = b"PK\1\2"
FLAGS_AT = 8


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files={"demo/__init__.py": b"", "demo/a b.txt": b"x"})


def codes_of(path: Path) -> list[Code]:
    return [finding.code for finding in check_archive(path)]


def is_refused(path: Path, code: str, *facts: object) -> bool:
    """Whether the archive is refused for this reason."""
    with (
        path.open("rb") as file,
        pytest.raises(UnreadableError, check=coded(code, *facts)),
        open_archive(file) as opened,
    ):
        check_members(file, opened.infolist())
    return [finding.code for finding in check_archive(path)] == [Code.ARCHIVE]


def add(path: Path, name: str, content: bytes = b"added", *, mode: int = 0o100644, method: int = 0) -> Path:
    """Add a member to a zip, whatever its name."""
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    member.compress_type = method
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(member, content)
    return path


def rewritten(path: Path, change: Callable[[bytes], bytes]) -> Path:
    path.write_bytes(change(path.read_bytes()))
    return path


def test_a_sound_wheel_is_let_through(wheel: Path) -> None:
    assert check_archive(wheel) == ()


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "demo/../../x", "demo/..", "/etc/x", "//x", "demo\\x", "..\\x", "C:x", "."),
        *("demo/" + "x" * 256, "demo/" + "ä" * 128, "x/" * 600 + "x"),  # which no disk holds
        *("demo//__init__.py", "demo/./__init__.py", "torch./x.py", "torch /x.py", "demo/x.", "demo/x "),
        *("demo/CON", "demo/con.py", "aux/x.py", "demo/Com1.tar.gz", "demo/lpt¹", "demo/nul .txt", "demo/prn/"),
        *(f"demo/{character}" for character in '<>:"|?*\x7f\t\x85\xa0\xad\u200b\u2028\u202e\u2066\ue000'),
    ],
)
def test_a_name_that_leads_out_or_that_some_system_does_not_hold_is_refused(wheel: Path, name: str) -> None:
    assert codes_of(add(wheel, name)) == [Code.PATH]


@pytest.mark.parametrize(
    "name",
    [
        *("demo/console.py", "demo/com10", "demo/.hidden", "demo/ x", "demo/x..y", "demo/a+b@c,d;e=f!.txt", "folder/"),
        *("demo/größe.txt", "demo/データ.json", "demo/😀.txt", "demo/" + "x" * 255),
    ],
)
def test_a_name_that_every_system_holds_passes(wheel: Path, name: str) -> None:
    assert codes_of(add(wheel, name)) == []


def test_a_name_that_is_not_marked_as_utf_8_is_refused(wheel: Path) -> None:
    add(wheel, "demo/ä.py")

    def without_flag(content: bytes) -> bytes:
        for signature, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            at = content.rindex(signature) + flags
            content = content[:at] + b"\0\0" + content[at + 2 :]
        return content

    assert codes_of(rewritten(wheel, without_flag)) == [Code.PATH]


def test_a_name_that_ends_early_is_refused(wheel: Path) -> None:
    add(wheel, "demo/x?.py")
    assert codes_of(rewritten(wheel, lambda content: content.replace(b"demo/x?.py", b"demo/x\0.py"))) == [Code.PATH]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "mode", "method"),
    [
        *(
            (name, 0o100644, 0)
            for name in (
                "demo/__init__.py",
                "Demo/__INIT__.py",
                "\uff44emo/__init__.py",
                "demo/A B.TXT/x",
                "demo/a b.txt/x",
            )
        ),
        *((f"demo/{kind}", kind | 0o777, 0) for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK)),
        *(("demo/x", 0o100644, method) for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)),  # which installers lack
    ],
)
def test_a_repeated_name_a_link_or_other_compression_is_refused(wheel: Path, name: str, mode: int, method: int) -> None:
    assert codes_of(add(wheel, name, mode=mode, method=method)) == [Code.ARCHIVE]


@pytest.mark.parametrize("ratio", [2, pytest.param(MAX_RATIO, marks=pytest.mark.nightly)])
def test_a_bomb_is_refused(ratio: int, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_RATIO", ratio)
    add(wheel, "demo/zeros", bytes(ratio + 1 << 20), method=zipfile.ZIP_DEFLATED)
    assert codes_of(wheel) == [Code.ARCHIVE]


def test_too_many_members_are_refused(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    assert codes_of(wheel) == [Code.ARCHIVE]


def test_every_fault_is_named(wheel: Path) -> None:
    add(wheel, "../x", mode=stat.S_IFLNK | 0o777, method=zipfile.ZIP_BZIP2)
    assert codes_of(wheel) == [Code.PATH, Code.ARCHIVE, Code.ARCHIVE]


def encrypted(content: bytes) -> bytes:
    flags = content.index(CENTRAL_ENTRY) + FLAGS_AT
    return content[:flags] + bytes([content[flags] | 1]) + content[flags + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(encrypted, id="encrypted"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"not a zip" * 100, id="other"),
        pytest.param(lambda content: content[:-1], id="last byte cut"),
        pytest.param(lambda content: content[: len(content) // 2], id="first half"),
        pytest.param(lambda content: content[len(content) // 2 :], id="second half"),
        pytest.param(lambda content: content.replace(b"one of a kind", b"one of a mind"), id="changed content"),
        pytest.param(lambda content: content.replace(b"demo/", b"evil/") + content, id="two zips"),
        pytest.param(lambda content: b"#!/bin/sh\n" + content, id="bytes before the first member"),
        pytest.param(lambda content: content + b"x", id="text behind the end"),
        pytest.param(lambda content: content + b"\0" * 22, id="zeros behind the end"),
        pytest.param(lambda content: content + b"PK\5\6" + bytes(18), id="a second end"),
    ],
)
def test_a_damaged_file_is_refused(wheel: Path, damage: Callable[[bytes], bytes]) -> None:
    add(wheel, "demo/x", b"one of a kind")
    assert codes_of(rewritten(wheel, damage)) == [Code.ARCHIVE]


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


def test_the_same_content_gives_the_same_bytes_and_other_content_others(packed: Path, tmp_path: Path) -> None:
    other = folder_of(tmp_path / "other", reversed(FILES), time=SOURCE_DATE_EPOCH * 4)
    (other / "empty").mkdir()
    pack(other, tmp_path / "other.whl")
    assert (tmp_path / "other.whl").read_bytes() == packed.read_bytes()
    (other / "zz/last.txt").write_bytes(b"test")
    pack(other, tmp_path / "other.whl")
    assert (tmp_path / "other.whl").read_bytes() != packed.read_bytes()


def test_everything_is_packed_the_dist_info_last_and_what_can_be_run_stays_so(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        members = {member.filename: member.external_attr >> 16 for member in archive.infolist()}
        assert {name: archive.read(name) for name in members} == FILES
    assert [name.partition("/")[0] for name in members] == [*["demo"] * 2, "zz", *["demo-1.0.dist-info"] * 2]
    assert members == {name: 0o100755 if name.endswith(".so") else 0o100644 for name in FILES}
    assert check_archive(packed) == ()


def test_a_folder_that_cannot_be_packed_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    (folder / "demo/surrogate\udcff").write_bytes(b"a name that no zip can hold")
    with pytest.raises(UnicodeEncodeError):
        pack(folder, tmp_path / "new" / "demo.whl")
    assert list((tmp_path / "new").iterdir()) == []


def moved(content: bytes, added: bytes, *, at: int) -> bytes:
    """A zip with bytes added before its list of members, whose end record knows where the list is now."""
    *head, start, comment = END.unpack(content[-22:])
    end = END.pack(*head, start + len(added), comment)
    return content[:at] + added + content[at:-22] + end


def start_of_list(content: bytes) -> int:
    return int.from_bytes(content[-6:-2], "little")


def local_entry(name: bytes, content: bytes) -> bytes:
    sizes = (zlib.crc32(content), len(content), len(content), len(name), 0)
    return struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 0, *sizes) + name + content


def test_a_member_without_a_name_is_refused(wheel: Path) -> None:
    assert is_refused(add(wheel, ""), "zip-invalid")


def test_a_member_that_only_has_a_header_of_its_own_is_refused(wheel: Path) -> None:
    hidden = local_entry(b"demo/__init__.py", b"evil")
    start = start_of_list(wheel.read_bytes())
    rewritten(wheel, lambda content: moved(content, hidden, at=start))
    assert is_refused(wheel, "bytes-unlisted", start)


def test_a_member_that_hides_behind_the_packed_bytes_of_another_is_refused(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("demo/x", b"text" * 100)
    content = wheel.read_bytes()
    with zipfile.ZipFile(wheel) as file:
        before = struct.pack("<I", file.getinfo("demo/x").compress_size)
    hidden = local_entry(b"demo/__init__.py", b"evil")
    longer = struct.pack("<I", int.from_bytes(before, "little") + len(hidden))
    at = content.rindex(b"demo/x", 0, start_of_list(content))
    sizes = (at - 12, content.rindex(b"demo/x") - 26)
    content = moved(content, hidden, at=start_of_list(content))
    for place in (sizes[0], sizes[1] + len(hidden)):
        assert content[place : place + 4] == before
        content = content[:place] + longer + content[place + 4 :]
    wheel.write_bytes(content)
    assert is_refused(wheel, "member-damaged", "demo/x")


def test_a_member_whose_own_header_has_another_name_is_refused(wheel: Path) -> None:
    rewritten(wheel, lambda content: content.replace(b"demo/a b.txt", b"demo/evil.py", 1))
    assert is_refused(wheel, "header-differs", "demo/a b.txt")


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(wheel: Path) -> None:
    add(wheel, "demo/zeros", bytes(1 << 20), method=zipfile.ZIP_DEFLATED)
    short = struct.pack("<II", zlib.crc32(b""), 0)
    true = struct.pack("<I", zlib.crc32(bytes(1 << 20)))
    with zipfile.ZipFile(wheel) as file:
        packed = struct.pack("<I", file.getinfo("demo/zeros").compress_size)
    lie = short[:4] + packed + short[4:]
    rewritten(wheel, lambda content: content.replace(true + packed + struct.pack("<I", 1 << 20), lie))
    assert is_refused(wheel, "member-too-large", "demo/zeros")


def test_two_members_of_the_same_bytes_are_refused(wheel: Path) -> None:
    content = wheel.read_bytes()
    start = start_of_list(content)
    entry = content[start : content.index(b"PK\1\2", start + 4)]
    twin = entry.replace(b"demo/__init__.py", b"demo/__twin__.py")
    *head, here, members, size, at, comment = END.unpack(content[-22:])
    end = END.pack(*head, here + 1, members + 1, size + len(twin), at, comment)
    wheel.write_bytes(content[:-22] + twin + end)
    assert is_refused(wheel, "bytes-unlisted", 48)


def test_a_second_name_in_an_extra_field_is_refused(wheel: Path) -> None:
    member = zipfile.ZipInfo("demo/x")
    member.extra = struct.pack("<HHBI", 0x7075, 5 + 6, 1, zlib.crc32(b"demo/x")) + b"evil.p"
    with zipfile.ZipFile(wheel, "a") as file:
        file.writestr(member, b"")
    assert is_refused(wheel, "second-name", "demo/x")


def test_no_more_findings_are_told_than_somebody_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as file:
        for number in range(MAX_FINDINGS + 10):
            file.writestr(f"../{number}", b"")
    assert len(check_archive(wheel)) == MAX_FINDINGS


def test_a_list_of_members_that_fills_memory_is_not_read(wheel: Path) -> None:
    end = END.pack(b"PK\5\6", 0, 0, 1, 1, MAX_DIRECTORY + 1, 0, 0)
    wheel.write_bytes(bytes(MAX_DIRECTORY + 1) + end)
    assert is_refused(wheel, "members-too-large", MAX_DIRECTORY + 1)


class Unseekable(io.RawIOBase):
    """What makes zipfile write sizes behind members."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]  # what zipfile gives
        return self._file.write(content)


def write_members(file: zipfile.ZipFile, *, wide: bool) -> None:
    for name in ("demo/__init__.py", "demo/ä.txt"):
        with file.open(name, "w", force_zip64=wide) as member:
            member.write(b"text" * 1000)


@pytest.mark.parametrize("wide", [False, True])
def test_a_wheel_whose_sizes_stand_behind_its_members_is_let_through(tmp_path: Path, *, wide: bool) -> None:
    path = tmp_path / "demo.whl"
    with path.open("wb") as out, zipfile.ZipFile(Unseekable(out), "w", zipfile.ZIP_DEFLATED) as file:
        write_members(file, wide=wide)
    assert check_archive(path) == ()


def test_a_wheel_with_zip64_records_is_let_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    path = tmp_path / "demo.whl"
    with zipfile.ZipFile(path, "w") as file:
        write_members(file, wide=True)
    assert b"PK\6\6" in path.read_bytes()
    assert check_archive(path) == ()


@pytest.mark.parametrize(
    ("name", "method", "code"),
    [
        ("x", 0, "member-absent"),
        ("demo/x", zipfile.ZIP_BZIP2, "method-unknown"),
        ("demo/x", zipfile.ZIP_LZMA, "method-unknown"),
        ("demo/x", zipfile.ZIP_DEFLATED, "member-too-large"),
    ],
)
def test_a_missing_large_or_foreign_member_is_not_read(wheel: Path, name: str, method: int, code: str) -> None:
    add(wheel, "demo/x", b"x" * 100, method=method)
    with wheel.open("rb") as file, open_archive(file) as opened, pytest.raises(UnreadableError, check=coded(code)):
        read_member(opened, name, 10)
