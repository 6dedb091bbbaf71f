"""What tests of several stages use."""

from pathlib import Path

import pytest

from tests.fake_docker import FakeDocker, put_first_on_path
from wheelmill.system import containers


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """The docker of this machine, which has nothing and answers."""
    containers.answered.clear()
    return put_first_on_path(tmp_path / "docker", monkeypatch)
