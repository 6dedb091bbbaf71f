"""What uv is told of servers, in a folder that is there while it runs."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.files import write_private
from wheelmill.installers.uv import index_variables, installer_environment

TABLES = """
["https://index.example:8443"]
token = "se\\"cret"
["https://index.example"]
username = "me"
password = "w\u00f6rd"
["http://127.0.0.1:8080"]
token = "t"
["http://intranet.example"]
token = "t"
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHEELMILL_CREDENTIALS", str(write_private(tmp_path / "credentials.toml", TABLES)))
    own = tmp_path / "own"
    own.mkdir()
    (own / "credentials.toml").write_text('[[credential]]\nservice = "https://own.example"\nusername = "x"\n')
    monkeypatch.setenv("UV_CREDENTIALS_DIR", str(own))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return own


@pytest.mark.usefixtures("told")
def test_uv_is_told_beside_what_it_keeps_and_nothing_for_plain_http_elsewhere() -> None:
    with installer_environment() as variables:
        folder = Path(variables["UV_CREDENTIALS_DIR"])
        assert folder.stat().st_mode & 0o77 == 0
        entries = tomllib.loads((folder / "credentials.toml").read_text())["credential"]
    assert not folder.exists()
    assert entries == [
        {"service": "https://own.example", "username": "x"},
        {"service": "https://index.example:8443", "scheme": "bearer", "token": 'se"cret'},
        {"service": "https://index.example", "scheme": "basic", "username": "me", "password": "w\u00f6rd"},
        {"service": "http://127.0.0.1:8080", "scheme": "bearer", "token": "t"},
    ]
    assert not any("cret" in value or "w\u00f6rd" in value for value in variables.values())


def test_without_credentials_uv_keeps_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("UV_CREDENTIALS_DIR", "own")
    with installer_environment() as variables:
        assert variables["UV_CREDENTIALS_DIR"] == "own"


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("index", "shown"),
    [
        ("https://index.example/simple/", "https://me:w%C3%B6rd@index.example/simple/"),
        ("https://index.example:8443/simple/", "https://index.example:8443/simple/"),
        ("http://index.example/simple/", "http://index.example/simple/"),
        ("/srv/wheels", "/srv/wheels"),
    ],
)
def test_pip_finds_the_password_in_the_url_of_its_index(
    index: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    assert index_variables() == {"UV_DEFAULT_INDEX": shown, "PIP_INDEX_URL": shown}
    assert os.environ["UV_DEFAULT_INDEX"] == index
