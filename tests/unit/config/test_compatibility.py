"""What follows from the facts about CUDA releases."""

import pytest
from packaging.version import Version

from wheelmill.config.load import load_compatibility
from wheelmill.names import Architecture
from wheelmill.system import own_installation


@pytest.mark.parametrize(
    ("gpu", "driver"),
    [
        ("7.5", None),
        ("8.6", None),
        ("8.9", "520.61.05"),
        ("9.0", "520.61.05"),
        ("10.0", "570.26"),
        ("10.3", "575.51.03"),
        ("11.0", "580.65.06"),
        ("12.0", "570.26"),
        ("12.1", "575.51.03"),
        ("99.0", None),
    ],
)
def test_the_first_driver_for_a_gpu_came_with_the_first_cuda_that_knows_it(gpu: str, driver: str | None) -> None:
    assert load_compatibility(own_installation.CONFIG).first_driver_for(Architecture.parse(gpu)) == driver


def test_every_cuda_names_the_driver_that_came_with_it() -> None:
    releases = load_compatibility(own_installation.CONFIG).cuda.values()
    assert all(Version(each.driver or "0") >= Version(each.minimum_driver) for each in releases)
