"""Whatever call of a publication goes wrong, in whatever way: run again, it ends as if nothing had happened."""

import pytest

from tests.fault_matrix import HOSTS, cases, table

SHORT, LONG = 11, 3
"""Every eleventh case is tried, with ``--real`` every third: a call has eight or nine faults, so the next call meets
other ones. ``python -m tests.fault_matrix`` tries all.
"""


@pytest.mark.parametrize("name", HOSTS)
def test_every_call_with_every_fault_converges(name: str, pytestconfig: pytest.Config) -> None:
    host, step = HOSTS[name], LONG if pytestconfig.getoption("--real") else SHORT
    results = list(cases(host, step=step))
    print(table(host, results))  # noqa: T201 - pytest shows it with -rP, and when this fails
    assert [case for case in results if not case.converged] == []
    assert {case.fault for case in results} == set(host.columns)
    assert sum(case.call.method != "GET" for case in results) > len(host.columns) * 5 / step
