"""Releases as folders."""

import errno
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.files import modes_of, umask
from tests.kills import EACH_OF_SOME, killed_at_every_step
from tests.refusals import coded
from tests.releases import manifests_in, store_in
from tests.unit.build.conftest import PROVENANCE
from tests.unit.release.conftest import NOW, certified_wheel, everything_in
from wheelmill.errors import ReleaseError
from wheelmill.names import ReleaseTag
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.ledger.records import LedgerState
from wheelmill.release.ledger.releases import absent_files, published, rebuild
from wheelmill.release.manifest.record import MANIFEST
from wheelmill.release.manifest.rules import listed_of
from wheelmill.release.publish import publish
from wheelmill.system.files import PUBLIC_FILE, write_bytes

NAME = "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
OTHER = "demo-1.1-py3-none-any.whl"


def test_a_release_holds_wheels_what_lies_beside_them_and_a_manifest(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    publish(store, [wheel], now=NOW)
    release = store.directory / "v2026-11-21"
    assert {path.name for path in release.iterdir()} == {NAME, f"{NAME}.metadata", f"{NAME}.cdx.json", "manifest.json"}
    assert (release / NAME).read_bytes() == wheel.file.path.read_bytes()
    with zipfile.ZipFile(wheel.file.path) as archive:
        metadata = archive.read("demo-1.0+cu130torch2.11.dist-info/METADATA")
    assert (release / f"{NAME}.metadata").read_bytes() == metadata


def test_a_released_wheel_with_other_bytes_is_not_fetched(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    (manifest,) = publish(store, [wheel], now=NOW).releases
    here = tmp_path / "here"
    here.mkdir()
    assert store.fetch(manifest.tag, NAME, wheel.file.sha256, here).sha256 == wheel.file.sha256
    (store.directory / manifest.tag / NAME).write_bytes(b"other bytes")
    with pytest.raises(ReleaseError, check=coded("hash-differs")):
        store.fetch(manifest.tag, NAME, wheel.file.sha256, here)


def test_the_manifest_says_what_each_wheel_is(store: DirectoryStore, tmp_path: Path) -> None:
    publish(store, [certified_wheel(tmp_path / NAME, requires_python=">=3.11", provenance=PROVENANCE)], now=NOW)
    release = store.directory / "v2026-11-21"
    manifest = json.loads((release / "manifest.json").read_bytes())
    (entry,) = manifest.pop("wheels")
    assert manifest == {"schema": "wheelmill.manifest/1", "tag": "v2026-11-21", "published_at": "2026-11-21T12:30:15Z"}
    certificate = entry.pop("certificate")
    assert entry == {
        "filename": NAME,
        "sha256": hashlib.sha256((release / NAME).read_bytes()).hexdigest(),
        "size": (release / NAME).stat().st_size,
        "metadata_sha256": hashlib.sha256((release / f"{NAME}.metadata").read_bytes()).hexdigest(),
        "name": "demo",
        "version": "1.0+cu130torch2.11",
        "requires_python": ">=3.11",
        "requires_dist": [],
        "attestation": None,
        "attested": False,
        "provenance": False,
        "plain": None,
        "external": {
            "build_requires": [
                "dep:virtual/compiler/cxx",
                "dep:virtual/compiler/cuda",
                "dep:generic/cuda-toolkit@13.0.2",
            ],
            "host_requires": [],
            "dependencies": ["dep:generic/cuda-toolkit@>=13,<14"],
        },
    }
    assert certificate["sha256"] == entry["sha256"]
    assert certificate["provenance"]["cell"]["cuda"] == "13.0"
    assert certificate["provenance"]["architectures"] == ["9.0", "12.0+PTX"]


def test_manifests_are_read_as_they_were_published(store: DirectoryStore, tmp_path: Path) -> None:
    manifests = publish(store, [certified_wheel(tmp_path / NAME, provenance=PROVENANCE)], now=NOW).releases
    assert manifests_in(store) == tuple(map(listed_of, manifests))


@pytest.mark.parametrize("mask", [0o002, 0o077])
def test_everybody_may_read_a_release_whatever_the_umask_is(store: DirectoryStore, tmp_path: Path, mask: int) -> None:
    with umask(mask):
        publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    release = store.directory / "v2026-11-21"
    assert modes_of(store.directory, release) == {0o755}
    assert modes_of(*release.iterdir()) == {0o644}


def test_a_taken_tag_is_never_overwritten(store: DirectoryStore, tmp_path: Path) -> None:
    taken = store.directory / "v2026-11-21" / "something"
    taken.parent.mkdir(parents=True)
    taken.write_text("of somebody else")
    before = everything_in(store.directory)
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    assert manifest.tag == "v2026-11-21.2"
    assert everything_in(store.directory).items() >= before.items()


@EACH_OF_SOME
def test_a_kill_at_any_step_publishes_all_or_nothing_and_the_next_release_is_right(tmp_path: Path, stride: int) -> None:
    def releases_in(folder: Path) -> DirectoryStore:
        return store_in(folder / "releases")

    wheel = certified_wheel(tmp_path / NAME)

    def release(folder: Path) -> None:
        publish(releases_in(folder), [wheel], now=NOW)

    whole = {"manifest.json", NAME, f"{NAME}.metadata", f"{NAME}.cdx.json"}
    for folder in killed_at_every_step(tmp_path, releases_in, release, stride):
        for found in (folder / "releases").glob("v*"):
            assert {path.name for path in found.iterdir()} == whole
        release(folder)
        left = {path.name for path in (folder / "releases").iterdir() if "ledger" not in path.name}
        assert left - {".lock"} == {"v2026-11-21"}
        assert {path.name for path in (folder / "releases" / "v2026-11-21").iterdir()} == whole


def test_a_full_disk_names_the_file_that_does_not_fit_and_leaves_no_trace(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = [certified_wheel(tmp_path / NAME), certified_wheel(tmp_path / OTHER)]
    copy = shutil.copyfile

    def full(source: Path, destination: Path) -> Path:
        if source.name == OTHER:
            raise OSError(errno.ENOSPC, "No space left on device", str(source))
        return copy(source, destination)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        with pytest.raises(
            ReleaseError, check=coded("release-not-writable", "releases/", "No space left on device", OTHER)
        ):
            publish(store, wheels, now=NOW)
    assert everything_in(store.directory) == {}
    (manifest,) = publish(store, wheels, now=NOW).releases
    assert manifest.tag == "v2026-11-21"
    assert (store.directory / manifest.tag / OTHER).exists()


def test_a_store_that_cannot_be_written_is_a_release_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = store_in(tmp_path / "file" / "releases")
    with pytest.raises(ReleaseError, check=coded("ledger-unreadable", "file/releases")):
        publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)


@pytest.mark.parametrize("content", [None, '{"schema": "other/1"}'], ids=["none", "another form"])
def test_an_unreadable_manifest_stops_nobody(content: str | None, store: DirectoryStore, tmp_path: Path) -> None:
    made_by_hand = store.directory / "v2026-11-20"
    made_by_hand.mkdir(parents=True)
    if content:
        (made_by_hand / "manifest.json").write_text(content)
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    warnings: list[str] = []
    assert list(published(store, warnings.append).releases) == [manifest.tag]
    assert manifests_in(store, warnings.append) == (listed_of(manifest),)
    assert len(warnings) == 2
    assert all("gh release delete v2026-11-20 --cleanup-tag" in text for text in warnings)


def test_a_manifest_that_is_no_regular_file_is_never_opened(store: DirectoryStore, tmp_path: Path) -> None:
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    pipe, endless = ReleaseTag("v2026-11-19"), ReleaseTag("v2026-11-20")
    for tag in (pipe, endless):
        (store.directory / tag).mkdir()
    os.mkfifo(store.directory / pipe / MANIFEST)
    (store.directory / endless / MANIFEST).symlink_to("/dev/zero")
    read = dict(store.read_each(dict.fromkeys((pipe, endless, manifest.tag)), MANIFEST))
    assert isinstance(read.pop(manifest.tag), bytes)
    for tag, error in read.items():
        assert isinstance(error, ReleaseError)
        assert coded("release-unreadable", tag)(error)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "endless"])
def test_a_ledger_that_is_no_regular_file_is_never_opened(make: Callable[[Path], None], store: DirectoryStore) -> None:
    store.directory.mkdir()
    make(store.directory / "ledger.tar.gz")
    with pytest.raises(ReleaseError, check=coded("ledger-unreadable", "ledger.tar.gz")):
        published(store, pytest.fail)


def test_a_file_with_a_tags_name_is_no_release(store: DirectoryStore, tmp_path: Path) -> None:
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    (store.directory / "v2026-11-20").touch()
    assert {*store.assets()} == {manifest.tag}


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir], ids=["pipe", "folder"])
def test_a_wheel_that_is_no_regular_file_is_absent(
    make: Callable[[Path], None], store: DirectoryStore, tmp_path: Path
) -> None:
    wheels = [certified_wheel(tmp_path / name) for name in (NAME, OTHER)]
    (manifest,) = publish(store, wheels, now=NOW).releases
    odd, linked = (store.directory / manifest.tag / name for name in (NAME, OTHER))
    for path in (odd, linked):
        path.unlink()
    make(odd)
    linked.symlink_to(wheels[1].file.path)
    assert absent_files(store, store.ledger.read().releases) == {manifest.tag: (NAME,)}
    with pytest.raises(ReleaseError, check=coded("release-unreadable", NAME)) as refusal:
        store.fetch(manifest.tag, NAME, wheels[0].file.sha256, tmp_path)
    assert "None" not in str(refusal.value)


def test_a_release_that_cannot_be_read_is_named(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    error = PermissionError(errno.EACCES, "Permission denied", str(store.directory / manifest.tag))
    monkeypatch.setattr("os.scandir", Mock(side_effect=error))
    with pytest.raises(ReleaseError, check=coded("release-unreadable", manifest.tag, "Permission denied")):
        store.assets()


def test_a_release_that_is_gone_is_told_and_its_names_stay_taken(store: DirectoryStore, tmp_path: Path) -> None:
    (manifest,) = publish(store, [wheel := certified_wheel(tmp_path / NAME)], now=NOW).releases
    shutil.rmtree(store.directory / manifest.tag)
    warnings: list[str] = []
    assert published(store, warnings.append).published == {NAME: (wheel.file.sha256, manifest.tag)}
    assert [text.partition(";")[0] for text in warnings] == ["v2026-11-21 is in the ledger and no longer there"]


def test_what_the_ledger_lacks_is_read_from_its_manifest(store: DirectoryStore, tmp_path: Path) -> None:
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME, provenance=PROVENANCE)], now=NOW).releases
    whole = store.ledger.read()
    (store.directory / "ledger.tar.gz").unlink()
    assert store.ledger.read() == LedgerState()
    assert published(store, pytest.fail) == whole
    publish(store, [certified_wheel(tmp_path / OTHER)], now=NOW)
    assert set(store.ledger.read().releases) == {manifest.tag, "v2026-11-21.2"}
    assert rebuild(store, pytest.fail) == store.ledger.read()


def test_a_ledger_may_be_unwritable(store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes, *, mode: int = PUBLIC_FILE) -> None:
        if path.parent == store.directory:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_bytes(path, content, mode=mode)

    monkeypatch.setattr("wheelmill.release.directory.write_bytes", full)
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    assert manifests_in(store) == (listed_of(manifest),)
