"""What a project's own pin on torch says."""

import pytest
from packaging.requirements import Requirement

from wheelmill.client.project.change import find_torch_pin


@pytest.mark.parametrize(
    ("requirement", "torch"),
    [
        ("torch==2.11.0", "2.11"),
        ("torch==2.11.*", "2.11"),
        ("torch~=2.11.0", "2.11"),
        ("torch==2.16.0rc1", "2.16rc1"),
        ("torch==2.16.1rc1", "2.16"),
        ("torch>=2.11", None),
        ("torch==2.*", None),
    ],
)
def test_a_project_that_pins_torch_says_which(requirement: str, torch: str | None) -> None:
    found = find_torch_pin([Requirement("rich"), Requirement(requirement)])
    assert (str(found) if found else None) == torch
