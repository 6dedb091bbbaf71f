"""Downloads as a server of the tests counts them, into its ledger, and from there into the pictures of an index."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.github_server import REPOSITORY, Asset, GitHub, Release, serving
from tests.integration.conftest import Command
from tests.releases import store_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.names import project_name
from wheelmill.release.ledger.records import DownloadCount, with_count
from wheelmill.release.publish import publish

STORE = f"github:{REPOSITORY}"
COUNT = ("-m", "wheelmill", "release", "downloads")
WHEEL = "demo-1.0+cu130-py3-none-any.whl"


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """Two releases, and a draft, whose files nobody could download."""
    with serving(GitHub()) as server:
        for variable, value in server.environment.items():
            monkeypatch.setenv(variable, value)
        for number, draft in enumerate((False, False, True)):
            names = (WHEEL, f"{WHEEL}.metadata", "manifest.json", f"other-{number}.0-py3-none-any.whl")
            assets = [Asset(id=10 * number + i, name=name, content=b"", downloads=1000) for i, name in enumerate(names)]
            server.releases.append(
                Release(id=number, tag=f"v2026-11-2{number}", name="", body="", draft=draft, assets=assets)
            )
        yield server


def test_downloads_of_wheels_are_counted_and_kept(python: Command, github: GitHub) -> None:
    today = str(datetime.now(UTC).date())
    done = python(*COUNT, "--store", STORE, "--json", exit_code=0)
    assert json.loads(done.stdout) == {
        "schema": "wheelmill.release-downloads/1",
        "day": today,
        "projects": {"demo": 2000, "other": 2000},
    }
    github.releases[0].assets[0].downloads += 7
    assert python(*COUNT, "--store", STORE, exit_code=0).stdout.splitlines() == [
        "       2,007  demo",
        "       2,000  other",
    ]
    ledger = python("-m", "wheelmill", "release", "ledger", "--store", STORE, "--json", exit_code=0).stdout
    assert json.loads(ledger)["downloads"] == {today: {"demo": 2007, "other": 2000}}


def test_a_folder_counts_no_downloads(python: Command, tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    done = python(*COUNT, "--store", f"dir:{tmp_path / 'releases'}", exit_code=2)
    assert done.stderr.endswith("does not count downloads\nhint: github:OWNER/REPO does\n")


def test_an_index_shows_what_the_ledger_keeps(python: Command, tmp_path: Path) -> None:
    store = store_in(tmp_path / "releases")
    publish(store, [certified_wheel(tmp_path / WHEEL)], now=NOW)
    count = DownloadCount(day=date(2026, 11, 22), projects={project_name("demo"): 2007})
    store.ledger.change("counted", lambda state: with_count(state, count))
    build = ("index", "build", "--config", "tests/data/demo", "--store", f"dir:{store.directory}")
    python("-m", "wheelmill", *build, "--output", tmp_path / "site", exit_code=0)
    picture = (tmp_path / "site" / "packages" / "demo" / "history.svg").read_text()
    assert "<title>1 wheel; 2,007 downloads until 2026-11-22</title>" in picture


def test_without_a_token_nothing_is_asked(python: Command, github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "")
    python(*COUNT, "--store", STORE, exit_code=2).check_refused("token-absent", "GITHUB_TOKEN")
    assert github.calls == []
