import hashlib
from pathlib import Path

import pytest
from packaging.version import Version

from tests.refusals import coded
from wheelmill.errors import UnreadableError
from wheelmill.names import CudaVersion, PythonVersion, TorchVersion, project_name
from wheelmill.wheel.label import Label
from wheelmill.wheel.name import (
    NULL,
    VariantWheelName,
    WheelFile,
    WheelName,
    is_label,
    read_tags,
    split_label,
    stable_since,
    variants_filename,
    written_parts,
)


def test_a_file_name_says_what_the_wheel_is() -> None:
    platforms = "manylinux_2_28_x86_64.manylinux_2_24_x86_64"
    name = WheelName.parse(f"Flash_Attn-2.8.3+cu128torch2.8-1x-cp312-cp312-{platforms}.whl")
    assert name.project == "flash-attn"
    assert str(name.version) == "2.8.3+cu128torch2.8"
    assert name.build == (1, "x")
    assert name.label == Label(cuda=CudaVersion(12, 8), torch=TorchVersion(2, 8))
    assert name.platforms == ("manylinux_2_24_x86_64", "manylinux_2_28_x86_64")


@pytest.mark.parametrize(
    ("tags", "since"),
    [
        ("cp310-abi3", {"3.10"}),
        ("cp315-abi3t", {"3.15t"}),
        ("cp315-abi3.abi3t", {"3.15", "3.15t"}),
        *((tags, {None}) for tags in ("cp315-cp315t", "cp315-none", "py3-none", "pp310-abi3", "cp3-abi3", "cp3x-abi3")),
        *((tags, {None}) for tags in ("cp3\N{ARABIC-INDIC DIGIT FIVE}-abi3", "cp315-abi3td", "cp315-abi")),
    ],
)
def test_a_tag_of_the_stable_abi_is_for_every_python_from_one_on(tags: str, since: set[str | None]) -> None:
    pythons = {stable_since(tag) for tag in read_tags(f"{tags}-linux_x86_64")}
    assert pythons == {PythonVersion.parse(each) if each else None for each in since}


@pytest.mark.parametrize("version", ["1.0", "1.0+cpu", "1.0+cu12torch2.8cxx11abitrue"])
def test_a_version_without_our_label_has_none(version: str) -> None:
    assert WheelName.parse(f"demo-{version}-py3-none-any.whl").label is None


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("demo-1.0-py3-none-any.whl", "demo-1.0-py3-none-any.whl"),
        ("Demo.Two-1.0-py3-none-any.whl", "demo_two-1.0-py3-none-any.whl"),
        ("demo-1.0+CU130-py3.py2-none-any.whl", "demo-1.0+cu130-py2.py3-none-any.whl"),
        ("demo-1.0-7a-py3-none-any.whl", "demo-1.0-7a-py3-none-any.whl"),
    ],
)
def test_a_file_name_has_one_spelling(given: str, written: str) -> None:
    assert WheelName.parse(given).filename == written


@pytest.mark.parametrize(
    "filename",
    [
        *("", "demo.whl", "demo-1.0.tar.gz", "demo-1.0-py3-none-any.zip", "demo-1.0-py3-none-any.WHL"),
        *("demo-1.0-py3-none.whl", "demo-one-py3-none-any.whl", "demo-1.0-x1-py3-none-any.whl"),
        *("demo-1.0-1-2-py3-none-any.whl", "demo-1.0-py3-none-.whl"),
        *("../demo-1.0-py3-none-any.whl", "demo-1.0-1/../x-py3-none-any.whl"),
        *("demo-1.0\n-py3-none-any.whl", "demo-1.0-py3-none-any (1).whl", "dëmo-1.0-py3-none-any.whl"),
    ],
)
def test_other_names_are_refused(filename: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        WheelName.parse(filename)


MANY_TAGS = ".".join(f"p{number}" for number in range(20))


@pytest.mark.parametrize(
    ("filename", "code", "facts"),
    [
        ("demo-1.0-py3-none-any-null.whl", "variant-wheel", ()),
        ("demo-1.0-1-py3-none-any-cu130.whl", "variant-wheel", ()),
        (f"demo-1-{MANY_TAGS}-{MANY_TAGS}-{MANY_TAGS}.whl", "tags-invalid", ("8000",)),
        (f"demo-{'9' * 10_000}-py3-none-any.whl", "file-name-too-long", ("10022", "255")),
    ],
    ids=["variant", "variant of a build", "bomb of tags", "longer than any disk holds"],
)
def test_a_name_is_refused_with_the_reason(filename: str, code: str, facts: tuple[str, ...]) -> None:
    with pytest.raises(UnreadableError, check=coded(code, *facts)):
        WheelName.parse(filename)


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "01.0+CU130"])
def test_the_parts_of_a_name_are_as_they_are_written(version: str) -> None:
    filename = f"Demo_Pkg-{version}-1-py3-none-any.whl"
    assert WheelName.parse(filename).version in (Version("1"), Version("1+cu130"))
    assert written_parts(filename) == ("Demo_Pkg", version, "1-py3-none-any")


def test_a_wheel_on_disk_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(b"content")
    file = WheelFile.at(path)
    assert file == WheelFile(path=path, sha256=file.sha256, size=7)
    assert file.sha256 == hashlib.sha256(b"content").hexdigest()
    assert file.filename == "demo-1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("filename", "plain", "label"),
    [
        # the examples of PEP 825
        (
            "numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-x86_64_v3.whl",
            "numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64.whl",
            "x86_64_v3",
        ),
        (
            "numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64-null.whl",
            "numpy-2.3.2-cp313-cp313t-musllinux_1_2_x86_64.whl",
            NULL,
        ),
        ("demo-1.0-1a-py3-none-any-cu13.0.whl", "demo-1.0-1a-py3-none-any.whl", "cu13.0"),
        ("demo-1.0+cu130-py3-none-any-13.whl", "demo-1.0+cu130-py3-none-any.whl", "13"),
        ("demo-1.0-py3-none-any-a_label_that_is_longer_than_sixteen.whl", "demo-1.0-py3-none-any.whl", None),
    ],
)
def test_a_variant_wheels_name_is_a_plain_one_and_a_label(filename: str, plain: str, label: str | None) -> None:
    name = VariantWheelName.parse(filename)
    assert name.plain.filename == plain
    assert label in (name.label, None)
    assert name.filename == filename


@pytest.mark.parametrize(
    "filename",
    [
        *("demo-1.0-py3-none-any.whl", "demo-1.0-1-py3-none-any.whl", "demo-1.0-py3-none-any-Label.whl"),
        *("demo-1.0-py3-none-any-.whl", "demo-1.0-py3-none-any-a-b.whl", "demo-1.0-1-2-py3-none-any.whl"),
        *("demo-1.0-py3-none-any-null.zip", "demo-one-py3-none-any-null.whl", "demo-1.0-1-/../py3-none-any-null.whl"),
        *("-".join("demo"), "", f"demo-1.0-py3-none-any-{'x' * 300}.whl"),
    ],
)
def test_other_names_are_no_variant_wheels(filename: str) -> None:
    with pytest.raises(UnreadableError, match=r"\S"):
        VariantWheelName.parse(filename)


@pytest.mark.parametrize("filename", ["demo-1.0-1-py3-none-any.whl", "demo-1.0-py3-none-any.whl", "x.tar.gz", ""])
def test_a_name_without_a_label_stays_as_it_is(filename: str) -> None:
    assert split_label(filename) == (filename, None)


@pytest.mark.parametrize("text", ["", "Cu130", "cu-130", "cu130 ", "ü", "x" * 1000])
def test_other_texts_are_no_labels(text: str) -> None:
    assert not is_label(text)


def test_the_list_of_variants_is_named_as_wheels_are() -> None:
    name = variants_filename(project_name("Flash.Attn"), Version("2.8.3+cu130"))
    assert name == "flash_attn-2.8.3+cu130-variants.json"
