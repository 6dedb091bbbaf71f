"""Alias wheels: whole, and the same bytes for ever."""

import io
import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from wheelmill.names import project_name
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.metadata import faults_of, read_metadata
from wheelmill.wheel.name import AliasWheel
from wheelmill.wheel.record import check_record

SUFFIX = AliasWheel(
    project=project_name("demo-cu13"),
    version=Version("1.0+cu130torch2.11"),
    summary="demo for CUDA 13: requires demo 1.0+cu130torch2.11",
    requires_python=">=3.10",
    requires_dist=("demo==1.0+cu130torch2.11",),
)
EXTRAS = AliasWheel(
    project=project_name("demo-gpu"),
    version=Version("1.0+extras.13"),
    summary="demo 1.0, with an extra for each CUDA major",
    requires_dist=('demo-cu13<=1.0,>=1.0; extra == "cuda13"',),
    extras=("cuda13",),
)


@pytest.mark.parametrize("alias", [SUFFIX, EXTRAS])
def test_it_is_a_whole_wheel(alias: AliasWheel, tmp_path: Path) -> None:
    path = tmp_path / alias.name.filename
    path.write_bytes(alias.content)
    assert check_archive(path) == ()
    with zipfile.ZipFile(path) as archive:
        assert list(check_record(archive, f"{alias.project.replace('-', '_')}-{alias.version}.dist-info")) == []


@pytest.mark.parametrize("alias", [SUFFIX, EXTRAS])
def test_its_metadata_says_what_it_stands_for(alias: AliasWheel) -> None:
    assert list(faults_of(alias.metadata, ())) == []
    metadata = read_metadata(alias.metadata)
    assert (metadata.name, metadata.version) == (alias.project, alias.version)
    assert tuple(map(str, metadata.requires_dist or ())) == alias.requires_dist
    assert tuple(metadata.provides_extra or ()) == alias.extras
    assert metadata.requires_python == alias.requires_python


def test_its_bytes_are_those_that_lock_files_have() -> None:
    """A site makes them again each time: other bytes would break every lock that has one."""
    assert sha256_of_bytes(SUFFIX.content) == "9656d0182f7bfd83a298de1c8b321efc6afd4b6846852e1838aeb7e58d61d208"
    assert sha256_of_bytes(EXTRAS.content) == "2ddcc7c81d3b717e42c07a1e9283b59ce82f83984b155a87f65a064d82a3d9e4"


def test_nothing_in_it_is_compressed() -> None:
    with zipfile.ZipFile(io.BytesIO(SUFFIX.content)) as archive:
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
