"""The file of known failures."""

from pathlib import Path

import pytest

from tests.unit.release.conftest import NOW
from wheelmill.names import Sha256
from wheelmill.plan.targets import KnownFailure
from wheelmill.release.failures import FailureFile

FIRST, SECOND = Sha256("1" * 64), Sha256("2" * 64)
FAILURE = KnownFailure(id="demo", target=Sha256("0" * 64), failed_at=NOW, reason="demo.cpp:1:1: error: no")


def test_failures_are_added_to_those_before(tmp_path: Path) -> None:
    file = FailureFile(path=tmp_path / "failures.json")
    for identity in (FIRST, SECOND):
        file.remember(identity, FAILURE)
    assert file.read().by_inputs == {FIRST: FAILURE, SECOND: FAILURE}


@pytest.mark.parametrize("content", ["{", '{"by_inputs": {"1": {"id": "demo", "failed_at": "2026-11-20T00:00:00Z"}}}'])
def test_a_file_that_is_broken_or_older_than_this_version_is_as_good_as_none(content: str, tmp_path: Path) -> None:
    file = FailureFile(path=tmp_path / "failures.json")
    file.path.write_text(content)
    assert file.read().by_inputs == {}
    file.remember(FIRST, FAILURE)
    assert file.read().by_inputs == {FIRST: FAILURE}
