"""RECORD against the files of a wheel, and where installers put them."""

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from tests import wheels
from tests.refusals import coded
from tests.wheels import write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.wheel.findings import Code
from wheelmill.wheel.record import check_record, installed_files, read_rows, record_of

DIST_INFO = "demo-1.0.dist-info"
RECORD = f"{DIST_INFO}/RECORD"
WHEEL = "demo-1.0-py3-none-any.whl"
OTHER_HASH = ["'x' does not have the hash that RECORD says"]


def details_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        findings = list(check_record(archive, DIST_INFO))
    assert {finding.code for finding in findings} <= {Code.RECORD}
    return [finding.detail for finding in findings]


def wheel_that_lists(row: bytes, folder: Path) -> Path:
    """A wheel with a file ``x`` that holds ``x``, and this row about it in a RECORD that is right otherwise."""
    with zipfile.ZipFile(write_wheel(folder / WHEEL)) as archive:
        others = archive.read(RECORD)
    return write_wheel(folder / WHEEL, files={"x": b"x"}, record=others + row)


def row_of(algorithm: str, content: bytes) -> bytes:
    """A row of RECORD."""
    text = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=")
    return b"x,%s=%s,%d\n" % (algorithm.encode(), text, len(content))


def test_every_file_of_a_folder_is_listed_with_its_hash(tmp_path: Path) -> None:
    files = {"demo/__init__.py": b"", "demo/a, b.txt": b"text", "demo/kernel.so": b"\x7fELF"}
    for name, content in {**files, RECORD: b"the old one"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert record_of(tmp_path, DIST_INFO) == wheels.record_of(files, RECORD)


def test_a_record_that_agrees_is_let_through_and_folders_and_signatures_need_no_row(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / WHEEL, files={"demo/__init__.py": b"", "demo/a, b.txt": b"text"})
    assert details_of(wheel) == []
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.mkdir("demo")
        archive.writestr(f"{RECORD}.jws", b"")
        archive.writestr(f"{RECORD}.p7s", b"")
    assert details_of(wheel) == []


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_strong_hashes_are_compared(tmp_path: Path, algorithm: str) -> None:
    assert details_of(wheel_that_lists(row_of(algorithm, b"x"), tmp_path)) == []
    assert details_of(wheel_that_lists(row_of(algorithm, b"y"), tmp_path)) == OTHER_HASH


@pytest.mark.parametrize("row", [b"x,,\n", b"x,,1\n", b"x,x,1\n", row_of("md5", b"x"), row_of("sha1", b"x")])
def test_a_file_needs_a_strong_hash(tmp_path: Path, row: bytes) -> None:
    assert details_of(wheel_that_lists(row, tmp_path)) == OTHER_HASH


def test_the_list_and_the_files_are_the_same(tmp_path: Path) -> None:
    assert details_of(wheel_that_lists(b"y,,\n", tmp_path)) == ["'x' is not listed", "'y' is listed but missing"]


@pytest.mark.parametrize("record", [b"one column\n", b"a,b,c,d\n", b"\n", b"\xff,,\n", b'"a,,\n', None])
def test_a_record_that_is_missing_or_cannot_be_read_is_one_fault(tmp_path: Path, record: bytes | None) -> None:
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as archive:
        archive.writestr(*("demo/__init__.py", b"") if record is None else (RECORD, record))
    (detail,) = details_of(tmp_path / WHEEL)
    assert detail.startswith(f"{RECORD} is missing or unreadable")


def test_a_record_of_too_many_rows_is_refused() -> None:
    with pytest.raises(UnreadableError, check=coded("record-too-large", "50000")):
        read_rows(b"x,,\n" * 50_001)


@pytest.mark.parametrize(
    ("member", "place", "path"),
    [
        ("demo/_C.so", "library", "demo/_C.so"),
        ("demo-1.0.data/purelib/demo/x.py", "library", "demo/x.py"),
        ("demo-1.0.data/platlib/demo/x.so", "library", "demo/x.so"),
        ("demo-1.0.data/scripts/demo", "programs", "demo"),
        ("demo-1.0.data/data/bin/demo", "programs", "demo"),
        ("demo-1.0.data/data/Scripts/demo.exe", "programs", "demo.exe"),
        ("demo-1.0.data/data/lib/python3.12/site-packages/x.pth", "library", "x.pth"),
        ("demo-1.0.data/data/lib/python3/dist-packages/pip/x.py", "library", "pip/x.py"),
        ("demo-1.0.data/data/share/demo.txt", "environment", "share/demo.txt"),
        ("demo-1.0.data/data/bin", "environment", "bin"),
        ("demo-1.0.data/headers/bin/demo.h", "elsewhere", "bin/demo.h"),
        ("demo-1.0.data/readme", "library", "demo-1.0.data/readme"),
        ("demo.data/x.py", "library", "demo.data/x.py"),
    ],
)
def test_a_member_has_a_place(member: str, place: str, path: str) -> None:
    (file,) = installed_files([member])
    assert (file.place, str(file.path)) == (place, path)


@pytest.mark.parametrize(("member", "top"), [("demo/_C.so", "demo"), ("demo.abi3.so", "demo"), ("x.pth", "x")])
def test_a_file_belongs_to_a_module_or_a_folder(member: str, top: str) -> None:
    (file,) = installed_files([member])
    assert file.top == top
