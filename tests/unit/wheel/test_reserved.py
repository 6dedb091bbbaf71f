"""Names that belong to others: whoever took one would be installed in their place."""

import pytest

from wheelmill.names import project_name
from wheelmill.wheel.reserved import reservation


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
