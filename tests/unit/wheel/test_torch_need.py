"""What a wheel needs of torch, as its METADATA says."""

import pytest

from wheelmill.names import StableTorch, TorchNeed, TorchVersion
from wheelmill.wheel.torch_need import needed_torch, runs_beside

TEN, ELEVEN = TorchVersion(2, 10), TorchVersion(2, 11)


@pytest.mark.parametrize(
    ("requirements", "needed"),
    [
        (("einops", "torch>=2.10"), StableTorch(oldest=TEN)),
        (("Torch>=2.10.1,<2.16",), StableTorch(oldest=TEN, below=TorchVersion(2, 16))),
        (("torch>=2.4", "torch>=2.10,<2.15.2"), StableTorch(oldest=TEN, below=TorchVersion(2, 16))),
        (("torch~=2.10,<=2.15",), StableTorch(oldest=TEN, below=TorchVersion(2, 16))),
        (("torch==2.11.*",), ELEVEN),
        (("torch==2.11.0",), ELEVEN),
        (("torch",), None),
        (("torch<2.11",), None),
        (("torch>=2.11,<2.10",), None),
        (("torch>=2.10; python_version < '3.9'", "not a requirement!"), None),
        ((), None),
    ],
)
def test_a_range_is_told_from_one_release_and_from_nothing(
    requirements: tuple[str, ...], needed: TorchNeed | None
) -> None:
    assert needed_torch(requirements) == needed


@pytest.mark.parametrize(
    "requirements", [("torch>=2.10",), ("torch>=2.10.5",), ("torch<2.11", "torch>=2.4"), ("torch",), ()]
)
def test_a_torch_stands_beside_a_wheel_if_one_of_its_releases_is_in_the_range(requirements: tuple[str, ...]) -> None:
    assert runs_beside(requirements, TEN)


@pytest.mark.parametrize("requirements", [("torch>=2.11",), ("torch>=2.4", "torch<2.10"), ("torch!=2.10.*,>=2.9",)])
def test_it_does_not_if_none_is(requirements: tuple[str, ...]) -> None:
    assert not runs_beside(requirements, TEN)


def test_a_release_candidate_is_newer_than_a_range_that_ends_before_its_release() -> None:
    candidate = TorchVersion.parse("2.16rc1")
    assert runs_beside(("torch>=2.10",), candidate)
    assert not runs_beside(("torch>=2.10,<2.16",), candidate)
