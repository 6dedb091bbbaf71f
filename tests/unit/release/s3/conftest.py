"""An S3 on this machine, a store in a bucket of it, and a clock that goes by."""

from collections.abc import Iterator

import pytest

from tests.s3_server import BUCKET, S3, serving
from tests.unit.release.github.conftest import FakeClock, clock
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.s3.store import S3Store
from wheelmill.system.progress import Clock

__all__ = ["clock"]


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    with serving(S3()) as server:
        yield server


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """A server whose bucket is empty, in this process's variables."""
    s3_server.reset()
    s3_server.hashes, s3_server.instead = True, lambda _call: None
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def store(s3: S3, clock: FakeClock) -> S3Store:  # noqa: ARG001 - the server must be there
    return store_on(clock)


def store_on(clock: FakeClock, prefix: str = "cuda/") -> S3Store:
    return S3Store(bucket=Bucket(name=BUCKET, prefix=prefix, clock=Clock(now=clock.now, sleep=clock.sleep)))
