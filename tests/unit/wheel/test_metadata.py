import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from tests.wheels import write_wheel
from wheelmill.names import TorchVersion
from wheelmill.wheel.metadata import add_label, dist_info_of, is_pure, metadata_bytes, read_metadata

LABELLED = Version("1.0+cu128torch2.8")
TORCH = TorchVersion(2, 8)
HEAD = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "\n",
        "\nno newline at the end",
        "\n\n\nFrom here on\n.\n\n",
        "\nVersion: 1.0 of the text\n",
        "\nlines of\r\nWindows\r\n",
        "Author: Jürgen Łukasz\nSummary: naïve 中文\n\n# Größe\n",
        f"Summary: {'long ' * 100}\n\n",
        "License: MIT\n        \n        Copyright\n\t|  © me\nKeywords: a\n\n",
        "License: GPL\n        page one\n        \f\n        page two\nKeywords: a\n\n\f\n",
        "Requires-Dist: torch>=2.0\nRequires-Dist: numpy ; extra == 'x'\n\n",
    ],
    ids=[
        "fields only",
        "no description",
        "no newline",
        "blank lines",
        "version in text",
        "CRLF",
        "not ASCII",
        "long line",
        "multi-line licence",
        "form feed",
        "requirements",
    ],
)
def test_the_label_changes_nothing_but_the_version(rest: str) -> None:
    before, after = f"{HEAD}{rest}", f"{HEAD.replace('1.0', '1.0+cu130')}{rest}"

    assert add_label(before.encode(), version=Version("1.0+cu130"), torch=None).decode() == after


@pytest.mark.parametrize(
    "torch", ["torch", "Torch", "torch>=2.0", "torch (>=2.0,!=2.1)", "torch @ https://example.org/torch.whl"]
)
def test_the_pin_stands_for_what_upstream_required_of_torch(torch: str) -> None:
    content = f"{HEAD}Requires-Dist: numpy\nRequires-Dist: {torch}\nRequires-Dist: einops\nSummary: ä\n\ntext\n"

    metadata = read_metadata(add_label(content.encode(), version=LABELLED, torch=TORCH))

    assert metadata.version == LABELLED
    assert {str(requirement) for requirement in metadata.requires_dist or ()} == {"torch==2.8.*", "numpy", "einops"}
    assert (metadata.summary, metadata.description) == ("ä", "text\n")


@pytest.mark.parametrize("rest", ["Requires-Dist: numpy", "no field\nRequires-Dist: numpy\n", "Summary: a\n \ntext"])
def test_the_pin_stands_among_the_fields_however_they_end(rest: str) -> None:
    metadata = read_metadata(add_label(f"{HEAD}{rest}".encode(), version=LABELLED, torch=TORCH))

    assert "torch==2.8.*" in map(str, metadata.requires_dist or ())
    assert metadata.version == LABELLED


@pytest.mark.parametrize(
    "other",
    [
        'torch>=2.0; extra == "train"',
        'torch; sys_platform == "linux"',
        "torch[opt]",
        "torchvision",
        'einops<9,>=0.1; python_version < "3.12" and extra == "all"',
    ],
)
def test_other_requirements_are_kept_beside_the_pin(other: str) -> None:
    content = f"{HEAD}Requires-Dist: {other}\n\n"

    metadata = read_metadata(add_label(content.encode(), version=LABELLED, torch=TORCH))

    assert {str(requirement) for requirement in metadata.requires_dist or ()} == {"torch==2.8.*", other}


def test_a_requirement_that_nobody_understands_is_kept() -> None:
    content = f"{HEAD}Requires-Dist: torch is nice\n\n"

    assert b"\nRequires-Dist: torch is nice\n" in add_label(content.encode(), version=LABELLED, torch=TORCH)


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
