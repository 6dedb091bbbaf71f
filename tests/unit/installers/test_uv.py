"""What uv and pip print when they fail, each as one of them printed it, and the credentials that uv gets."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.files import write_private
from wheelmill.errors import InstallError, IntegrityError, NetworkError, ProcessError
from wheelmill.installers.uv import failure_of, index_variables, installer_environment, torch_options


@pytest.mark.parametrize(
    ("tail", "kind"),
    [
        (
            (
                "error: Failed to fetch: http://127.0.0.1:9/simple/six/\n"
                "  cause: error sending request for url (http://127.0.0.1:9/simple/six/)\n"
                "  cause: client error (Connect)\n  cause: tcp connect error\n  cause: Connection refused"
            ),
            NetworkError,
        ),
        (
            (
                "error: Failed to fetch: http://nohost.invalid/simple/six/\n  cause: client error (Connect)\n"
                "  cause: dns error\n  cause: failed to lookup address information: Name or service not known"
            ),
            NetworkError,
        ),
        (
            (
                "error: Failed to download `six @ http://127.0.0.1:8799/six-1.0-py3-none-any.whl`\n"
                "  cause: HTTP status server error (503 Service Unavailable) for url (http://127.0.0.1:8799/six-1.0.whl)"
            ),
            NetworkError,
        ),
        (
            (
                "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
                "'NewConnectionError(\"HTTPConnection(host='127.0.0.1', port=9): Failed to establish a new connection: "
                "[Errno 111] Connection refused\")': /simple/six/\n"
                "ERROR: Could not find a version that satisfies the requirement six (from versions: none)"
            ),
            NetworkError,
        ),
        ("  ERROR: HTTP error 404 while getting http://127.0.0.1:8799/six-1.0-py3-none-any.whl", NetworkError),
        (
            (
                "error: No solution found when resolving dependencies\n  cause: Because six was not found in the "
                "package registry and you require six, we can conclude that your requirements are unsatisfiable."
            ),
            InstallError,
        ),
        ("ERROR: No matching distribution found for six", InstallError),
        ("error: Hash mismatch for `six @ http://127.0.0.1:8799/six-1.0-py3-none-any.whl`", IntegrityError),
    ],
)
def test_the_network_is_told_from_other_causes(tail: str, kind: type[Exception]) -> None:
    error = failure_of(
        ProcessError("program-failed", "uv failed", returncode=2, tail=tail),
        otherwise=InstallError("install-failed", tail),
    )
    assert (type(error), str(error)) == (kind, tail)


def test_torch_comes_from_an_index_that_uv_knows_or_from_one_that_has_a_url() -> None:
    assert torch_options(None) == []
    assert torch_options("cu130") == ["--torch-backend", "cu130"]
    assert torch_options("https://torch.example/test/cu130") == ["--index", "https://torch.example/test/cu130"]


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
def test_pip_finds_the_password_in_the_url_of_it(index: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    assert index_variables() == {"UV_DEFAULT_INDEX": shown, "PIP_INDEX_URL": shown}
    assert os.environ["UV_DEFAULT_INDEX"] == index
