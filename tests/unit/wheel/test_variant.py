"""Wheels as variant wheels, and back."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from tests.refusals import coded
from tests.wheels import packed_wheel, write_wheel
from wheelmill.errors import IntegrityError, UnreadableError
from wheelmill.names import Architecture, CudaVersion
from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.cuda_variant import NULL_VARIANT, Variant
from wheelmill.wheel.label import Label
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.record import check_record
from wheelmill.wheel.variant import PLAIN_FILE, make_variant, unmake_variant, variant_name
from wheelmill.wheel.variant_label import VariantLabel
from wheelmill.wheel.variant_metadata import read_variant_metadata

VERSION = "2.8.3+cu130torch2.11"
METADATA = (
    f"Metadata-Version: 2.1\nName: demo\nVersion: {VERSION}\nRequires-Dist: torch==2.11.*\n\nVersion: {VERSION}\n"
)
VARIANT = Variant.of(CudaVersion(13, 0), [Architecture(9, 0), Architecture(12, 0)], [Architecture(12, 0)])


def packed(folder: Path, metadata: str) -> WheelFile:
    """A wheel that is packed as ours are: with data, and what no other wheel has."""
    stem = f"demo-{VERSION}"
    files = {"demo/x.so": os.urandom(5_000), "demo/tool": b"#!/bin/sh\n", f"{stem}.data/scripts/x": b"#!python\n"}
    return WheelFile.at(packed_wheel(folder / f"{stem}-cp312-cp312-linux_x86_64.whl", metadata=metadata, files=files))


@pytest.mark.parametrize("metadata", [METADATA, METADATA.replace("\n", "\r\n")])
@pytest.mark.parametrize("variant", [VARIANT, NULL_VARIANT])
def test_a_wheel_becomes_a_variant_and_the_same_wheel_again(tmp_path: Path, variant: Variant, metadata: str) -> None:
    plain = packed(tmp_path / "plain", metadata)
    made = make_variant(plain, variant, tmp_path)
    assert made.filename == f"demo-2.8.3+torch2.11-cp312-cp312-linux_x86_64-{variant.label}.whl"
    assert not check_archive(made.path)
    with zipfile.ZipFile(made.path) as archive:
        dist_info = "demo-2.8.3+torch2.11.dist-info"
        assert list(check_record(archive, dist_info)) == []
        said = read_variant_metadata(archive.read(f"{dist_info}/variant.json"))
        assert said.variants == {variant.label: variant.properties}
        assert json.loads(archive.read(f"{dist_info}/{PLAIN_FILE}")) == {
            "filename": plain.filename,
            "sha256": plain.sha256,
        }
        assert f"{dist_info.removesuffix('.dist-info')}.data/scripts/x" in archive.namelist()
    metadata_of_it = read_metadata(metadata_bytes(made.path))
    assert str(metadata_of_it.version) == "2.8.3+torch2.11"
    assert list(map(str, metadata_of_it.requires_dist or ())) == ["torch==2.11.*"]
    again = unmake_variant(made.path, tmp_path)
    assert (again.filename, again.sha256) == (plain.filename, plain.sha256)
    (tmp_path / "twice").mkdir()
    assert make_variant(again, variant, tmp_path / "twice").sha256 == made.sha256
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == sorted([made.filename, plain.filename])


@pytest.mark.parametrize(
    ("version", "without"),
    [
        ("2.8.3+cu130torch2.11", "2.8.3+torch2.11"),
        ("2.8.3+git1a2b.cu130torch2.11", "2.8.3+git1a2b.torch2.11"),
        ("2.8.3+cu130", "2.8.3"),
        ("2.8.3+git1a2b.cu130", "2.8.3+git1a2b"),
    ],
)
def test_variants_of_all_cudas_share_a_version(version: str, without: str) -> None:
    label = Label.parse(Version(version).local or "")
    assert label
    assert str(label.without_cuda(Version(version))) == without


def test_a_wheel_that_was_not_packed_here_becomes_none(tmp_path: Path) -> None:
    foreign = write_wheel(tmp_path / f"demo-{VERSION}-cp312-cp312-linux_x86_64.whl", metadata=METADATA)
    (tmp_path / "made").mkdir()
    with pytest.raises(IntegrityError, check=coded("hash-differs")):
        make_variant(WheelFile.at(foreign), NULL_VARIANT, tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []


def test_a_wheel_without_our_label_is_refused() -> None:
    with pytest.raises(UnreadableError, check=coded("label-without-cuda")):
        variant_name(WheelName.parse("demo-1.0-py3-none-any.whl"), VariantLabel("null"))


def said_of(filename: str) -> bytes:
    return json.dumps({"filename": filename, "sha256": ""}).encode()


@pytest.mark.parametrize(
    ("said", "error", "fault"),
    [
        (b"[]", UnreadableError, PLAIN_FILE),
        (b'{"filename": "\xff"}', UnreadableError, PLAIN_FILE),
        (b"[" * 100_000, UnreadableError, PLAIN_FILE),
        (b'{"filename": "../../x.whl", "sha256": ""}', UnreadableError, "not a path"),
        (b'{"filename": "demo-2.8.3-py3-none-any.whl", "sha256": ""}', UnreadableError, "no label"),
        (said_of("other-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"), UnreadableError, "another variant"),
        (said_of("demo-2.8.3+cu130torch2.11-cp313-cp313-linux_x86_64.whl"), UnreadableError, "another variant"),
        (said_of("demo-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"), IntegrityError, "not "),
    ],
)
def test_a_hostile_variant_wheel_gives_none(tmp_path: Path, said: bytes, error: type[Exception], fault: str) -> None:
    path = tmp_path / "demo-2.8.3+torch2.11-cp312-cp312-linux_x86_64-null.whl"
    plain = write_wheel(
        tmp_path / "demo-2.8.3+torch2.11-cp312-cp312-linux_x86_64.whl",
        files={f"demo-2.8.3+torch2.11.dist-info/{PLAIN_FILE}": said},
    ).rename(path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, match=fault):
        unmake_variant(plain, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        (f"demo-{VERSION}.dist-info/variant.json/x", "variant.json: Is a directory"),
        (f"demo-{VERSION}.dist-info/{PLAIN_FILE}/x", f"{PLAIN_FILE}: Is a directory"),
        ("demo-2.8.3+torch2.11.data/scripts/y", "it has both"),
    ],
)
def test_a_wheel_with_something_in_the_place_of_ours_becomes_none(tmp_path: Path, member: str, fault: str) -> None:
    files = {member: b"", f"demo-{VERSION}.data/scripts/x": b""}
    wheel = write_wheel(tmp_path / f"demo-{VERSION}-cp312-cp312-linux_x86_64.whl", metadata=METADATA, files=files)
    with pytest.raises(UnreadableError, match=fault):
        make_variant(WheelFile.at(wheel), NULL_VARIANT, tmp_path)
    assert list(tmp_path.iterdir()) == [wheel]
