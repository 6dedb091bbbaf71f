"""The licence of a wheel."""

import pytest
from packaging.metadata import RawMetadata

from wheelmill.wheel.licence import licence_files, licence_in


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ({"license_expression": "MIT", "license": "old"}, "MIT"),
        ({"license": "BSD 3-Clause License"}, "BSD 3-Clause License"),
        ({"license": "UNKNOWN"}, None),
        ({"license": "Permission is hereby granted,\nfree of charge"}, None),
        ({"license": "x" * 1000}, None),
        ({}, None),
    ],
)
def test_it_is_the_expression_or_a_short_name(metadata: RawMetadata, licence: str | None) -> None:
    assert licence_in(metadata) == licence


def test_its_files_lie_in_their_folder_or_beside_metadata() -> None:
    members = ("d.dist-info/METADATA", "d.dist-info/LICENSE", "d.dist-info/licenses/x/own.txt", "demo/LICENSE")
    assert licence_files(members, "d.dist-info") == ("d.dist-info/LICENSE", "d.dist-info/licenses/x/own.txt")
