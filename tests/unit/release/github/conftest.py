"""A GitHub server, a store on it, and a clock that both go by."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.github_server import REPOSITORY, GitHub, serving
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.release.github.api import Pace, Repository
from wheelmill.release.github.store import GitHubStore
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import Clock

NAMES = tuple(f"demo-1.{number}+cu130-cp311-cp311-manylinux_2_28_x86_64.whl" for number in range(4))


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
def wheels(tmp_path: Path) -> list[TestedWheel]:
    """Wheels of `NAMES`."""
    return [certified_wheel(tmp_path / name) for name in NAMES]


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
