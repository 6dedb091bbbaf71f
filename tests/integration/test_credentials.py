"""No command sends a credential to a server of another name or port, nor across a redirect to one."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, in_pieces
from tests.wheels import write_wheel

WHEEL = "demo-1.0-py3-none-any.whl"
INTO = ("--python-path", ".venv/bin/python")


Servers = tuple[PageServer, PageServer]


@pytest.fixture
def servers(server: PageServer, other_server: PageServer) -> Servers:
    """The one that has the pages, and the one that has the wheels."""
    return server, other_server


@pytest.fixture
def private(server: PageServer, other_server: PageServer, tmp_path: Path) -> str:
    """The server under the name that credentials are for. Its pages and wheels lead to its other name and elsewhere."""
    own = server.url.replace("127.0.0.1", "localhost")
    content = write_wheel(tmp_path / "site" / WHEEL).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    link = f'<a href="/files/{WHEEL}#sha256={digest}">{WHEEL}</a>'
    asset = {"name": WHEEL, "browser_download_url": f"{own}/files/{WHEEL}", "digest": f"sha256:{digest}"}
    following = {"Content-Type": "application/json", "Link": f'<{other_server.url}/second>; rel="next"'}
    server.pages |= {
        "/simple/demo/": Answer(link.encode()),
        f"/files/{WHEEL}": Answer(status=302, headers={"Location": f"{other_server.url}/store/{WHEEL}"}),
        "/elsewhere/": Answer(status=302, headers={"Location": f"{server.url}/links/"}),
        "/links/": Answer(f'<a href="{other_server.url}/store/demo-0.9-py3-none-any.whl">x</a>'.encode()),
        "/repos/a/b/releases?per_page=30": Answer(json.dumps([{"assets": [asset]}]).encode(), headers=following),
    }
    other_server.pages[f"/store/{WHEEL}"] = in_pieces(content)
    return own


@pytest.fixture(params=["netrc", "WHEELMILL_TOKEN_LOCALHOST", "GITHUB_TOKEN"])
def credential(request: pytest.FixtureRequest, private: str, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """The header that the private server is to see, and the variables that make it."""
    sources = f"{private}/simple/ {private}/elsewhere/"
    match request.param:
        case "netrc":
            (tmp_path / "netrc").write_text("machine localhost login somebody password word\n")
            (tmp_path / "netrc").chmod(0o600)
            return "Basic c29tZWJvZHk6d29yZA==", {"WHEELMILL_SOURCES": sources}
        case "GITHUB_TOKEN":
            return "Bearer secret", {
                "WHEELMILL_SOURCES": f"github:a/b {sources}",
                "GITHUB_TOKEN": "secret",
                "GITHUB_API_URL": private,
            }
        case name:
            return "Bearer secret", {"WHEELMILL_SOURCES": sources, name: "secret"}


@pytest.fixture
def environment(tmp_path: Path) -> None:
    """An empty one, for what installs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)


def sent(*servers: PageServer) -> Iterator[tuple[str, str | None]]:
    """The name that a server was asked under, and the credential; of this program, and of uv to other servers."""
    private = urlsplit(servers[0].url.replace("127.0.0.1", "localhost")).netloc
    for _, headers in (request for server in servers for request in server.asked):
        if headers["User-Agent"] == "wheelmill" or headers["Host"] != private:
            yield "private" if headers["Host"] == private else "other", headers["Authorization"]


@pytest.mark.parametrize("command", ["resolve", "explain", "available", "lock"])
def test_finding_sends_it_to_its_own_server_only(
    command: str, credential: tuple[str, dict[str, str]], wheelmill: Command, servers: Servers
) -> None:
    header, variables = credential
    wheelmill(command, "demo", **variables, UV_TORCH_BACKEND="cpu")
    assert set(sent(*servers)) == {("private", header), ("other", None)}
    assert bool(servers[1].asked) is (command != "available")  # the others look into the wheel


@pytest.mark.real
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "command",
    [
        ("install", "demo", *INTO),
        ("install", "--lock", "pylock.toml", *INTO),
        ("sync", *INTO),
        ("add", "demo", *INTO),
        ("update", *INTO),
        ("doctor", *INTO),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_installing_sends_it_to_its_own_server_only(
    command: tuple[str, ...],
    credential: tuple[str, dict[str, str]],
    wheelmill: Command,
    servers: Servers,
    tmp_path: Path,
) -> None:
    header, variables = credential
    variables |= {"UV_TORCH_BACKEND": "cpu", "UV_CACHE_DIR": str(tmp_path / "uv")}
    wheelmill("lock", "demo", **variables)
    wheelmill("add", "demo", "--no-sync", *INTO, **variables)
    for each in servers:
        each.asked.clear()
    wheelmill(*command, **variables, XDG_CACHE_HOME=tmp_path / "empty")
    assert servers[1].asked
    assert set(sent(*servers)) == {("private", header), ("other", None)}


def test_a_password_in_a_url_is_written_nowhere(
    wheelmill: Command, servers: Servers, private: str, tmp_path: Path
) -> None:
    source = ("--source", private.replace("//", "//me:pass%40word@") + "/simple/")
    lock, add = ("lock", "demo"), ("add", "demo", "--no-sync")
    for command in (lock, add):
        wheelmill(*command, *source, UV_TORCH_BACKEND="cpu")
    assert ("private", "Basic bWU6cGFzc0B3b3Jk") in set(sent(*servers))
    shown = [wheelmill("search", *source, *form).stdout for form in ((), ("--json",))]
    written = [path.read_text() for path in (tmp_path / "pylock.toml", tmp_path / "pyproject.toml")]
    assert all(f"{private}/simple/" in text for text in (*shown, *written))
    assert not any("%40word" in text for text in (*shown, *written))
