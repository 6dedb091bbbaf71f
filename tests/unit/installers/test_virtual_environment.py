"""Virtual environments."""

import os
from pathlib import Path

import pytest

from tests.files import write_private
from wheelmill.installers.environments import VirtualEnvironment
from wheelmill.system.sandbox import Sandbox


@pytest.fixture
def own_index(monkeypatch: pytest.MonkeyPatch) -> str:
    """The index that uv is set to on this machine."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://index.example/simple")
    return "https://index.example/simple"


def test_no_build_of_pip_knows_a_token(own_index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("PIP_CERT", "/etc/ca.pem")
    monkeypatch.setenv("PIP_CONSTRAINT", "/etc/caps.txt")
    seen: dict[str, str] = {}
    monkeypatch.setattr(Sandbox, "run", lambda _self, _argv, *, cwd, env: seen.update(env, cwd=str(cwd)))
    environment = VirtualEnvironment(directory=tmp_path)
    environment.pip_install(["demo==1.0"], extra_index="http://127.0.0.1/simple/", sandbox=Sandbox(writable={}))
    assert seen["PIP_CERT"] == "/etc/ca.pem"
    assert seen["PIP_INDEX_URL"] == own_index
    assert "PIP_CONSTRAINT" not in seen  # an older torch than the wheel's, perhaps
    assert seen["PIP_CONFIG_FILE"] == os.devnull
    assert "secret" not in seen.values()


@pytest.mark.usefixtures("own_index")
@pytest.mark.parametrize(
    ("variable", "value", "binary"),
    [
        ("PIP_TIMEOUT", "9", "demo"),
        ("PIP_EXTRA_INDEX_URL", "https://me:word@other.example/simple", ":all:"),
        ("WHEELMILL_CREDENTIALS", "credentials.toml", ":all:"),
        ("HTTPS_PROXY", "http://proxy.example:3128", "demo"),
        ("HTTPS_PROXY", "http://me:word@proxy.example:3128", ":all:"),
    ],
)
def test_no_setup_py_runs_where_pip_knows_a_password(
    variable: str, value: str, binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = '["https://index.example"]\nusername = "me"\npassword = "word"\n'
    monkeypatch.chdir(write_private(tmp_path / "credentials.toml", table).parent)
    monkeypatch.setenv(variable, value)
    told: list[str] = []
    monkeypatch.setattr(Sandbox, "run", lambda _self, argv, **_: told.extend(map(str, argv)))
    environment = VirtualEnvironment(directory=tmp_path)
    environment.pip_install(["demo==1.0"], extra_index="http://127.0.0.1/simple/", sandbox=Sandbox(writable={}))
    assert told[told.index("--only-binary") + 1] == binary
    assert "word" not in " ".join(told)
