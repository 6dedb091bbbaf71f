import pytest
from packaging.version import Version

from wheelmill.names import StableTorch, TorchVersion
from wheelmill.wheel.labelled_metadata import add_label
from wheelmill.wheel.metadata import read_metadata

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
def test_a_wheel_for_many_torches_keeps_upstreams_bounds_and_is_pinned_to_none(
    below: TorchVersion | None, upstream: str, required: str
) -> None:
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
