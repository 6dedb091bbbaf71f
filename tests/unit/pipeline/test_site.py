"""The index of all releases."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.progress import RecordedProgress
from tests.refusals import coded, places
from tests.releases import store_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.config.load import load_compatibility
from wheelmill.config.model.files import Listing
from wheelmill.errors import SiteError
from wheelmill.index import write
from wheelmill.index.deployed import Deployed, deployed_wheels
from wheelmill.pipeline.site import Stores, build_index
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish

FIRST, SECOND = "demo-1.0-py3-none-any.whl", "demo-2.0-py3-none-any.whl"


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """Two releases of a wheel each."""
    releases = store_in(tmp_path / "releases")
    for filename in (FIRST, SECOND):
        publish(releases, [certified_wheel(tmp_path / filename)], now=NOW)
    return releases


def build(
    store: DirectoryStore, site: Path, previous: Path | None = None, *, on_github_pages: bool = False
) -> list[str]:
    """Build the site; returns what was warned of."""
    said: list[str] = []
    read = partial(deployed_wheels, str(previous), now=NOW) if previous else lambda _read: Deployed()
    facts = load_compatibility(Path("config"))
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=facts, read_deployed=read)
    build_index(stores, site, on_github_pages=on_github_pages, warn=said.append)
    return said


def listed(site: Path) -> dict[str, str]:
    """The link of every wheel, by its file name."""
    return {row["filename"]: row["url"] for row in json.loads((site / "wheels.json").read_text())["wheels"]}


def test_a_site_that_only_github_pages_would_not_publish_is_built_with_a_warning(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wheelmill.pipeline.site.MAX_BYTES", 1000)
    monkeypatch.setattr(write, "MAX_BYTES", 1000)
    (said,) = build(store, tmp_path / "site")
    assert said.startswith(f"{tmp_path / 'site'} ")
    assert "1,000" in said
    with pytest.raises(SiteError, check=coded("site-too-large", "1,000")):
        build(store, tmp_path / "other", on_github_pages=True)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("mirror", [None, "https://me:s3cret@mirror.example/cu{cuda}/simple/"])
def test_install_lines_name_torchs_mirror(mirror: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    releases = store_in(tmp_path / "releases")
    wheels = [f"demo-1.0+{cuda}torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl" for cuda in ("cu126", "cu130")]
    publish(releases, [certified_wheel(tmp_path / wheel, content=wheel.encode()) for wheel in wheels], now=NOW)
    if mirror:
        monkeypatch.setenv("WHEELMILL_TORCH_INDEX", mirror)
    build(releases, tmp_path / "site")
    url = "https://mirror.example/cu126/simple/" if mirror else "https://download.pytorch.org/whl/cu126"
    older, usual = (
        (tmp_path / "site/packages/demo/1.0" / f"{cuda}torch2.11" / "index.html").read_text()
        for cuda in ("cu126", "cu130")
    )
    assert f"pip install --index-url {url} " in older
    assert url.removesuffix("cu126") not in usual
    assert f'"linux_x86_64 12.6 2.11":["torch==2.11.*","{url}"]' in (
        (tmp_path / "site" / "index.html").read_text().replace(", ", ",").replace(": ", ":")
    )
    assert "s3cret" not in older


def test_only_github_pages_gets_no_json_pages(store: DirectoryStore, tmp_path: Path) -> None:
    build(store, tmp_path / "pages", on_github_pages=True)
    build(store, tmp_path / "elsewhere")
    pages, elsewhere = ({*_files_in(tmp_path / name)} for name in ("pages", "elsewhere"))
    lacking = elsewhere - pages
    assert pages < elsewhere
    assert {Path(path).name for path in lacking} == {"index.json"}
    assert {path.replace(".json", ".html") for path in lacking} == {
        path for path in elsewhere if "simple" in path.split("/") and path.endswith(".html")
    }


def _files_in(site: Path) -> Iterator[str]:
    return (str(path.relative_to(site)) for path in site.rglob("*") if path.is_file())


def test_what_takes_long_is_shown_now_and_then(store: DirectoryStore, tmp_path: Path) -> None:
    progress = RecordedProgress()
    for number in range(3, 26):
        publish(store, [certified_wheel(tmp_path / f"demo-{number}.0-py3-none-any.whl")], now=NOW)
    facts = load_compatibility(Path("config"))
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=facts)
    size = build_index(stores, tmp_path / "site", progress=progress)
    pages = [f"{number} pages made" for number in range(25, size.pages + 1, 25)]
    assert progress.lines == ["25 manifests read", *pages]


@pytest.mark.parametrize("damage", [b"", b"<html>", b'{"tag": "v1"}', None])
def test_wheels_whose_manifest_became_unreadable_stay_listed_and_new_ones_come(
    store: DirectoryStore, tmp_path: Path, damage: bytes | None
) -> None:
    """Before, the whole index was refused."""
    build(store, tmp_path / "site")
    before = listed(tmp_path / "site")
    tag = min(store.tags())
    manifest = store.directory / tag / "manifest.json"
    manifest.unlink() if damage is None else manifest.write_bytes(damage)
    publish(store, [certified_wheel(tmp_path / (third := "demo-3.0-py3-none-any.whl"))], now=NOW)
    said = build(store, tmp_path / "next", tmp_path / "site")
    after = listed(tmp_path / "next")
    assert {name: url for name, url in after.items() if name != third} == before
    assert third in after
    assert [tag in each for each in said] == [True, True]
    assert "removed.yml" in said[-1]
    build(store, tmp_path / "later", tmp_path / "next")  # what is kept once is kept again
    assert listed(tmp_path / "later") == after


def test_a_new_release_changes_the_pages_that_it_is_on_and_no_other_file(store: DirectoryStore, tmp_path: Path) -> None:
    site, whole = tmp_path / "site", tmp_path / "whole"
    publish(store, [certified_wheel(tmp_path / "other-1.0-py3-none-any.whl")], now=NOW)
    build(store, site)
    before = files_of(site)
    publish(store, [certified_wheel(tmp_path / "other-1.1-py3-none-any.whl")], now=NOW)
    build(store, site)
    build(store, whole)
    after, in_full = files_of(site), files_of(whole)
    assert {path: page for path, (page, _) in after.items()} == {path: page for path, (page, _) in in_full.items()}
    kept = {path for path in before.keys() & after.keys() if before[path][1] == after[path][1]}
    assert kept == {path for path in before.keys() & after.keys() if before[path][0] == after[path][0]}
    assert {path for path in before if "demo" in path} <= kept
    assert {"simple/index.html", "about/index.html", "static/style.css"} <= kept
    assert {"wheels.json", "simple/other/index.html", "packages/other/index.html"} <= after.keys() - kept


def files_of(site: Path) -> dict[str, tuple[bytes, tuple[int, int]]]:
    """The bytes of every file, and which file it is: its number and when it was written."""
    return {
        path.relative_to(site).as_posix(): (path.read_bytes(), (path.stat().st_ino, path.stat().st_mtime_ns))
        for path in site.rglob("*")
        if path.is_file()
    }


def test_without_the_live_site_nobody_knows_what_may_not_vanish(store: DirectoryStore, tmp_path: Path) -> None:
    (store.directory / min(store.tags()) / "manifest.json").unlink()
    with pytest.raises(SiteError, check=coded("wheels-contradict", FIRST)):
        build(store, tmp_path / "site")


def test_faults_of_all_manifests_are_told_at_once(store: DirectoryStore, tmp_path: Path) -> None:
    first, second = sorted(store.tags())
    change(store, first, "size", "9")
    change(store, second, "size", 0)
    newer = store.directory / "v2026-11-22"
    newer.mkdir()
    (newer / "manifest.json").write_text('{"schema": "wheelmill.manifest/2"}')
    with pytest.raises(SiteError) as refusal:
        build(store, tmp_path / "site")
    assert places(str(refusal.value).splitlines()) == [
        "v2026-11-21/manifest.json: wheels[0].size",
        "v2026-11-22/manifest.json: schema",
        f"v2026-11-21.2/{SECOND}: size",
    ]
    assert not (tmp_path / "site").exists()


def change(store: DirectoryStore, tag: str, key: str, value: object) -> None:
    """Write another value into the manifest of a release."""
    path = store.directory / tag / "manifest.json"
    content = json.loads(path.read_bytes())
    content["wheels"][0][key] = value
    path.write_text(json.dumps(content))


def test_a_changed_manifest_of_wheels_that_people_use_stops_nobody(store: DirectoryStore, tmp_path: Path) -> None:
    build(store, tmp_path / "site")
    change(store, min(store.tags()), "size", "9")
    said = build(store, tmp_path / "next", tmp_path / "site")
    assert listed(tmp_path / "next") == listed(tmp_path / "site")
    assert places(said[:1]) == ["v2026-11-21/manifest.json: wheels[0].size"]


@pytest.mark.parametrize("name", ["v2026-11-21-hotfix", "v2026-11-21.02", "mine"])
def test_a_release_whose_tag_is_no_day_is_told(name: str, store: DirectoryStore, tmp_path: Path) -> None:
    last = store.directory / max(store.tags())
    last.rename(store.directory / name)
    (store.directory / "ledger.tar.gz").unlink()
    (store.directory / "notes").mkdir()
    (warning,) = build(store, tmp_path / "site")
    assert warning.startswith(f"{name} ")
    assert listed(tmp_path / "site").keys() == {FIRST}
