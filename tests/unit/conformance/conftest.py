"""Indexes to check: in this process, or on a server and with pages read apart where the whole is run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broken_indexes import Spoil
from tests.good_index import PAGE, Index, good_index
from tests.simple_server import HTML, Answer, Server, ServerTransport, serving
from tests.unit.index.conftest import release
from wheelmill.conformance.fetch import Fetcher, Politeness
from wheelmill.conformance.rule import ConformanceReport
from wheelmill.conformance.survey import IndexSurvey, check_url
from wheelmill.system.progress import QUIET

__all__ = ["AT_ONCE", "Serve", "release"]

AT_ONCE = Politeness(rate=1e6)
HERE = "http://127.0.0.1"
"""Stands for a server that does not listen."""

Serve = Callable[..., Server]


def is_whole(config: pytest.Config) -> bool:
    """Whether checks ask servers that listen, and read pages in processes apart: that takes ten times as long."""
    return bool(config.getoption("--real") or config.getoption("--nightly"))


@pytest.fixture
def serve(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Serve]:
    """Serve the good index, spoilt or not, by a server that listens or by none."""
    with ExitStack() as stack:

        def run(spoil: Spoil = lambda _index: None, *, listening: bool = is_whole(pytestconfig)) -> Server:
            server = Server(url=HERE)
            if listening:
                stack.enter_context(serving(server))
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


def check(server: Server) -> ConformanceReport:
    """Check the index of a server; one that does not listen is asked in this process."""
    root = f"{server.url}/simple/"
    if server.url != HERE:
        return check_url(root, politeness=AT_ONCE, sleep=lambda _seconds: None)
    mounts = {f"all://{HERE.removeprefix('http://')}": ServerTransport(server)}
    with Fetcher(root, mounts=mounts, politeness=AT_ONCE, sleep=lambda _seconds: None) as fetcher:
        return IndexSurvey(fetcher=fetcher, everything=False, progress=QUIET).run([root], ())


def numbers(report: ConformanceReport) -> list[str]:
    """The numbers of the rules that an index breaks, each once."""
    return list(dict.fromkeys(violation.rule.number for violation in report.violations))
