"""Reading what the index that people use now has."""

import json
from pathlib import Path

import pytest

from tests.unit.index.conftest import EVERY_KIND, Release, rendered
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_releases
from wheelmill.index.deployed import Deployed, deployed_wheels
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.write import write_site
from wheelmill.names import ReleaseTag


def test_a_site_tells_the_next_one_what_it_has(release: Release, tmp_path: Path) -> None:
    manifests = release(*EVERY_KIND)
    write_site(pages_of(site_of_releases(manifests, "")), tmp_path / "site")
    expected = {entry.filename: entry.sha256 for manifest in manifests for entry in manifest.wheels}
    read = {manifest.tag for manifest in manifests}
    assert deployed_wheels(str(tmp_path / "site"), read) == Deployed(hashes=expected)
    with serve_folder(tmp_path / "site") as url:
        assert deployed_wheels(url, read) == deployed_wheels(url.rstrip("/"), read) == Deployed(hashes=expected)


def test_what_a_site_lists_of_a_release_makes_the_same_rows_again(release: Release, tmp_path: Path) -> None:
    manifests = release(*EVERY_KIND, requires_python=">=3.9", requires=("einops",))
    site = rendered(site_of_releases(manifests, "https://files.example"))
    write_site(pages_of(site_of_releases(manifests, "https://files.example")), tmp_path / "site")
    unread = deployed_wheels(str(tmp_path / "site"), ()).unread
    again = rendered(site_of_releases(unread, "https://files.example"))
    assert {path: page for path, page in again.items() if "simple/" in path} == {
        path: page for path, page in site.items() if "simple/" in path
    }


def test_a_site_that_does_not_say_enough_of_a_release_is_refused(tmp_path: Path) -> None:
    row = {"filename": EVERY_KIND[0], "sha256": "0" * 64, "release": "v2026-11-21"}
    (tmp_path / "wheels.json").write_text(json.dumps({"schema": "wheelmill.wheels/1", "wheels": [row]}))
    assert deployed_wheels(str(tmp_path), [ReleaseTag("v2026-11-21")]).hashes == {EVERY_KIND[0]: "0" * 64}
    with pytest.raises(SiteError, match=r"wheels\.json of .*v2026-11-21.*size"):
        deployed_wheels(str(tmp_path), ())


@pytest.mark.parametrize(
    ("key", "value"),
    [("evidence", '["sm_90"]'), ("evidence", "7"), ("size", '"many"'), ("size", "9" * 5000), ("release", "7")],
)
def test_a_site_that_says_something_else_of_a_release_is_refused(
    release: Release, tmp_path: Path, key: str, value: str
) -> None:
    write_site(pages_of(site_of_releases(release(EVERY_KIND[0]), "")), tmp_path / "site")
    content = json.loads((tmp_path / "site" / "wheels.json").read_text())
    content["wheels"][0][key] = "PLACE"
    (tmp_path / "site" / "wheels.json").write_text(json.dumps(content).replace('"PLACE"', value))
    with pytest.raises(SiteError):
        deployed_wheels(str(tmp_path / "site"), ())


def test_a_place_without_an_index_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match=r"/wheels\.json cannot be read: No such file") as refusal:
        deployed_wheels(str(tmp_path), ())
    assert refusal.value.hint == "leave --previous out for the first index at a place"
    with serve_folder(tmp_path) as url, pytest.raises(SiteError, match=r"/wheels\.json cannot be read: .*404"):
        deployed_wheels(url, ())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<html>", "Invalid JSON"),
        ('{"schema": "wheelmill.wheels/2", "wheels": []}', "schema: Input should be 'wheelmill.wheels/1'"),
        ('{"schema": "wheelmill.wheels/1", "wheels": [{"filename": "x"}]}', r"wheels\.0\.sha256: Field required"),
        ('{"schema": "wheelmill.wheels/1", "wheels": [{"filename": "x", "sha256": 5}]}', r"wheels\.0\.sha256: "),
        ('{"schema": "wheelmill.wheels/1", "wheels": {}}', "wheels: Input should be a valid array"),
        ('{"schema": "wheelmill.wheels/1", "wheels": [{"filename": "\\ud800", "sha256": "0"}]}', "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
    ],
)
def test_what_is_no_wheels_json_is_refused(content: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "wheels.json").write_text(content)
    with pytest.raises(SiteError, match=problem):
        deployed_wheels(str(tmp_path), ())
