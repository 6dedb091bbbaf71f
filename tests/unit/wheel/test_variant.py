"""Wheels as variant wheels and back, and the properties that variants are compared by."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from tests.refusals import coded
from tests.wheels import packed_wheel, write_wheel
from wheelmill.errors import IntegrityError, UnreadableError
from wheelmill.names import CudaVersion
from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.label import Label
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import VariantLabel, WheelFile, WheelName
from wheelmill.wheel.record import check_record
from wheelmill.wheel.variant import (
    KNOWN_SCHEMAS,
    MAX_VALUES,
    MAX_VARIANT_METADATA,
    NULL_VARIANT,
    PLAIN_FILE,
    SCHEMA,
    Variant,
    make_variant,
    metadata_of,
    read_variant_metadata,
    unmake_variant,
    variant_metadata_bytes,
    variant_name,
)

VERSION = "2.8.3+cu130torch2.11"
METADATA = (
    f"Metadata-Version: 2.1\nName: demo\nVersion: {VERSION}\nRequires-Dist: torch==2.11.*\n\nVersion: {VERSION}\n"
)
VARIANT = Variant.of(CudaVersion(13, 0), ["sm_90", "sm_120"], ["compute_120"])


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
        plain_file = json.loads(archive.read(f"{dist_info}/{PLAIN_FILE}"))
        assert plain_file == {"filename": plain.filename, "sha256": plain.sha256}
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
    ("said", "error", "code"),
    [
        (b"[]", UnreadableError, "plain-file-invalid"),
        (b'{"filename": "\xff"}', UnreadableError, "plain-file-invalid"),
        (b"[" * 100_000, UnreadableError, "plain-file-invalid"),
        (b'{"filename": "../../x.whl", "sha256": ""}', UnreadableError, "file-name-not-plain"),
        (b'{"filename": "demo-2.8.3-py3-none-any.whl", "sha256": ""}', UnreadableError, "label-without-cuda"),
        (said_of("other-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"), UnreadableError, "variant-of-another"),
        (said_of("demo-2.8.3+cu130torch2.11-cp313-cp313-linux_x86_64.whl"), UnreadableError, "variant-of-another"),
        (said_of("demo-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"), IntegrityError, "hash-differs"),
    ],
)
def test_a_hostile_variant_wheel_gives_none(tmp_path: Path, said: bytes, error: type[Exception], code: str) -> None:
    path = tmp_path / "demo-2.8.3+torch2.11-cp312-cp312-linux_x86_64-null.whl"
    plain = write_wheel(
        tmp_path / "demo-2.8.3+torch2.11-cp312-cp312-linux_x86_64.whl",
        files={f"demo-2.8.3+torch2.11.dist-info/{PLAIN_FILE}": said},
    ).rename(path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, check=coded(code)):
        unmake_variant(plain, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("member", "code", "fact"),
    [
        (f"demo-{VERSION}.dist-info/variant.json/x", "file-failed", "variant.json"),
        (f"demo-{VERSION}.dist-info/{PLAIN_FILE}/x", "file-failed", PLAIN_FILE),
        ("demo-2.8.3+torch2.11.data/scripts/y", "dist-info-folders", "demo-2.8.3+torch2.11.data"),
    ],
)
def test_a_wheel_with_a_file_in_place_of_ours_is_none(tmp_path: Path, member: str, code: str, fact: str) -> None:
    files = {member: b"", f"demo-{VERSION}.data/scripts/x": b""}
    wheel = write_wheel(tmp_path / f"demo-{VERSION}-cp312-cp312-linux_x86_64.whl", metadata=METADATA, files=files)
    with pytest.raises(UnreadableError, check=coded(code, fact)):
        make_variant(WheelFile.at(wheel), NULL_VARIANT, tmp_path)
    assert list(tmp_path.iterdir()) == [wheel]


CUDA = CudaVersion(13, 0)


def gpus_of(*code: str) -> tuple[str, ...] | None:
    """The values of ``sm_arch`` of a wheel with such code."""
    sass, ptx = ([name for name in code if name.startswith(kind)] for kind in ("sm_", "compute_"))
    variant = Variant.of(CUDA, sass, ptx)
    return variant.properties["nvidia"].get("sm_arch", ()) if variant else None


@pytest.mark.parametrize(
    ("code", "values"),
    [
        (["sm_80", "sm_90", "compute_120", "sm_120"], ("80_real", "90_real", "120_real", "120_virtual")),
        (["sm_90a"], ("90_real",)),  # no other GPU is of its major release
        (["sm_100f"], ("100_real",)),  # its family is what that word says
        (["sm_100", "sm_100a"], ("100_real",)),
        (["sm_100a", "sm_90"], ("90_real",)),  # 100_real would be taken for a B300, which does not run it
        (["sm_87", "sm_80"], ("80_real",)),  # for a Jetson, not for what uv thinks is like it
        (["compute_90a", "sm_80"], ("80_real",)),
        ([], ()),
        (["sm_100a"], None),
        (["sm_87"], None),
    ],
)
def test_gpus_are_named_where_the_words_are_true(code: list[str], values: tuple[str, ...] | None) -> None:
    assert gpus_of(*code) == values


def test_a_label_stands_for_its_properties() -> None:
    code, more = ["sm_90"], ["sm_90", "sm_120"]
    variants = [Variant.of(CUDA, code, []), Variant.of(CUDA, more, []), Variant.of(CudaVersion(12, 8), code, [])]
    labels = [variant.label for variant in variants if variant]
    assert [label.partition("_")[0] for label in labels] == ["cu130", "cu130", "cu128"]
    assert len({*labels}) == len(labels)
    assert max(map(len, labels)) <= 16
    assert Variant.of(CUDA, reversed(more), []) == variants[1]


def test_what_is_said_of_them_follows_a_known_draft() -> None:
    variant = Variant.of(CUDA, ["sm_90"], [])
    assert variant
    said = metadata_of({variant.label: variant.properties, NULL_VARIANT.label: NULL_VARIANT.properties})
    assert read_variant_metadata(variant_metadata_bytes(said)) == said
    assert said.schema in KNOWN_SCHEMAS


LIST: dict[str, Any] = {
    "$schema": SCHEMA,
    "default-priorities": {"namespace": ["nvidia"]},
    "providers": {"nvidia": {"plugin-api": "some.plugin:Class", "requires": ["some-provider>=1"]}},
    "variants": {"cu130": {"nvidia": {"sm_arch": ["90_real", "120_real"]}}, "null": {}},
}


def changed(**keys: object) -> bytes:
    return json.dumps({**LIST, **{key.replace("_", "-"): value for key, value in keys.items()}}).encode()


def test_what_is_written_is_read_again() -> None:
    metadata = read_variant_metadata(changed())
    assert metadata.is_known
    assert metadata.variants == {"cu130": {"nvidia": {"sm_arch": ("90_real", "120_real")}}, "null": {}}
    assert metadata.providers["nvidia"].plugin_api == "some.plugin:Class"
    written = variant_metadata_bytes(metadata)
    assert json.loads(written) == LIST
    assert variant_metadata_bytes(read_variant_metadata(written)) == written


def test_keys_that_the_drafts_lack_are_passed_over_and_other_schemas_are_told() -> None:
    metadata = read_variant_metadata(changed(**{"$schema": "https://example.org/v9.json", "static_properties": {}}))
    assert not metadata.is_known


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        *((b"[]", ""), (b"\xff", ""), (b"[" * 100_000, "")),
        (changed(variants={"CU": {}}), "'CU'"),
        (changed(variants={"null": {"nvidia": {"a": ["b"]}}}), "'null'"),
        (changed(variants={"x": {"amd": {"a": ["b"]}}}), "variants.x"),
        (changed(variants={"x": {"nvidia": {"a": []}}}), "variants.x.nvidia.a: "),
        (changed(variants={"x": {"nvidia": {"a": ["b", "b"]}}}), "variants.x.nvidia.a: "),
        (changed(variants={"x": {"nvidia": {"a": ["B\x1b"]}}}), r"'B\x1b'"),
        (changed(variants={"x": {"nvidia": {"A": ["b"]}}}), "'A'"),
        (changed(variants={"x": {"nvidia": {"a": list(map(str, range(MAX_VALUES + 1)))}}}), "10000"),
        (changed(default_priorities={"namespace": ["nvidia", "nvidia"]}), "default-priorities.namespace"),
        (changed(default_priorities={"namespace": ["n" * 2000]}), ""),
    ],
)
def test_what_no_real_one_has_is_refused(content: bytes, fact: str) -> None:
    with pytest.raises(UnreadableError, check=coded("variant-metadata-invalid", fact)):
        read_variant_metadata(content)


def test_variant_metadata_of_megabytes_is_refused() -> None:
    with pytest.raises(UnreadableError, check=coded("variant-metadata-too-large", "1048576")):
        read_variant_metadata(b" " * (MAX_VARIANT_METADATA + 1))
