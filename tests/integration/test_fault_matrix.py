"""Whatever call of a publication goes wrong, in whatever way: run again, it ends as if nothing had happened."""

import pytest

from tests.fault_matrix import FAULTS, cases, table

SHORT, LONG = 11, 3
"""Every eleventh case is tried, with ``--real`` every third: a call has eight or nine faults, so the next call meets
other ones. ``python -m tests.fault_matrix`` tries all.
"""


def test_every_call_with_every_fault_converges(pytestconfig: pytest.Config) -> None:
    step = LONG if pytestconfig.getoption("--real") else SHORT
    results = list(cases(step=step))
    print(table(results))  # noqa: T201 - pytest shows it with -rP, and when this fails
    assert [case for case in results if not case.converged] == []
    assert {case.fault for case in results} == set(FAULTS)
    assert sum(case.call.method != "GET" for case in results) > len(FAULTS) * 5 / step
