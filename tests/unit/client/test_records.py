"""Facts about a target, and what it means for requirements."""

import pytest
from packaging.markers import Marker

from tests.unit.client.targets import LINUX


@pytest.mark.parametrize(
    ("marker", "is_met"),
    [
        ("python_version >= '3.12' and sys_platform == 'linux'", True),
        ("extra == 'cuda'", True),
        ("extra == 'cpu'", False),
        ("'cuda' in extras", False),
        ("python_version ~= 'three'", False),
    ],
)
def test_a_marker_of_foreign_metadata_holds_or_does_not(marker: str, *, is_met: bool) -> None:
    assert LINUX.meets(Marker(marker), extra="cuda") is is_met
    assert LINUX.meets(None)
