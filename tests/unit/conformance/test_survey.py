"""What is asked for about a file."""

import pytest

from tests.broken_indexes import BROKEN
from tests.good_index import WHEEL
from tests.unit.conformance.conftest import Serve, check, numbers
from wheelmill.conformance import survey
from wheelmill.web import ranges


def test_metadata_of_a_large_wheel_is_read_in_ranges(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_HASHED", 0)
    server = serve(BROKEN["658.4"])
    assert numbers(check(server)) == ["658.4"]
    asked = [headers for path, headers in server.asked if path == f"/files/{WHEEL}"]
    assert len(asked) == 2
    assert all("Range" in headers for headers in asked)


def test_without_ranges_a_large_wheel_is_known_by_its_sidecar(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_HASHED", 0)
    monkeypatch.setattr(ranges, "WHOLE", 0)
    server = serve(BROKEN["658.4"])
    server.ranges = False
    assert numbers(check(server)) == ["658.5"]
