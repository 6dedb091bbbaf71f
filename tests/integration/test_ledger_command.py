"""What is in the ledger, and how it is made again."""

import json
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.releases import store_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish

NAME = "demo-1.0+cu130-py3-none-any.whl"


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    store = store_in(tmp_path / "releases")
    publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    return store


def test_it_is_shown_and_made_again(python: Command, store: DirectoryStore) -> None:
    show = ["-m", "wheelmill", "release", "ledger", "--store", f"dir:{store.directory}"]
    assert python(*show, exit_code=0).stdout.splitlines()[0] == "1 release with 1 wheel"
    (store.directory / "ledger.tar.gz").write_bytes(b"damaged")
    python(*show, exit_code=6).check_refused("not-a-ledger", "wheelmill release ledger --rebuild")
    content = json.loads(python(*show, "--rebuild", "--json", exit_code=0).stdout)
    assert content["schema"] == "wheelmill.release-ledger/1"
    assert [release["wheels"] for release in content["releases"]] == [[NAME]]
    assert python(*show, exit_code=0).stdout.startswith("1 release")


def test_no_manifest_and_a_file_that_lacks_are_findings(python: Command, store: DirectoryStore) -> None:
    (store.directory / "v2026-11-20").mkdir()
    (store.directory / "v2026-11-21" / f"{NAME}.metadata").unlink()
    done = python("-m", "wheelmill", "release", "ledger", "--rebuild", "--store", f"dir:{store.directory}", exit_code=9)
    assert "gh release delete v2026-11-20 --cleanup-tag" in done.stderr
    assert f"{NAME}.metadata" in done.stderr
