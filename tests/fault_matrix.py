"""Publishing with every call going wrong in every way: table of ``python -m tests.fault_matrix [github|s3]``."""

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol
from unittest.mock import patch

from tests import github_server, s3_server
from tests.unit.release.conftest import NOW, certified_wheel
from tests.unit.release.github.conftest import FakeClock, store_on
from tests.unit.release.s3.conftest import store_on as store_in
from wheelmill.errors import NetworkError, ReleaseError
from wheelmill.release.publish import publish
from wheelmill.release.store import Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.web.client import Answer, Web

KILLED: Final = "killed"
"""The process ends as soon as the call is answered."""

DOWN: Final = "5xx on"
"""The server fails at this call and at all that follow."""

READS: Final = ("GET", "HEAD")
"""Methods of calls that change nothing."""

NAMES: Final = ("demo-1.0+cu130-py3-none-any.whl", "demo-1.1+cu130-py3-none-any.whl")


class KilledError(BaseException):
    """The end of a process, which nothing in it sees coming."""


class Server(Protocol):
    """A host of releases on this machine."""

    faults: dict[int, Any]
    """By the number of the call."""

    @property
    def calls(self) -> Sequence[Any]:
        """What it was asked."""

    def state(self) -> object:
        """All that can be seen."""

    def is_whole(self) -> bool:
        """Whether everybody can have all that the releases promise."""

    def reset(self) -> None:
        """Forget everything but the address."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A kind of host."""

    serving: Callable[[], AbstractContextManager[Server]]
    store: Callable[[Server], Store]
    faults: type[StrEnum]
    meets: Callable[[Any, str], bool]
    """Whether a fault can come to a call."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*map(str, self.faults), DOWN, KILLED)


@contextmanager
def _serving_s3() -> Iterator[Server]:
    with s3_server.serving(s3_server.S3(hashes=False)) as s3, patch.dict(os.environ, s3.environment):
        yield s3


def _on_github(server: Server) -> Store:
    assert isinstance(server, github_server.GitHub)
    return store_on(server, FakeClock())


HOSTS: Final = {
    "github": Host(
        serving=lambda: github_server.serving(github_server.GitHub()),
        store=_on_github,
        faults=github_server.Fault,
        meets=lambda call, fault: "name" in call.query or fault != github_server.Fault.TRUNCATED,
    ),
    "s3": Host(
        serving=_serving_s3,
        store=lambda _server: store_in(FakeClock()),
        faults=s3_server.Fault,
        meets=lambda call, fault: call.method == "PUT" or fault not in s3_server.OF_WRITES,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call that went wrong."""

    number: int
    call: Any
    fault: str
    runs: int
    """How often the publication was run until it said that all is done."""
    converged: bool
    """Whether nothing half-made was ever to be seen, and in the end all looks as it does when nothing goes wrong."""


def cases(host: Host, *, sampled: bool = False) -> Iterator[Case]:
    """Every call of a publication x every fault, or a sample that meets every fault."""
    with tempfile.TemporaryDirectory() as folder, host.serving() as server:
        wheels = [replace(certified_wheel(Path(folder) / name), bundles=(name.encode(),)) for name in NAMES]
        publish(host.store(server), wheels, now=NOW)
        undisturbed, calls = server.state(), list(server.calls)
        chosen = _sampled(host, calls) if sampled else itertools.product(range(len(calls)), host.columns)
        for number, fault in chosen:
            call = calls[number]
            if not host.meets(call, fault):
                continue
            runs, whole = _runs(host, server, wheels, number, fault)
            converged = whole and server.is_whole() and server.state() == undisturbed
            yield Case(number=number, call=call, fault=fault, runs=runs, converged=converged)


def _sampled(host: Host, calls: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Let each fault meet one call, from the first to the last; two of three calls change something."""
    for place, fault in enumerate(host.columns):
        met = [number for number, call in enumerate(calls) if host.meets(call, fault)]
        writes = [number for number in met if calls[number].method not in READS]
        some = [number for number in met if number not in writes] if place % 3 == 2 else writes
        some = some or met
        yield some[len(some) * place // len(host.columns)], fault


def _runs(host: Host, server: Server, wheels: list[TestedWheel], number: int, fault: str) -> tuple[int, bool]:
    """Publish while something goes wrong; returns how many runs it took, and whether all was whole after the first."""
    server.reset()
    if fault == DOWN:
        server.faults |= dict.fromkeys(range(number, number + 1000), next(iter(host.faults)))
    elif fault != KILLED:
        server.faults[number] = host.faults(fault)
    try:
        with killed_after(server, number if fault == KILLED else None):
            publish(host.store(server), wheels, now=NOW)
    except (NetworkError, ReleaseError, KilledError):
        server.faults.clear()
        whole = server.is_whole()
        publish(host.store(server), wheels, now=NOW)
        return 2, whole
    return 1, True


@contextmanager
def killed_after(server: Server, number: int | None) -> Iterator[None]:
    """End the client when a call of this number was answered: it sends nothing more."""
    send: Callable[..., Answer] = Web.send

    def sent(*arguments: Any, **options: Any) -> Answer:
        if number is not None and len(server.calls) > number:
            raise KilledError
        answer = send(*arguments, **options)
        if number is not None and len(server.calls) > number:
            raise KilledError
        return answer

    with patch.object(Web, "send", sent):
        yield


def table(host: Host, results: list[Case]) -> str:
    """A row a call, a column a fault; in the cells how many runs it took, or that it went wrong for good."""
    cells = {(case.number, case.fault): str(case.runs) if case.converged else "WRONG" for case in results}
    calls = {case.number: str(case.call)[:70] for case in results}
    lines = [f"{'call':<70}  " + "  ".join(f"{fault:>10}" for fault in host.columns)]
    lines += [
        f"{call:<70}  " + "  ".join(f"{cells.get((number, fault), '-'):>10}" for fault in host.columns)
        for number, call in calls.items()
    ]
    again = sum(case.runs > 1 for case in results)
    wrong = sum(not case.converged for case in results)
    return "\n".join([*lines, f"cases: {len(results)}; needed a second run: {again}; did not converge: {wrong}"])


if __name__ == "__main__":
    outcomes = {name: list(cases(HOSTS[name])) for name in sys.argv[1:] or HOSTS}
    for name, outcome in outcomes.items():
        print(name, table(HOSTS[name], outcome), sep="\n")  # noqa: T201
    sys.exit(not all(case.converged for outcome in outcomes.values() for case in outcome))
