"""``wheelmill index check`` as a person and a CI job meet it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import junitparser
import pytest

from tests.broken_indexes import BROKEN, HANGING, Spoil
from tests.good_index import PAGE, good_index
from tests.integration.conftest import Command
from tests.simple_server import HTML, Answer, Server, serving
from wheelmill.system.guard import children_of

CHECK = ("-m", "wheelmill", "index", "check", "--rate=1000")
"""Of a server that minds nothing."""
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
    assert counts == "findings: 0; read: 1 of 1 project page, 2 of 2 files"


def test_a_finding_and_its_effect_in_json(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, BROKEN["658.3"])
    done = python(*CHECK, f"{server.url}/simple/", "--json", exit_code=9)
    content = json.loads(done.stdout)
    (finding,) = content.pop("findings")
    topics = [observation["topic"] for observation in content.pop("observations")]
    assert topics == ["vary", "cache-control", "compression", "ranges", "cache-control", "head"]
    assert content == {"schema": "wheelmill.index-check/1", "projects": 1, "pages": 1, "files": 2, "examined": 2}
    assert "METADATA has sha256" in finding["message"]
    assert finding.pop("examples") == [{"url": finding["url"], "message": finding.pop("message")}]
    assert finding == {
        "rule": "PEP 658",
        "number": "658.3",
        "url": f"{server.url}/files/demo-1.0-py3-none-any.whl.metadata",
        "severity": "error",
        "effect": {"pip": "fails: the hashes do not match", "uv": "fails: hash mismatch for package metadata"},
        "count": 1,
    }


def test_a_warning_too_is_a_finding_and_cannot_move_the_cursor(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, lambda index: index.detail.update(name="Demo\x1b[2J[red]"))
    done = python(*CHECK, f"{server.url}/simple/", exit_code=9)
    lines = done.stdout.splitlines()
    assert lines[0] == "691.3 name is the normalized name of the project."
    assert lines[1].endswith(": name is 'Demo\\x1b[2J[red]', not 'demo'")
    assert "warning" in done.stdout


def test_a_long_message_is_cut_and_whole_in_the_json(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, lambda index: index.detail.update(name="demo" * 1000))
    check = (*CHECK, f"{server.url}/simple/")
    assert len(python(*check, exit_code=9).stdout.splitlines()[1]) < 1000
    assert "demo" * 1000 in python(*check, "--json", exit_code=9).stdout


def test_a_folder(python: Command, tmp_path: Path) -> None:
    page = tmp_path / "public" / "simple" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<!DOCTYPE html>")
    done = python("-m", "wheelmill", "index", "check", tmp_path / "public", "--all-files", "--json", exit_code=9)
    assert [(it["number"], it["url"]) for it in json.loads(done.stdout)["findings"]] == [("629.1", "simple/")]


def many_without_hashes(folder: Path) -> Path:
    """A site of one project with a hundred files."""
    page = folder / "site" / "simple" / "demo" / "index.html"
    page.parent.mkdir(parents=True)
    head = '<!DOCTYPE html><meta name="pypi:repository-version" content="1.4">'
    (page.parents[1] / "index.html").write_text(f'{head}<a href="demo/">demo</a>')
    names = [f"demo-1.{number}.tar.gz" for number in range(100)]
    page.write_text(head + "".join(f'<a href="{name}">{name}</a>' for name in names))
    for name in names:
        (page.parent / name).write_bytes(b"x")
    return folder / "site"


def test_the_same_of_a_hundred_files_is_said_once(python: Command, tmp_path: Path) -> None:
    check = ("-m", "wheelmill", "index", "check", many_without_hashes(tmp_path))
    done = python(*check, exit_code=9)
    assert "\n  and 97 more that say the same\n" in done.stdout
    assert "findings: 1 in 100 places; read: 1 of 1 project page, 50 of 100 files" in done.stderr
    (finding,) = json.loads(python(*check, "--format", "json", exit_code=9).stdout)["findings"]
    assert (finding["number"], finding["count"], len(finding["examples"])) == ("503.7", 100, 10)


def test_reports_for_ci_services(python: Command, tmp_path: Path) -> None:
    check = ("-m", "wheelmill", "index", "check", many_without_hashes(tmp_path), "--format")
    (result,) = json.loads(python(*check, "sarif", exit_code=9).stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["occurrenceCount"]) == ("503.7", 100)
    suites = junitparser.JUnitXml.fromstring(python(*check, "junit", exit_code=9).stdout)
    cases = [case for suite in suites for case in suite]
    assert [case.name[:6] for case in cases if case.result] == ["503.7 "]
    assert "give one of them" in python(*check, "sarif", "--json", exit_code=2).stderr


def test_projects_of_an_index_without_a_list(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, BROKEN["503.1"])
    check = (*CHECK, "--json")
    done = python(*check, f"{server.url}/simple/", "--project", "Demo", "--project", "demo", exit_code=0)
    assert json.loads(done.stdout)["pages"] == 1
    site = many_without_hashes(tmp_path)
    (site / "simple" / "index.html").unlink()
    for folder in (site, site / "simple"):
        done = python(*check, folder, "--project=demo", "--project=gone", exit_code=9)
        findings = json.loads(done.stdout)["findings"]
        assert [(it["number"], it["count"]) for it in findings] == [("503.2", 1), ("503.7", 100)]
    assert "expected a project name" in python(*check, site, "--project=../x", exit_code=2).stderr


def test_what_is_neither_url_nor_index(python: Command, tmp_path: Path) -> None:
    check = ("-m", "wheelmill", "index", "check")
    assert "expected a URL or a folder, not 'nowhere'" in python(*check, "nowhere", exit_code=2).stderr
    assert "expected the URL of an index" in python(*check, "http://user:word@127.0.0.1:x/", exit_code=2).stderr
    done = python(*check, "http://127.0.0.1/simple/?token=word", exit_code=2)
    assert "expected the URL of an index without '?'" in done.stderr
    assert "word" not in done.stderr
    assert "holds no simple index" in python(*check, tmp_path, exit_code=7).stderr


def interrupted(server: Server, number: signal.Signals, *, reading: bool) -> list[int]:
    """Interrupt a check that has asked for the page, or reads it; returns the processes that it had started."""
    argv = [sys.executable, "-c", INTERRUPTIBLE, "index", "check", f"{server.url}/simple/"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=os.environ | {"no_proxy": "*"}) as running:
        try:
            deadline = time.monotonic() + 60
            while PAGE not in (path for path, _ in server.asked) or (reading and not children_of(running.pid)):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(0.5)  # it reads, or waits, by now
            started = _all_below(running.pid)
            start = time.monotonic()
            running.send_signal(number)
            _, talk = running.communicate(timeout=60)
        finally:
            running.kill()
    assert time.monotonic() - start < 15  # where much else runs; below one where little does
    assert running.returncode == 128 + number
    assert "Traceback" not in talk
    return started


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_reading_of_a_page_that_hangs(server: Server, number: signal.Signals) -> None:
    server.html[PAGE] = server.json[PAGE] = Answer(HANGING, HTML)
    started = interrupted(server, number, reading=True)
    assert started
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_does_not_wait_for_a_page_that_does_not_come(
    server: Server, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, answer = Event(), server.answer

    def answer_late(path: str, accept: str) -> Answer:
        if path == PAGE:
            over.wait(60)
        return answer(path, accept)

    monkeypatch.setattr(server, "answer", answer_late)
    assert interrupted(server, number, reading=False) == []
    over.set()


def _all_below(process: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    children = children_of(process)
    return children + [below for child in children for below in _all_below(child)]
