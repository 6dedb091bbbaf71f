"""Publishing on GitHub with every call going wrong in every way: ``python -m tests.fault_matrix`` prints the table.

In each case a call of an otherwise undisturbed publication goes wrong; if the publication fails it is run once more.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from github.Requester import HTTPRequestsConnectionClass

from tests.github_server import Call, Fault, GitHub, serving
from tests.unit.release.conftest import NOW, certified_wheel
from tests.unit.release.github.conftest import FakeClock, store_on
from wheelmill.errors import NetworkError, ReleaseError
from wheelmill.release.publish import publish
from wheelmill.smoke.verdict import TestedWheel

KILLED: Final = "killed"
"""The process ends as soon as the call is answered."""

DOWN: Final = "5xx on"
"""The server fails at this call and at all that follow."""

NAMES: Final = ("demo-1.0+cu130-py3-none-any.whl", "demo-1.1+cu130-py3-none-any.whl")

FAULTS: Final = (*map(str, Fault), DOWN, KILLED)


class KilledError(BaseException):
    """The end of a process, which nothing in it sees coming."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call that went wrong."""

    number: int
    call: Call
    fault: str
    runs: int
    """How often the publication was run until it said that all is done."""
    converged: bool
    """Whether the repository looks as it does when nothing goes wrong."""


def cases(*, step: int = 1) -> Iterator[Case]:
    """Every call of a publication x every fault; of these cases every one, or with `step` 5 every fifth."""
    with tempfile.TemporaryDirectory() as folder, serving(GitHub()) as github:
        wheels = [certified_wheel(Path(folder) / name) for name in NAMES]
        publish(store_on(github, FakeClock()), wheels, now=NOW)
        undisturbed, calls = github.state(), list(github.calls)
        every = (
            (number, call, fault)
            for number, call in enumerate(calls)
            for fault in FAULTS
            if "name" in call.query or fault != Fault.TRUNCATED
        )
        for number, call, fault in islice(every, 0, None, step):
            runs = _runs(github, wheels, number, fault)
            converged = github.state() == undisturbed
            yield Case(number=number, call=call, fault=fault, runs=runs, converged=converged)


def _runs(github: GitHub, wheels: list[TestedWheel], number: int, fault: str) -> int:
    """Publish while something goes wrong; returns how many runs it took."""
    github.reset()
    if fault == DOWN:
        github.faults = dict.fromkeys(range(number, number + 1000), Fault.BEFORE)
    elif fault != KILLED:
        github.faults = {number: Fault(fault)}
    try:
        with killed_after(github, number if fault == KILLED else None):
            publish(store_on(github, FakeClock()), wheels, now=NOW)
    except (NetworkError, ReleaseError, KilledError):
        github.faults.clear()
        publish(store_on(github, FakeClock()), wheels, now=NOW)
        return 2
    return 1


@contextmanager
def killed_after(github: GitHub, number: int | None) -> Iterator[None]:
    """End the client when a call of this number was answered."""
    getresponse: Callable[..., Any] = HTTPRequestsConnectionClass.getresponse

    def answered(connection: HTTPRequestsConnectionClass) -> Any:
        answer = getresponse(connection)
        if number is not None and len(github.calls) > number:
            raise KilledError
        return answer

    with patch.object(HTTPRequestsConnectionClass, "getresponse", answered):
        yield


def table(results: list[Case]) -> str:
    """A row a call, a column a fault; in the cells how many runs it took, or that it went wrong for good."""
    cells = {(case.number, case.fault): str(case.runs) if case.converged else "WRONG" for case in results}
    calls = {case.number: str(case.call)[:70] for case in results}
    lines = [f"{'call':<70}  " + "  ".join(f"{fault:>10}" for fault in FAULTS)]
    lines += [
        f"{call:<70}  " + "  ".join(f"{cells.get((number, fault), '-'):>10}" for fault in FAULTS)
        for number, call in calls.items()
    ]
    again = sum(case.runs > 1 for case in results)
    wrong = sum(not case.converged for case in results)
    return "\n".join([*lines, f"cases: {len(results)}; needed a second run: {again}; did not converge: {wrong}"])


if __name__ == "__main__":
    outcome = list(cases())
    print(table(outcome))  # noqa: T201
    sys.exit(not all(case.converged for case in outcome))
