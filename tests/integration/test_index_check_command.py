"""``wheelmill index check`` as a person and a CI job meet it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broken_indexes import BROKEN, HANGING, PAGE, Spoil, good_index
from tests.integration.conftest import Command
from tests.simple_server import HTML, Answer, Server, serving
from wheelmill.system.guard import children_of

INTERRUPTIBLE = """
import signal
from wheelmill.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
main()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The good index."""
    with serving(Server()) as server:
        good_index(tmp_path, server.url).put_on(server)
        yield server


def spoil(server: Server, folder: Path, how: Spoil) -> None:
    index = good_index(folder, server.url)
    how(index)
    index.put_on(server)


def test_an_index_without_findings(python: Command, server: Server) -> None:
    done = python("-m", "wheelmill", "index", "check", f"{server.url}/simple/", exit_code=0)
    assert done.stdout == ""
    *_, observation, counts = done.stderr.splitlines()
    assert observation == f"head: {server.url}/files/demo-0.9-py3-none-any.whl: answers 200 OK"
    assert counts == "findings: 0; read: 1 of 1 project pages, 2 of 2 files"


def test_a_finding_and_its_effect_in_json(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, BROKEN["658.3"])
    done = python("-m", "wheelmill", "index", "check", f"{server.url}/simple/", "--json", exit_code=9)
    content = json.loads(done.stdout)
    (finding,) = content.pop("findings")
    topics = [observation["topic"] for observation in content.pop("observations")]
    assert topics == ["vary", "cache-control", "compression", "ranges", "cache-control", "head"]
    assert content == {"schema": "wheelmill.index-check/1", "projects": 1, "pages": 1, "files": 2, "examined": 2}
    assert "METADATA has sha256" in finding.pop("message")
    assert finding == {
        "rule": "PEP 658",
        "number": "658.3",
        "url": f"{server.url}/files/demo-1.0-py3-none-any.whl.metadata",
        "severity": "error",
        "effect": {"pip": "fails: the hashes do not match", "uv": "fails: hash mismatch for package metadata"},
    }


def test_a_warning_too_is_a_finding_and_cannot_move_the_cursor(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, lambda index: index.detail.update(name="Demo\x1b[2J[red]"))
    done = python("-m", "wheelmill", "index", "check", f"{server.url}/simple/", exit_code=9)
    lines = done.stdout.splitlines()
    assert lines[0] == "691.3 name is the normalized name of the project."
    assert lines[1].endswith(": name is 'Demo\\x1b[2J[red]', not 'demo'")
    assert "warning" in done.stdout


def test_a_long_message_is_cut_and_whole_in_the_json(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, lambda index: index.detail.update(name="demo" * 1000))
    check = ("-m", "wheelmill", "index", "check", f"{server.url}/simple/")
    assert len(python(*check, exit_code=9).stdout.splitlines()[1]) < 1000
    assert "demo" * 1000 in python(*check, "--json", exit_code=9).stdout


def test_a_folder(python: Command, tmp_path: Path) -> None:
    page = tmp_path / "public" / "simple" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<!DOCTYPE html>")
    done = python("-m", "wheelmill", "index", "check", tmp_path / "public", "--all-files", "--json", exit_code=9)
    assert [(it["number"], it["url"]) for it in json.loads(done.stdout)["findings"]] == [("629.1", "simple/")]


def test_what_is_neither_url_nor_index(python: Command, tmp_path: Path) -> None:
    check = ("-m", "wheelmill", "index", "check")
    assert "expected a URL or a folder, not 'nowhere'" in python(*check, "nowhere", exit_code=2).stderr
    assert "expected the URL of an index" in python(*check, "http://user:word@127.0.0.1:x/", exit_code=2).stderr
    assert "holds no simple index" in python(*check, tmp_path, exit_code=7).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_reading_of_a_page_that_hangs(server: Server, number: signal.Signals) -> None:
    server.html[PAGE] = server.json[PAGE] = Answer(HANGING, HTML)
    argv = [sys.executable, "-c", INTERRUPTIBLE, "index", "check", f"{server.url}/simple/"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=os.environ | {"no_proxy": "*"}) as running:
        deadline = time.monotonic() + 60
        while not (PAGE in (path for path, _ in server.asked) and (reading := _all_below(running.pid))):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1)  # in the parser by now
        start = time.monotonic()
        running.send_signal(number)
        try:
            _, talk = running.communicate(timeout=60)
        finally:
            running.kill()
    assert time.monotonic() - start < 15  # where much else runs; 0.2 s where little does
    assert running.returncode == 128 + number
    assert "Traceback" not in talk
    assert not [pid for pid in reading if Path(f"/proc/{pid}").exists()]


def _all_below(process: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    children = children_of(process)
    return children + [below for child in children for below in _all_below(child)]
