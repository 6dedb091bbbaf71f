"""``wheelmill index check`` as a person and a CI job meet it."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import junitparser
import pytest

from tests.broken_indexes import BROKEN, Spoil
from tests.good_index import PAGE, good_index
from tests.integration.conftest import Command
from tests.interruptions import interrupt
from tests.simple_server import Answer, Server, serving

CHECK = ("-m", "wheelmill", "index", "check", "--rate=1000")
"""Of a server that minds nothing."""


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
    done = python(*CHECK, f"{server.url}/simple/", exit_code=0)
    assert done.stdout == ""
    *_, observation, counts = done.stderr.splitlines()
    assert observation.startswith(f"head: {server.url}/files/demo-0.9-py3-none-any.whl: ")
    assert counts == "findings: 0; read: 1 of 1 project page, 2 of 2 files"


def test_a_finding_and_its_effect_in_json(python: Command, server: Server, tmp_path: Path) -> None:
    spoil(server, tmp_path, BROKEN["658.3"])
    done = python(*CHECK, f"{server.url}/simple/", "--json", exit_code=9)
    content = json.loads(done.stdout)
    (finding,) = content.pop("findings")
    topics = [observation["topic"] for observation in content.pop("observations")]
    assert topics == ["vary", "cache-control", "compression", "ranges", "cache-control", "head"]
    assert content == {"schema": "wheelmill.index-check/1", "projects": 1, "pages": 1, "files": 2, "examined": 2}
    assert "sha256" in finding["message"]
    assert finding.pop("examples") == [{"url": finding["url"], "message": finding.pop("message")}]
    assert finding == {
        "rule": "PEP 658",
        "number": "658.3",
        "url": f"{server.url}/files/demo-1.0-py3-none-any.whl.metadata",
        "severity": "error",
        "effect": {"pip": "fails: the hashes do not match", "uv": "fails: hash mismatch for package metadata"},
        "count": 1,
    }


def test_a_warning_too_is_a_finding_cut_short_for_people(python: Command, server: Server, tmp_path: Path) -> None:
    name = f"Demo\x1b[2J[red]{'x' * 4000}"
    spoil(server, tmp_path, lambda index: index.detail.update(name=name))
    done = python(*CHECK, f"{server.url}/simple/", exit_code=9)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("691.3 ")
    assert ": name is 'Demo\\x1b[2J[red]xxx" in lines[1]
    assert len(lines[1]) < 1000
    assert "warning" in done.stdout
    assert "x" * 4000 in python(*CHECK, f"{server.url}/simple/", "--json", exit_code=9).stdout


def test_a_folder(python: Command, tmp_path: Path) -> None:
    page = tmp_path / "public" / "simple" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<!DOCTYPE html>")
    done = python(*CHECK, tmp_path / "public", "--all-files", "--json", exit_code=9)
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


def test_the_same_of_a_hundred_files_is_said_once_in_every_form(python: Command, tmp_path: Path) -> None:
    check = (*CHECK, many_without_hashes(tmp_path), "--format")
    done = python(*check, "text", exit_code=9)
    assert "\n  and 97 more " in done.stdout
    assert "50 of 100 files" in done.stderr
    (finding,) = json.loads(python(*check, "json", exit_code=9).stdout)["findings"]
    assert (finding["number"], finding["count"], len(finding["examples"])) == ("503.7", 100, 10)
    (result,) = json.loads(python(*check, "sarif", exit_code=9).stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["occurrenceCount"]) == ("503.7", 100)
    suites = junitparser.JUnitXml.fromstring(python(*check, "junit", exit_code=9).stdout)
    assert [case.name[:6] for suite in suites for case in suite if case.result] == ["503.7 "]
    python(*check, "sarif", "--json", exit_code=2).check_refused("options-conflict")


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
    python(*check, site, "--project=../x", exit_code=2).check_refused("project-name-invalid")


def test_what_is_neither_url_nor_index(python: Command, tmp_path: Path) -> None:
    python(*CHECK, "nowhere", exit_code=2).check_refused("target-invalid", "nowhere")
    python(*CHECK, "http://user:word@127.0.0.1:x/", exit_code=2).check_refused("index-url-invalid", "URL")
    python(*CHECK, "http://[::1", exit_code=2).check_refused("index-url-invalid", "http://[::1")
    done = python(*CHECK, "http://127.0.0.1/simple/?token=word", exit_code=2)
    done.check_refused("index-url-invalid", "URL")
    assert "word" not in done.stderr
    python(*CHECK, tmp_path, exit_code=7).check_refused("not-a-site")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_an_interruption_does_not_wait_for_a_page_that_does_not_come(
    server: Server, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, over, answer = Event(), Event(), server.answer

    def answer_late(path: str, accept: str) -> Answer:
        if path == PAGE:
            asked.set()
            over.wait(600)
        return answer(path, accept)

    monkeypatch.setattr(server, "answer", answer_late)
    check = ("index", "check", "--project=demo", f"{server.url}/simple/")
    interrupt(number, *check, cache=tmp_path, when=lambda _process: asked.is_set())
    over.set()
