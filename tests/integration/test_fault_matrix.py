"""Whatever call of a publication goes wrong, in whatever way: run again, it ends as if nothing had happened."""

import pytest

from tests.fault_matrix import HOSTS, READS, Case, cases, table


def converged(name: str, *, sampled: bool) -> list[Case]:
    """Cases of a host, each of which converged, with every fault among them."""
    host = HOSTS[name]
    results = list(cases(host, sampled=sampled))
    print(table(host, results))  # noqa: T201 - pytest shows it with -rP, and when this fails
    assert [case for case in results if not case.converged] == []
    assert {case.fault for case in results} == set(host.columns)
    return results


@pytest.mark.parametrize("name", HOSTS)
def test_a_call_with_each_fault_converges(name: str) -> None:
    results = converged(name, sampled=True)
    assert sum(case.call.method not in READS for case in results) > len(results) / 2
    assert len({case.number for case in results}) > len(results) * 0.8


@pytest.mark.nightly
@pytest.mark.parametrize("name", HOSTS)
def test_every_call_with_every_fault_converges(name: str) -> None:
    assert len(converged(name, sampled=False)) > 100
