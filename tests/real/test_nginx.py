"""nginx serves an index by the rules that ship: JSON to who asks for it, HTML to all others."""

import http.client
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.releases import manifests_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.write import write_site
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.system import resources
from wheelmill.web.pages import JSON_TYPE

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

pytestmark = [pytest.mark.real, pytest.mark.skipif(NGINX is None, reason="nginx is not installed")]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of an nginx over an index of one wheel."""
    wheel = certified_wheel(tmp_path / "demo-1.0+cu130-py3-none-any.whl")
    store = DirectoryStore(directory=tmp_path / "releases")
    publish(store, [wheel], now=NOW)
    write_site(pages_of(site_of_releases(manifests_in(store), "../releases")), tmp_path / "site")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    rules = (resources.INDEX / "nginx.conf").read_text()
    rules = rules.replace("/srv/index", str(tmp_path / "site")).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/errors; daemon off; user root;\n"
        f"events {{}}\nhttp {{ access_log off;\n{rules}\n}}\n"
    )
    with subprocess.Popen([str(NGINX), "-p", tmp_path, "-c", tmp_path / "nginx.conf"]) as server:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield port
        server.terminate()


@pytest.mark.parametrize("path", ["/simple/", "/simple/demo/", "/cu130/simple/demo/"])
@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01", JSON_TYPE),
        ("text/html", "text/html"),
        ("*/*", "text/html"),
    ],
)
def test_clients_get_what_they_ask_for(path: str, accept: str, expected: str, port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers={"Accept": accept})
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Content-Type")) == (200, expected)
    assert answer.getheader("Vary") == "Accept"
    assert answer.read(1) == (b"{" if expected == JSON_TYPE else b"<")
    connection.close()


def test_what_is_not_there_has_a_page(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/simple/nothing/")
    answer = connection.getresponse()
    assert answer.status == 404
    assert b"Not in this index" in answer.read()
    connection.close()
