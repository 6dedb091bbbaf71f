"""METADATA of a wheel: what is read of it, its licence, reserved names, and what a label changes."""

import zipfile
from pathlib import Path

import pytest
from packaging.metadata import RawMetadata
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.refusals import coded
from tests.wheels import write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.names import StableTorch, TorchVersion, project_name
from wheelmill.wheel.label import pinned_torch
from wheelmill.wheel.metadata import (
    add_label,
    dist_info_of,
    is_pure,
    licence_files,
    licence_in,
    metadata_bytes,
    read_metadata,
    reservation,
    torch_bound,
)

HEAD = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"


def test_metadata_is_read_although_fields_are_unknown_or_dated() -> None:
    metadata = read_metadata(f"{HEAD}Description-Content-Type: text/odd\nNew-Field: x\n\n".encode())
    assert (metadata.name, str(metadata.version)) == ("demo", "1.0")


@pytest.mark.parametrize(
    "content",
    [
        *("", "Metadata-Version: 2.1\nName: demo\n", "Metadata-Version: 2.1\nVersion: 1.0\n"),
        *("Metadata-Version: 2.1\nName: demo\nVersion: one\n", "Metadata-Version: 2.1\nName: -demo-\nVersion: 1.0\n"),
        *(f"{HEAD}Requires-Dist: torch is nice\n", f"{HEAD}Requires-Python: three\n"),
    ],
)
def test_metadata_without_what_matters_is_refused(content: str) -> None:
    with pytest.raises(UnreadableError, check=coded("metadata-unreadable")):
        read_metadata(content.encode())


@pytest.mark.parametrize(
    ("content", "pure"),
    [
        (b"Root-Is-Purelib: true\n", True),
        (b"root-is-purelib:  TRUE \n", True),
        (b"Root-Is-Purelib: false\n", False),
        (b"Wheel-Version: 1.0\n", False),
    ],
)
def test_a_wheel_file_says_whether_anything_is_compiled(content: bytes, *, pure: bool) -> None:
    assert is_pure(content) is pure


def test_the_metadata_is_found_in_the_dist_info_folder(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl", metadata=HEAD, files={"dist-info": b"", "demo/x": b""})
    assert metadata_bytes(wheel) == HEAD.encode()


@pytest.mark.parametrize("names", [[], ["demo/x"], ["demo.dist-info"], ["a.dist-info/x", "b.dist-info/x"]])
def test_a_wheel_has_one_dist_info_folder(tmp_path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(tmp_path / "demo.zip", "w") as archive:
        for name in names:
            archive.writestr(name, b"")
        with pytest.raises(UnreadableError, check=coded("dist-info-folders")):
            dist_info_of(archive)


def test_metadata_of_megabytes_is_refused() -> None:
    with pytest.raises(UnreadableError, check=coded("metadata-too-large", "METADATA", "1048622", "1048576")):
        read_metadata(HEAD.encode() + b"\n" * (1 << 20))


def test_a_hundred_thousand_fields_of_metadata_are_refused() -> None:
    fields = "".join(f"X{number}: 1\n" for number in range(100_000))
    with pytest.raises(UnreadableError, check=coded("metadata-too-large", "METADATA", "100003", "4000")):
        read_metadata(f"{HEAD}{fields}".encode())
    with pytest.raises(UnreadableError, check=coded("metadata-too-large", "WHEEL", "100000")):
        is_pure(fields.encode())


def test_what_is_quoted_of_metadata_is_cut() -> None:
    with pytest.raises(UnreadableError) as refused:
        read_metadata(f"{HEAD}Requires-Dist: {'x ' * 100_000}\n".encode())
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ({"license_expression": "MIT", "license": "old"}, "MIT"),
        ({"license": "BSD 3-Clause License"}, "BSD 3-Clause License"),
        ({"license": "UNKNOWN"}, None),
        ({"license": "Permission is hereby granted,\nfree of charge"}, None),
        ({"license": "x" * 1000}, None),
        ({}, None),
    ],
)
def test_it_is_the_expression_or_a_short_name(metadata: RawMetadata, licence: str | None) -> None:
    assert licence_in(metadata) == licence


def test_its_files_lie_in_their_folder_or_beside_metadata() -> None:
    members = ("d.dist-info/METADATA", "d.dist-info/LICENSE", "d.dist-info/licenses/x/own.txt", "demo/LICENSE")
    assert licence_files(members, "d.dist-info") == ("d.dist-info/LICENSE", "d.dist-info/licenses/x/own.txt")


@pytest.mark.parametrize(
    "name",
    [
        *("torch", "Torch", "torchvision", "numpy", "pip", "setuptools", "nvidia-cublas-cu12", "triton", "uv"),
        *("typing_extensions", "sympy", "pillow", "ninja", "scikit-build-core", "wheelmill"),
    ],
)
def test_a_name_that_every_environment_knows_is_reserved(name: str) -> None:
    assert "is reserved" in (reservation(project_name(name)) or "")


@pytest.mark.parametrize("name", ["flash-attn", "torch-scatter", "numpy-kernels", "pip-tools", "nvidia", "demo"])
def test_a_name_that_only_begins_like_one_is_not(name: str) -> None:
    assert reservation(project_name(name)) is None


LABELLED = Version("1.0+cu128torch2.8")
TORCH = TorchVersion(2, 8)


@pytest.mark.parametrize(
    "rest",
    [
        *("", "\n", "\nno newline at the end", "\n\n\nFrom here on\n.\n\n", "\nVersion: 1.0 of the text\n"),
        *("\nlines of\r\nWindows\r\n", "Author: Jürgen Łukasz\nSummary: naïve 中文\n\n# Größe\n"),
        *(f"Summary: {'long ' * 100}\n\n", "License: MIT\n        \n        Copyright\n\t|  © me\nKeywords: a\n\n"),
        "License: GPL\n        page one\n        \f\n        page two\nKeywords: a\n\n\f\n",
        "Requires-Dist: torch>=2.0\nRequires-Dist: numpy ; extra == 'x'\n\n",
    ],
    ids=[
        *("fields only", "no description", "no newline", "blank lines", "version in text", "CRLF", "not ASCII"),
        *("long line", "multi-line licence", "form feed", "requirements"),
    ],
)
def test_the_label_changes_nothing_but_the_version(rest: str) -> None:
    before, after = f"{HEAD}{rest}", f"{HEAD.replace('1.0', '1.0+cu130')}{rest}"
    assert add_label(before.encode(), version=Version("1.0+cu130"), torch=None).decode() == after


@pytest.mark.parametrize("release", ["2.16.0rc1", "2.16.0"])
def test_a_wheel_for_a_release_candidate_is_pinned_to_the_torch_that_it_was_compiled_against(release: str) -> None:
    """``==2.16.*`` would let it beside the release and every other candidate."""
    content = f"{HEAD}Requires-Dist: torch>=2.4\n\n"
    version, torch = Version("1.0+cu130torch2.16rc1"), TorchVersion(2, 16, 1)
    metadata = read_metadata(add_label(content.encode(), version=version, torch=torch, torch_release=release))
    assert list(map(str, metadata.requires_dist or ())) == [f"torch=={release}"]


@pytest.mark.parametrize(
    "torch", ["torch", "Torch", "torch>=2.0", "torch (>=2.0,!=2.1)", "torch @ https://example.org/torch.whl"]
)
def test_the_pin_stands_for_what_upstream_required_of_torch(torch: str) -> None:
    content = f"{HEAD}Requires-Dist: numpy\nRequires-Dist: {torch}\nRequires-Dist: einops\nSummary: ä\n\ntext\n"
    metadata = read_metadata(add_label(content.encode(), version=LABELLED, torch=TORCH))
    assert metadata.version == LABELLED
    assert {str(requirement) for requirement in metadata.requires_dist or ()} == {"torch==2.8.*", "numpy", "einops"}
    assert (metadata.summary, metadata.description) == ("ä", "text\n")


@pytest.mark.parametrize(
    ("upstream", "bound"),
    [
        (">=2.0,!=2.8.0", "!=2.8.0,==2.8.*"),
        (">=2.8.1,<3", "==2.8.*,>=2.8.1"),
        ("~=2.8.1", "==2.8.*,~=2.8.1"),
        (">=2.8,<2.9", "==2.8.*"),
        ("==2.4.0", "==2.8.*"),
    ],
)
def test_patch_releases_that_upstream_leaves_out_stay_left_out(upstream: str, bound: str) -> None:
    joined = torch_bound(TORCH, SpecifierSet(upstream))
    assert joined == SpecifierSet(bound) == torch_bound(TORCH, joined)
    assert pinned_torch(joined) == TORCH


@pytest.mark.parametrize("rest", ["Requires-Dist: numpy", "no field\nRequires-Dist: numpy\n", "Summary: a\n \ntext"])
def test_the_pin_stands_among_the_fields_however_they_end(rest: str) -> None:
    metadata = read_metadata(add_label(f"{HEAD}{rest}".encode(), version=LABELLED, torch=TORCH))
    assert "torch==2.8.*" in map(str, metadata.requires_dist or ())
    assert metadata.version == LABELLED


@pytest.mark.parametrize(
    "other",
    [
        *('torch>=2.0; extra == "train"', 'torch; sys_platform == "linux"', "torch[opt]"),
        *("torchvision", 'einops<9,>=0.1; python_version < "3.12" and extra == "all"'),
    ],
)
def test_other_requirements_are_kept_beside_the_pin(other: str) -> None:
    content = f"{HEAD}Requires-Dist: {other}\n\n"
    metadata = read_metadata(add_label(content.encode(), version=LABELLED, torch=TORCH))
    assert {str(requirement) for requirement in metadata.requires_dist or ()} == {"torch==2.8.*", other}


@pytest.mark.parametrize(
    ("below", "upstream", "required"),
    [
        (None, "", "torch>=2.10"),
        (None, "torch", "torch>=2.10"),
        (None, "torch>=2.11,<3", "torch<3,>=2.11"),
        (None, "torch~=2.12", "torch~=2.12"),
        (None, "torch>=2.4", "torch>=2.10,>=2.4"),  # its symbols are those of 2.10
        (None, "torch==2.11.*", "torch>=2.10"),
        (None, "torch===2.11", "torch>=2.10"),
        (None, "torch!=2.12.0", "torch!=2.12.0,>=2.10"),
        (TorchVersion(2, 16), "torch", "torch<2.16,>=2.10"),
        (TorchVersion(2, 16), "torch<2.15,>=2.11", "torch<2.15,>=2.11"),
        (TorchVersion(2, 16), "torch<3", "torch<2.16,<3,>=2.10"),
    ],
)
def test_a_wheel_for_many_torches_keeps_its_bounds(below: TorchVersion | None, upstream: str, required: str) -> None:
    content = HEAD + (f"Requires-Dist: {upstream}\n" if upstream else "") + "Requires-Dist: numpy\n\n"
    stable = StableTorch(oldest=TorchVersion(2, 10), below=below)
    labelled = add_label(content.encode(), version=Version("1.0+cu130"), torch=stable)
    assert {str(each) for each in read_metadata(labelled).requires_dist or ()} == {required, "numpy"}
    assert add_label(labelled, version=Version("1.0+cu130"), torch=stable) == labelled


def test_a_requirement_that_nobody_understands_is_kept() -> None:
    content = f"{HEAD}Requires-Dist: torch is nice\n\n"
    assert b"\nRequires-Dist: torch is nice\n" in add_label(content.encode(), version=LABELLED, torch=TORCH)


@pytest.mark.usefixtures("an_end")
def test_a_field_of_half_a_million_lines_is_labelled_at_once() -> None:
    content = HEAD.encode() + b"License: x\n" + b" \n" * 500_000
    assert b"Version: 1.0+cu128torch2.8\n" in add_label(content, version=LABELLED, torch=TORCH)
