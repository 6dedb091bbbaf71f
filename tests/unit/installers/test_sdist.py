"""What a source distribution may hold, and where it is unpacked."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.errors import UnreadableError
from wheelmill.installers import package_index
from wheelmill.installers.package_index import unpack_sdist

SETUP = tarfile.TarInfo("demo-1.0/setup.py")


def archive(folder: Path, *members: tarfile.TarInfo) -> Path:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b" " * member.size))
    path = folder / "demo-1.0.tar.gz"
    path.write_bytes(content.getvalue())
    return path


def link(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    return member


def test_its_folder_is_unpacked(tmp_path: Path) -> None:
    assert unpack_sdist(archive(tmp_path, SETUP), tmp_path / "source") == tmp_path / "source" / "demo-1.0"
    assert (tmp_path / "source" / SETUP.name).exists()


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo("../x"),
        tarfile.TarInfo("demo-1.0/../../x"),
        tarfile.TarInfo("/tmp/x"),
        link("demo-1.0/x", tarfile.SYMTYPE),
        link("demo-1.0/x", tarfile.LNKTYPE),
        link("demo-1.0/x", tarfile.FIFOTYPE),
    ],
    ids=["above", "above in the middle", "absolute", "symbolic link", "hard link", "pipe"],
)
def test_an_unsafe_member_is_refused_and_nothing_unpacked(member: tarfile.TarInfo, tmp_path: Path) -> None:
    destination = tmp_path / "source"
    with pytest.raises(UnreadableError, check=coded("member-unsafe", member.name)):
        unpack_sdist(archive(tmp_path, SETUP, member), destination)
    assert not destination.exists()


def test_what_is_no_tar_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0.tar.gz"
    path.write_bytes(b"PK")
    with pytest.raises(UnreadableError, check=coded("sdist-not-a-tar")):
        unpack_sdist(path, tmp_path / "source")


def changed(name: str = "demo-1.0/x", **headers: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.pax_headers = headers
    return member


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        (changed(mtime="1e30"), "timestamp out of range"),
        (changed("demo-1.0/" + "a/" * 2000), ""),  # each Python has other words for it
        (changed(**{"GNU.sparse.map": "0,x"}), "invalid literal"),
        (changed(comment="x" * package_index.MAX_HEADER), "a member has 1048593 bytes and is no file"),
    ],
    ids=["its time", "its depth", "its gaps", "its header"],
)
def test_a_member_that_tarfile_trips_over_is_refused(member: tarfile.TarInfo, fault: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, check=coded("sdist-unreadable", "demo-1.0.tar.gz", fault)):
        unpack_sdist(archive(tmp_path, member), tmp_path / "source")


def test_an_archive_that_breaks_off_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, *(tarfile.TarInfo(f"demo-1.0/{number}") for number in range(1000)))
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(UnreadableError, check=coded("sdist-unreadable", "Compressed file ended")):
        unpack_sdist(path, tmp_path / "source")


def test_two_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, check=coded("sdist-shape")):
        unpack_sdist(archive(tmp_path, SETUP, tarfile.TarInfo("other/setup.py")), tmp_path / "source")


def test_too_large_a_source_is_refused_unwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "MAX_MEMBERS", 3)
    many = archive(tmp_path, *(tarfile.TarInfo(f"demo-1.0/{number}") for number in range(4)))
    with pytest.raises(UnreadableError, check=coded("sdist-too-large", "3")):
        unpack_sdist(many, tmp_path / "source")
    monkeypatch.setattr(package_index, "MAX_UNPACKED", 1 << 10)
    large = tarfile.TarInfo("demo-1.0/zeros")
    large.size = (1 << 10) + 1
    with pytest.raises(UnreadableError, check=coded("sdist-too-large", "3", "0")):
        unpack_sdist(archive(tmp_path, large), tmp_path / "source")
    assert not (tmp_path / "source").exists()
