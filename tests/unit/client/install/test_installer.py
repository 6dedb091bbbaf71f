"""What is said of the driver before wheels are downloaded."""

from dataclasses import replace

import pytest

from tests.refusals import coded
from tests.unit.client.targets import LINUX, candidate, resolution
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.install.installer import DriverNeed, check_driver, needs_of_choices, needs_of_wheels
from wheelmill.client.records import WheelInspection
from wheelmill.errors import NoWheelError
from wheelmill.names import Platform
from wheelmill.wheel.name import WheelName

NEED = DriverNeed(wheel="demo 1.0+cu130", driver="580.65.06")
FACTS = read_facts()


@pytest.mark.parametrize(
    ("filename", "driver"),
    [
        ("demo-1.0+cu130torch2.11-cp312-cp312-linux_x86_64.whl", "580.65.06"),
        ("torch-2.8.0+cu128-cp312-cp312-linux_x86_64.whl", "525.60.13"),
        ("nvidia_cuda_runtime-13.0.96-py3-none-manylinux_2_17_x86_64.whl", "580.65.06"),
        ("nvidia_cuda_runtime_cu12-12.8.90-py3-none-manylinux_2_17_x86_64.whl", "525.60.13"),
    ],
)
def test_a_wheel_needs_the_driver_of_its_cuda(filename: str, driver: str) -> None:
    (need,) = needs_of_wheels([WheelName.parse(filename)], FACTS)
    assert need.driver == driver


@pytest.mark.parametrize(
    "filename",
    [
        "numpy-2.4.0-cp312-cp312-linux_x86_64.whl",
        "demo-1.0+cpu-cp312-cp312-linux_x86_64.whl",
        "demo-1.0+cu12-cp312-cp312-linux_x86_64.whl",
        "nvidia_cuda_runtime_cuda-13.0-py3-none-any.whl",
    ],
)
def test_a_wheel_that_names_no_release_of_cuda_needs_none(filename: str) -> None:
    assert list(needs_of_wheels([WheelName.parse(filename)], FACTS)) == []


def test_what_a_manifest_says_counts_more_than_the_label() -> None:
    chosen = replace(
        candidate("demo-1.0+cu128torch2.11-cp312-cp312-linux_x86_64.whl"),
        inside=WheelInspection(requires_dist=(), driver="550.54.14"),
    )
    needs = list(needs_of_choices(resolution(chosen, requires=["torch"]), FACTS))
    assert [need.driver for need in needs] == ["550.54.14", "580.65.06"]  # torch for CUDA 13.0 stands beside it
    assert needs[1].wheel == "torch 2.11 for CUDA 13.0"


def test_a_driver_that_is_too_old_is_named_with_both_numbers_and_a_way_on() -> None:
    old = replace(LINUX, driver="570.26", origins={"driver": "nvidia-smi"})
    facts = ("demo 1.0+cu130", "570.26 (nvidia-smi)", "--driver 580.65.06")
    with pytest.raises(NoWheelError, check=coded("driver-too-old", *facts)):
        check_driver([DriverNeed(wheel="other 1.0+cu128", driver="525.60.13"), NEED], old)


@pytest.mark.parametrize("driver", ["580.65.06", "580.105.08", "1000.1"])
def test_a_driver_that_is_new_enough_is_not_spoken_of(driver: str) -> None:
    assert check_driver([NEED], replace(LINUX, driver=driver)) is None


def test_where_there_is_no_driver_a_warning_is_given_and_no_more() -> None:
    warning = check_driver([NEED], LINUX)
    assert warning is not None
    assert "demo 1.0+cu130" in warning
    assert "580.65.06" in warning


def test_nothing_is_said_where_nothing_is_needed_or_numbers_are_others() -> None:
    assert check_driver([], LINUX) is None
    assert check_driver([NEED], replace(LINUX, platform=Platform.parse("win_amd64"), driver="462.59")) is None
