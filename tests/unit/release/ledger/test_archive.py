"""Archives of ledgers, and of others that say they are one."""

import gzip
import io
import tarfile
from collections.abc import Callable

import pytest

from tests.refusals import coded
from wheelmill.errors import UnreadableError
from wheelmill.release.ledger import archive
from wheelmill.release.ledger.archive import read_archive, write_archive

FILES = {"README.md": b"a ledger\n", "releases/v2026-11-21.json": b"{}", "work.json": b""}


def packed(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return written.getvalue()


def test_what_is_packed_is_read() -> None:
    assert read_archive(write_archive(FILES)) == FILES
    assert write_archive(FILES) == write_archive(dict(reversed(FILES.items())))


@pytest.mark.parametrize("name", ["ledger/../../etc/passwd", "ledger/a/b/c", "work.json", "/", "ledger/.."])
def test_no_path_leads_out_of_it(name: str) -> None:
    with pytest.raises(UnreadableError, check=coded("archive-foreign-file")):
        read_archive(packed((tarfile.TarInfo(name), b"x")))


def test_links_are_no_files() -> None:
    link = tarfile.TarInfo("ledger/work.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(UnreadableError, check=coded("archive-foreign-file")):
        read_archive(packed((link, b"")))


def test_it_is_read_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 20)
    with pytest.raises(UnreadableError, check=coded("archive-too-large", "1048576")):
        read_archive(gzip.compress(bytes(2 << 20)))
    monkeypatch.setattr(archive, "MAX_FILES", 2)
    with pytest.raises(UnreadableError, check=coded("archive-too-large", "2")):
        read_archive(write_archive(FILES))


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"no archive",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-30],
        lambda _: gzip.compress(b"x" * 1024),
    ],
    ids=["text", "half", "without its end", "no tar"],
)
def test_what_is_no_archive_is_named(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(UnreadableError, check=coded("archive-damaged")):
        read_archive(damage(write_archive(FILES)))
