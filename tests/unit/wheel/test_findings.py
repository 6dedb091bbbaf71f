"""What a finding does to a wheel."""

import pytest

from wheelmill.wheel.findings import Code, Finding, Level, with_reasons

REASON = "Only for our own cluster"


@pytest.mark.parametrize("code", Code)
def test_a_reason_allows_what_its_level_lets_it(code: Code) -> None:
    (finding,) = with_reasons([Finding(code=code, detail="")], {code: REASON})
    assert finding.refuses == (code.level is Level.ALWAYS)
    assert finding.reason == (None if code.level is Level.ALWAYS else REASON)


@pytest.mark.parametrize("code", Code)
def test_without_a_reason_all_but_warnings_refuse(code: Code) -> None:
    (finding,) = with_reasons([Finding(code=code, detail="")], {})
    assert finding.refuses == (code.level is not Level.WARN)
