"""Whatever call of a publication goes wrong, in whatever way: run again, it ends as if nothing had happened."""

from tests.fault_matrix import FAULTS, cases, table


def test_every_call_with_every_fault_converges() -> None:
    results = list(cases())
    print(table(results))  # noqa: T201 - pytest shows it with -rP, and when this fails
    assert [case for case in results if not case.converged] == []
    assert {case.fault for case in results} == set(FAULTS)
    assert sum(case.call.method != "GET" for case in results) > len(FAULTS) * 5
