"""A GitHub server, a store on it, and a clock that both go by."""

from collections.abc import Iterator

import pytest

from tests.github_server import REPOSITORY, GitHub, serving
from tests.unit.release.conftest import NOW
from wheelmill.release.github import GitHubStore, Repository
from wheelmill.release.github.api import Pace
from wheelmill.system.progress import Clock


class FakeClock:
    """Time that passes when somebody waits."""

    def __init__(self) -> None:
        self.time = NOW.timestamp()
        self.waited: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.time += seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def github(clock: FakeClock) -> Iterator[GitHub]:
    """A server whose repository has no release yet."""
    with serving(GitHub(now=clock.now)) as server:
        yield server


@pytest.fixture
def store(github: GitHub, clock: FakeClock) -> GitHubStore:
    return store_on(github, clock)


def store_on(github: GitHub, clock: FakeClock) -> GitHubStore:
    repository = Repository.parse(REPOSITORY, github.environment)
    return GitHubStore(repository=repository, pace=Pace(Clock(now=clock.now, sleep=clock.sleep)))
