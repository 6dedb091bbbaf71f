"""Reading what the index that people use now has."""

import json
import subprocess
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
from msgspec import structs

from tests.refusals import coded
from tests.unit.index.conftest import EVERY_KIND, Release, release_of, rendered
from tests.unit.release.conftest import NOW
from wheelmill.errors import SiteError
from wheelmill.index import deployed
from wheelmill.index.collect import site_of_releases
from wheelmill.index.deployed import Deployed
from wheelmill.index.render import hashes_from_lines, pages_of, pages_of_hashes
from wheelmill.index.serve import serve_folder
from wheelmill.index.write import write_site
from wheelmill.release.manifest.record import ListedRelease

deployed_wheels = partial(deployed.deployed_wheels, now=NOW)


def test_a_site_tells_the_next_one_what_it_has(release: Release, tmp_path: Path) -> None:
    manifests = release(*EVERY_KIND)
    write_site(pages_of(site_of_releases(manifests, "")), tmp_path / "site")
    expected = {entry.filename: entry.sha256 for manifest in manifests for entry in manifest.wheels}
    assert deployed_wheels(str(tmp_path / "site"), manifests) == Deployed(hashes=expected)
    with serve_folder(tmp_path / "site") as url:
        assert (
            deployed_wheels(url, manifests) == deployed_wheels(url.rstrip("/"), manifests) == Deployed(hashes=expected)
        )


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
    assert deployed_wheels(str(tmp_path), [release_of("v2026-11-21", ())]).hashes == {EVERY_KIND[0]: "0" * 64}
    with pytest.raises(SiteError, check=coded("deployed-unreadable", "wheels.json", "v2026-11-21", "size")):
        deployed_wheels(str(tmp_path), ())


@pytest.mark.parametrize(
    ("key", "value"),
    [("evidence", '["sm_90"]'), ("evidence", "7"), ("size", '"many"'), ("size", "9" * 5000), ("release", "7")],
)
def test_a_contradicting_site_is_refused(release: Release, tmp_path: Path, key: str, value: str) -> None:
    write_site(pages_of(site_of_releases(release(EVERY_KIND[0]), "")), tmp_path / "site")
    content = json.loads((tmp_path / "site" / "wheels.json").read_text())
    content["wheels"][0][key] = "PLACE"
    (tmp_path / "site" / "wheels.json").write_text(json.dumps(content).replace('"PLACE"', value))
    with pytest.raises(SiteError):
        deployed_wheels(str(tmp_path / "site"), ())


def test_a_place_without_an_index_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SiteError, check=coded("deployed-unreadable", "/wheels.json", "--previous")):
        deployed_wheels(str(tmp_path), ())
    with (
        serve_folder(tmp_path) as url,
        pytest.raises(SiteError, check=coded("deployed-unreadable", "/wheels.json", "404")),
    ):
        deployed_wheels(url, ())


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("<html>", "JSON"),
        ('{"schema": "wheelmill.wheels/2", "wheels": []}', "schema: "),
        ('{"schema": "wheelmill.wheels/1", "wheels": [{"filename": "x"}]}', "wheels.0.sha256: "),
        ('{"schema": "wheelmill.wheels/1", "wheels": [{"filename": "x", "sha256": 5}]}', "wheels.0.sha256: "),
        ('{"schema": "wheelmill.wheels/1", "wheels": {}}', "wheels: "),
        ('{"schema": "wheelmill.wheels/1", "wheels": [{"filename": "\\ud800", "sha256": "0"}]}', "JSON"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_what_is_no_wheels_json_is_refused(content: str, fact: str, tmp_path: Path) -> None:
    (tmp_path / "wheels.json").write_text(content)
    with pytest.raises(SiteError, check=coded("deployed-unreadable", "wheels.json", fact)):
        deployed_wheels(str(tmp_path), ())


@pytest.fixture
def site(release: Release, tmp_path: Path) -> tuple[Path, tuple[ListedRelease, ...]]:
    """A site of two releases without its ``wheels.json``, and their manifests."""
    release(*EVERY_KIND[:2])
    manifests = release(*EVERY_KIND[2:], now=NOW - timedelta(days=1))
    listed = site_of_releases(manifests, "")
    write_site(chain(pages_of(listed), pages_of_hashes(listed)), tmp_path / "site")
    (tmp_path / "site" / "wheels.json").unlink()
    return tmp_path / "site", manifests


Site = tuple[Path, tuple[ListedRelease, ...]]


def test_hashes_are_enough_where_every_manifest_was_read(site: Site) -> None:
    folder, manifests = site
    for file in folder.glob("hashes/*.sha256"):
        file.unlink()
    expected = {wheel.filename: wheel.sha256 for manifest in manifests for wheel in manifest.wheels}
    assert deployed_wheels(str(folder), manifests) == Deployed(hashes=expected)
    with serve_folder(folder) as url:
        assert deployed_wheels(url, manifests) == Deployed(hashes=expected)


def test_the_hashes_of_a_release_are_read_where_its_manifest_has_other_wheels(site: Site) -> None:
    folder, manifests = site
    first, second = manifests
    (folder / "hashes" / f"{second.tag}.sha256").unlink()
    one = structs.replace(first, wheels=first.wheels[:1])
    expected = {wheel.filename: wheel.sha256 for manifest in manifests for wheel in manifest.wheels}
    assert deployed_wheels(str(folder), [one, second]).hashes == expected
    changed = structs.replace(first, wheels=(structs.replace(first.wheels[0], sha256="0" * 64), *first.wheels[1:]))
    assert deployed_wheels(str(folder), [changed, second]).hashes == expected


def test_a_site_that_is_replaced_while_it_is_read_is_refused(site: Site) -> None:
    folder, (first, second) = site
    path = folder / "hashes" / f"{first.tag}.sha256"
    path.write_bytes(path.read_bytes().replace(b"demo", b"dome"))
    with pytest.raises(SiteError, check=coded("deployed-changed", "hashes/v2026-11-2", "hashes/index")):
        deployed_wheels(str(folder), [release_of(first.tag, ()), second])
    path.unlink()
    with pytest.raises(SiteError, check=coded("deployed-unreadable", "hashes/v2026-11-2")):
        deployed_wheels(str(folder), [release_of(first.tag, ()), second])


def test_a_release_that_cannot_be_read_is_looked_for_in_all_that_is_listed(site: Site) -> None:
    folder, (first, _) = site
    with pytest.raises(SiteError, check=coded("deployed-unreadable", "wheels.json", "No such file")):
        deployed_wheels(str(folder), [first])


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"schema": "wheelmill.hashes/2", "releases": {}}', '{"schema": "wheelmill.hashes/1"}', "x"]
)
def test_a_list_of_hashes_that_is_none_is_refused(content: str, site: Site) -> None:
    folder, manifests = site
    (folder / "hashes" / "index.json").write_text(content)
    with pytest.raises(SiteError, check=coded("deployed-unreadable", "hashes/index.json")):
        deployed_wheels(str(folder), manifests)


def test_sha256sum_checks_the_wheels_of_a_release(site: Site, tmp_path: Path) -> None:
    folder, (first, _) = site
    sums = folder / "hashes" / f"{first.tag}.sha256"
    subprocess.run(["sha256sum", "--check", sums], cwd=tmp_path / "releases" / first.tag, check=True)


@pytest.mark.parametrize("content", [b"x", b"\xff", b"a  b", b"b  x\na  y\n", b"a b\n"])
def test_what_are_no_hashes_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected lines|can't decode"):
        hashes_from_lines(content)
