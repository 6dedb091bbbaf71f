"""Which file names a target's build may give; what the gate makes of it is tested with the gate."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.build.conftest import MACHINE, TARGET
from wheelmill.names import PythonVersion
from wheelmill.pipeline.as_planned import is_named_for, is_wheel_of
from wheelmill.wheel.name import WheelName

NAME = f"demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_17_{MACHINE}.whl"


@pytest.mark.parametrize(
    ("abi", "tag", "planned"),
    [
        ("abi3", "cp311-abi3", True),
        ("abi3", "cp39-abi3", True),
        ("abi3", "cp312-abi3", False),  # the oldest Python that it is for would not take it
        ("abi3", "cp311-cp311", False),
        ("none", "py3-none", True),
        ("none", "cp311-abi3", False),
    ],
)
def test_a_wheel_for_many_pythons_has_the_abi_that_was_planned(abi: Any, tag: str, planned: bool) -> None:  # noqa: FBT001 - a row of the table
    pythons = (PythonVersion(3, 11), PythonVersion(3, 12))
    target = replace(TARGET, package=replace(TARGET.package, abi=abi), pythons=pythons)
    assert is_wheel_of(WheelName.parse(NAME.replace("cp311-cp311", tag)), target) is planned


@pytest.mark.parametrize(
    ("name", "named"),
    [
        (NAME, True),
        (NAME.replace("demo", "other"), False),
        (NAME.replace("1.0", "1.1"), False),
        (NAME.replace("cu130", "cu128"), False),
        (NAME.replace(f"manylinux_2_17_{MACHINE}", "win_amd64"), False),
        (NAME.replace(f"manylinux_2_17_{MACHINE}", f"manylinux_2_17_{MACHINE}.win_amd64"), False),
        (NAME.replace("cp311-cp311", "cp312-cp312"), False),
    ],
)
def test_a_wheel_is_named_for_its_project_its_label_its_platform_and_its_pythons(name: str, named: bool) -> None:  # noqa: FBT001 - a row of the table
    assert is_named_for(WheelName.parse(name), TARGET.cell, ()) is named
