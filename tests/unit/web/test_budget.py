"""Time for asking many servers: one that hangs, drips or never ends holds up no other."""

import time
from collections.abc import Mapping
from threading import Event

import pytest

from tests.page_server import Answer, PageServer
from tests.troubled_server import TROUBLE, troubled_server
from wheelmill.errors import NetworkError, WheelmillError
from wheelmill.web.budget import Budget
from wheelmill.web.client import Web


def read(web: Web, url: str) -> bytes:
    return web.get(url).content


@pytest.mark.parametrize("kind", TROUBLE)
def test_a_server_in_trouble_holds_up_no_other_and_ends_in_time(kind: str, server: PageServer) -> None:
    server.pages["/"] = Answer(b"hello")
    with troubled_server(kind) as (url, _):
        began = time.monotonic()
        found = dict(Budget(1.5).ask(read, [*(f"{url}{number}" for number in range(20)), f"{server.url}/"]))
        assert time.monotonic() - began < 5
    assert next(iter(found.items())) == (f"{server.url}/", b"hello")  # although the other has more pages than threads
    faults = [each for each in found.values() if isinstance(each, WheelmillError)]
    assert len(faults) == 20
    assert {each.code for each in faults} <= {"server-slow", "server-silent"}
    assert all(isinstance(each, NetworkError) for each in faults)


def test_a_server_that_was_silent_is_not_asked_again() -> None:
    budget = Budget(1.5)
    with troubled_server("hangs") as (url, begun):
        faults = [fault for _ in range(3) for _, fault in budget.ask(read, [url])]
        assert [isinstance(fault, NetworkError) and fault.code for fault in faults] == [
            "server-slow",
            "server-silent",
            "server-silent",
        ]
        assert len(begun) == 1


def test_one_slow_page_is_no_dead_server(server: PageServer) -> None:
    over = Event()

    def never(_: Mapping[str, str]) -> Answer:
        over.wait(30)
        return Answer()

    server.pages |= {"/": Answer(b"hello"), "/slow": never}
    budget = Budget(6)
    for _ in range(2):
        found = dict(budget.ask(read, [f"{server.url}/", f"{server.url}/slow"], seconds=1))
        assert isinstance(found[f"{server.url}/slow"], NetworkError)
    assert dict(budget.ask(read, [f"{server.url}/"])) == {f"{server.url}/": b"hello"}
    over.set()


def test_a_server_that_refuses_is_asked_again(server: PageServer) -> None:
    budget = Budget(5)
    for status in (404, 401, 200):
        server.pages["/"] = Answer(b"", status)
        asked = budget.ask(lambda web, url: web.get(url).status, [f"{server.url}/"])
        assert dict(asked) == {f"{server.url}/": status}


def test_work_that_listens_to_no_limit_is_abandoned() -> None:
    never = Event()
    budget = Budget(0.6)
    for _ in range(3):
        ((_, fault),) = budget.ask(lambda _web, _url: never.wait(60), ["http://resolver.test/"])
        assert isinstance(fault, NetworkError)
    never.set()


def test_time_that_is_not_spent_on_requests_is_not_counted(server: PageServer) -> None:
    server.pages["/"] = Answer(b"hello")
    budget = Budget(0.5)
    for _ in range(3):
        assert dict(budget.ask(read, [f"{server.url}/"])) == {f"{server.url}/": b"hello"}
        time.sleep(0.3)


def test_nothing_to_ask_takes_no_client() -> None:
    assert list(Budget().ask(read, [])) == []
