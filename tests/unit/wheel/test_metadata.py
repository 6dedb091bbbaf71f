"""

The licence of a wheel.
Names that belong to others: whoever took one would be installed in their place.
"""

import zipfile
from pathlib import Path

import pytest
from packaging.metadata import RawMetadata

from tests.refusals import coded
from tests.wheels import write_wheel
from wheelmill.errors import UnreadableError
from wheelmill.names import project_name
from wheelmill.wheel.metadata import (
    dist_info_of,
    is_pure,
    licence_files,
    licence_in,
    metadata_bytes,
    read_metadata,
    reservation,
)

HEAD = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"


def test_metadata_is_read_although_fields_are_unknown_or_dated() -> None:
    metadata = read_metadata(f"{HEAD}Description-Content-Type: text/odd\nNew-Field: x\n\n".encode())
    assert (metadata.name, str(metadata.version)) == ("demo", "1.0")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "Metadata-Version: 2.1\nName: demo\n",
        "Metadata-Version: 2.1\nVersion: 1.0\n",
        "Metadata-Version: 2.1\nName: demo\nVersion: one\n",
        "Metadata-Version: 2.1\nName: -demo-\nVersion: 1.0\n",
        f"{HEAD}Requires-Dist: torch is nice\n",
        f"{HEAD}Requires-Python: three\n",
    ],
)
def test_metadata_without_what_matters_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match="METADATA cannot be read"):
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
        with pytest.raises(ValueError, match=r"expected one \.dist-info folder"):
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
