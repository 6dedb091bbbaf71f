import pytest
from packaging.version import Version

from wheelmill.errors import UnreadableError
from wheelmill.names import project_name
from wheelmill.wheel.variant_label import NULL, is_label, split_label
from wheelmill.wheel.variant_name import VariantWheelName, variants_filename


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
        "demo-1.0-py3-none-any.whl",
        "demo-1.0-1-py3-none-any.whl",
        "demo-1.0-py3-none-any-Label.whl",
        "demo-1.0-py3-none-any-.whl",
        "demo-1.0-py3-none-any-a-b.whl",
        "demo-1.0-1-2-py3-none-any.whl",
        "demo-1.0-py3-none-any-null.zip",
        "demo-one-py3-none-any-null.whl",
        "demo-1.0-1-/../py3-none-any-null.whl",
        "-".join("demo"),
        "",
        f"demo-1.0-py3-none-any-{'x' * 300}.whl",
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
    assert (
        variants_filename(project_name("Flash.Attn"), Version("2.8.3+cu130")) == "flash_attn-2.8.3+cu130-variants.json"
    )
