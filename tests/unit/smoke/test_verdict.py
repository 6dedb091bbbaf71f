"""Certificates: that a wheel passed, bound to its bytes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.releases import NO_CODE
from tests.wheels import write_wheel
from wheelmill.errors import SmokeError
from wheelmill.smoke import verdict as records
from wheelmill.smoke.verdict import CleanRoom, Verdict, certificate_path, certify
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile


@pytest.fixture
def passed(tmp_path: Path) -> Verdict:
    """What smoke says of a wheel that it let pass."""
    return Verdict(
        file=WheelFile.at(write_wheel(tmp_path / "demo-1.0-py3-none-any.whl")),
        provenance=None,
        findings=(),
        evidence=NO_CODE,
        clean_rooms=(CleanRoom(python="3.11.7", installed={"demo": "1.0"}, skipped=()),),
    )


def test_a_certificate_is_read_as_it_was_kept(passed: Verdict) -> None:
    assert certify(passed) == records.tested_wheel_at(passed.file.path)


def test_a_certificate_of_other_bytes_does_not_count(passed: Verdict) -> None:
    certify(passed)
    write_wheel(passed.file.path, files={"demo/more.py": b""})
    assert records.tested_wheel_at(passed.file.path) is None


def test_a_wheel_that_was_not_tested_has_none(passed: Verdict) -> None:
    assert records.tested_wheel_at(passed.file.path) is None


def test_a_warning_and_what_is_allowed_refuse_nothing_and_stand_in_the_certificate(passed: Verdict) -> None:
    allowed = Finding(code=Code.GLIBC, detail="needs glibc 2.34", reason="Only for our own cluster")
    certify(replace(passed, findings=(allowed,)))
    tested = records.tested_wheel_at(passed.file.path)
    assert tested
    assert tested.certificate.findings == (allowed,)
    assert str(replace(passed, findings=(allowed,))).splitlines() == [
        "demo-1.0-py3-none-any.whl passed",
        "  allowed (Only for our own cluster): glibc: needs glibc 2.34",
    ]


def test_a_refused_wheel_gets_no_certificate(passed: Verdict) -> None:
    finding = Finding(code=Code.IMPORT, detail="import demo: no such module")
    with pytest.raises(SmokeError, check=coded("wheels-refused", "demo-1.0-py3-none-any.whl", "import: import demo")):
        certify(replace(passed, findings=(finding,), clean_rooms=()))
    assert not certificate_path(passed.file.path).exists()
