"""What names that people gave their wheels say."""

import pytest

from wheelmill.wheel.built_for import BuiltFor


@pytest.mark.parametrize(
    ("local", "cuda", "torch", "abi"),
    [
        ("cu130torch2.11", "13.0", "2.11", None),
        ("cu12torch2.8cxx11abitrue", "12", "2.8", True),
        ("cu12torch2.6cxx11abifalse", "12", "2.6", False),
        ("20251104.cu126torch280cxx11abitrue.4cfdf9", "12.6", "2.8", True),
        ("torch2100cu128", "12.8", "2.10", None),
        ("cu130.torch2.11", "13.0", "2.11", None),
        ("cu.12.8.torch.2.10", "12.8", "2.10", None),
        ("cu128torch2.8gite2743ab", "12.8", "2.8", None),
        ("pt28cu128", "12.8", "2.8", None),
        ("pt210cu130", "13.0", "2.10", None),
        ("cu121", "12.1", None, None),
        ("custom", None, None, None),
        ("", None, None, None),
    ],
)
def test_labels_of_others_are_read(local: str, cuda: str | None, torch: str | None, *, abi: bool | None) -> None:
    label = BuiltFor.parse(local)
    major = str(label.cuda_major) if label.cuda_major else None
    assert (str(label.cuda) if label.cuda else major) == cuda
    assert (str(label.torch) if label.torch else None) == torch
    assert label.cxx11_abi is abi


def test_and_higher_is_a_minimum() -> None:
    label = BuiltFor.parse("cu128torch2.9.0andhigher.post1")
    assert (str(label.torch), label.and_newer) == ("2.9", True)
