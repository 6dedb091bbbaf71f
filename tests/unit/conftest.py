"""What tests of several stages use."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.fake_docker import FakeDocker, put_first_on_path
from wheelmill.config import load
from wheelmill.config.fields import ConfigFile
from wheelmill.config.yaml import read_file
from wheelmill.installers.index_settings import pip_configuration
from wheelmill.system import containers, own_installation


@pytest.fixture(scope="session", autouse=True)
def shipped_configuration_read_once() -> Iterator[None]:
    """Read each file of the configuration that ships once a run: no test changes one, and most read them all."""
    shipped = own_installation.CONFIG
    known: dict[Path, ConfigFile] = {}

    def read_once(path: Path, model: type[ConfigFile]) -> ConfigFile:
        if path.parent != shipped:
            return read_file(path, model)
        if path not in known:
            known[path] = read_file(path, model)
        return known[path]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "read_file", read_once)
        yield


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """The docker of this machine, which has nothing and answers."""
    containers.answered.clear()
    return put_first_on_path(tmp_path / "docker", monkeypatch)


@pytest.fixture
def set_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set this machine to a package index; until then it has none."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    pip_configuration.cache_clear()
    yield partial(monkeypatch.setenv, "PIP_INDEX_URL")
    pip_configuration.cache_clear()
