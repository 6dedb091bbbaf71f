"""An S3 on this machine, a store in a bucket of it, and a clock that goes by."""

from collections.abc import Iterator

import pytest

from tests.s3_server import BUCKET, S3, serving
from tests.unit.release.github.conftest import FakeClock, clock
from wheelmill.release.s3 import Bucket, S3Store
from wheelmill.system.time import Clock

__all__ = ["clock"]


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """A server whose bucket is empty, in this process's variables."""
    with serving(S3()) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def store(s3: S3, clock: FakeClock) -> S3Store:  # noqa: ARG001 - the server must be there
    return store_on(clock)


def store_on(clock: FakeClock, prefix: str = "cuda/") -> S3Store:
    return S3Store(bucket=Bucket(name=BUCKET, prefix=prefix, clock=Clock(now=clock.now, sleep=clock.sleep)))
