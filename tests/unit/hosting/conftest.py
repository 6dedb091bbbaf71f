"""A repository on a server, and what is found in its settings."""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl

import pytest

from tests.github_server import REPOSITORY, Call
from tests.hosted import BELOW, Hosted, hosted
from tests.releases import NOW, stopped_at
from wheelmill.errors import RejectedError
from wheelmill.hosting.read import read_settings
from wheelmill.hosting.rules import WrongSetting, examine
from wheelmill.hosting.settings import Unseen
from wheelmill.release.github.api import Calls, Pace, Repository
from wheelmill.system.progress import QUIET
from wheelmill.web.client import next_page

Check = Callable[[], tuple[WrongSetting | Unseen, ...]]


class Told:
    """In the place of `Calls`: what the repository answers, without a server between."""

    def __init__(self, repository: Hosted) -> None:
        self._repository = repository

    def answer(self, what: str, path: str) -> object:
        return next(self.pages(what, path))

    def pages(self, what: str, path: str) -> Iterator[object]:
        following: str | None = path
        while following is not None:
            place, _, query = following.partition("?")
            call = Call("GET", BELOW + place, dict(parse_qsl(query)), None, b"")
            status, headers, content = self._repository.answer(call)
            if status != HTTPStatus.OK:
                raise RejectedError("github-rejected", what, exists=False, hint=None, status=status)
            yield content
            url = next_page(headers)
            following = url.partition(BELOW)[2] if url else None


@pytest.fixture
def told() -> Hosted:
    """A repository without a server."""
    return Hosted()


@pytest.fixture
def examined(told: Hosted) -> Check:
    """What is found in its settings."""
    return lambda: examine(read_settings(Repository(full_name=REPOSITORY), cast("Calls", Told(told))))


@pytest.fixture
def repository() -> Iterator[Hosted]:
    """A repository on a server."""
    with hosted() as state:
        yield state


@pytest.fixture
def check(repository: Hosted) -> Check:
    """What is found by asking a server, with a clock that does not wait."""

    def found() -> tuple[WrongSetting | Unseen, ...]:
        asked = Repository.parse(REPOSITORY, repository.environment)
        with Calls(asked, Pace(stopped_at(NOW)), QUIET) as calls:
            return examine(read_settings(asked, calls))

    return found
