"""Indexes to check, on a server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broken_indexes import Spoil
from tests.good_index import PAGE, Index, good_index
from tests.simple_server import HTML, Answer, Server, serving
from tests.unit.index.conftest import release
from wheelmill.conformance.fetch import Politeness
from wheelmill.conformance.run import check_url
from wheelmill.conformance.violation import ConformanceReport

__all__ = ["AT_ONCE", "Serve", "release"]

AT_ONCE = Politeness(rate=1e6)

Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve the good index, spoilt or not."""
    with ExitStack() as stack:

        def run(spoil: Spoil = lambda _index: None) -> Server:
            server = stack.enter_context(serving(Server()))
            index = good_index(tmp_path, server.url)
            spoil(index)
            index.put_on(server)
            return server

        yield run


def detail(body: str, head: str = '<meta name="pypi:repository-version" content="1.4">') -> Spoil:
    """Have this page of the project, in HTML."""

    def spoil(index: Index) -> None:
        index.forms = ("html",)
        page = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
        index.after = lambda server: server.html.update({PAGE: Answer(page.encode(), HTML)})

    return spoil


def check(server: Server, *, everything: bool = False) -> ConformanceReport:
    return check_url(f"{server.url}/simple/", everything=everything, politeness=AT_ONCE, sleep=lambda _seconds: None)
