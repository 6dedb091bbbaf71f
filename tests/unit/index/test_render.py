"""Pages, as installers read them."""

import gzip
import hashlib
import json
import re
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from msgspec import structs
from pypi_simple import IndexPage, ProjectPage

from tests.reference.outputs import IndexedWheel, Shown, Tried
from tests.unit.index.conftest import EVERY_KIND, Release, entry_named, page_of_500, release_of, rendered
from tests.unit.plan.examples import CUDA_13
from tests.unit.release.conftest import NOW
from wheelmill.config.model.files import Listing, Status, StatusEntry, Yanked
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.render import pages_of, pages_of_sources
from wheelmill.index.write import write_site
from wheelmill.names import TorchVersion, project_name
from wheelmill.wheel.torch_symbols import TorchFit, TorchWindow

NO_TORCH = EVERY_KIND[3]
PAGE = "simple/plain-cuda/index.html"
NARROW = "cu130/simple/plain-cuda/index.html"
ORIGIN = "http://127.0.0.1/"
ROOT = Path(__file__).parents[3]


def links_on(page: bytes) -> list[str]:
    return re.findall(r'href="([^"]*)"', page.decode())


def test_a_project_page_says_everything_an_installer_asks_for(release: Release, tmp_path: Path) -> None:
    pages = rendered(site_of_releases(release(NO_TORCH, requires_python=">=3.11,<4"), "https://example.org/r"))
    page = ProjectPage.from_html("plain-cuda", pages[PAGE])
    (package,) = page.packages
    released = tmp_path / "releases" / "v2026-11-21" / NO_TORCH
    sidecar = released.with_name(f"{NO_TORCH}.metadata")
    assert page.repository_version == "1.4"
    assert package.filename == NO_TORCH
    assert package.url == "https://example.org/r/v2026-11-21/" + NO_TORCH.replace("+", "%2B")
    assert package.digests == {"sha256": hashlib.sha256(released.read_bytes()).hexdigest()}
    assert package.metadata_digests == {"sha256": hashlib.sha256(sidecar.read_bytes()).hexdigest()}
    assert package.requires_python == "<4,>=3.11"


def test_attributes_are_escaped_and_in_the_form_of_the_simple_api(release: Release, tmp_path: Path) -> None:
    page = rendered(site_of_releases(release(NO_TORCH, requires_python=">=3.11,<4"), ""))[PAGE].decode()
    assert 'data-requires-python="&lt;4,&gt;=3.11"' in page
    assert 'data-upload-time="2026-11-21T12:30:15Z"' in page
    assert f'data-size="{(tmp_path / "wheels" / NO_TORCH).stat().st_size}"' in page
    assert "data-core-metadata=" in page
    # pip 22.3 to 23.1 read the older name, and refuse METADATA whose name is another spelling (PEP 714).
    assert "data-dist-info-metadata" not in page


def test_what_is_not_known_is_not_said(release: Release, tmp_path: Path) -> None:
    release(NO_TORCH)
    pages = rendered(site_of_folder(tmp_path / "wheels", "", warn=lambda _text: None))
    (package,) = ProjectPage.from_html("plain-cuda", pages[PAGE]).packages
    assert package.requires_python is None
    assert not package.has_metadata
    assert b"data-upload-time" not in pages[PAGE]


def test_every_tree_lists_its_projects(release: Release) -> None:
    pages = rendered(site_of_releases(release(*EVERY_KIND), ""))
    lists = {path: content for path, content in pages.items() if path.endswith("simple/index.html")}
    projects = {path: IndexPage.from_html(content).projects for path, content in lists.items()}
    assert projects == {
        "simple/index.html": ["demo", "plain-cuda", "unlabelled"],
        "cu128/simple/index.html": ["demo"],
        "cu128/torch2.10/simple/index.html": ["demo"],
        "cu130/simple/index.html": ["demo", "plain-cuda"],
        "cu130/torch2.10/simple/index.html": ["demo", "plain-cuda"],
        "cu130/torch2.11/simple/index.html": ["demo", "plain-cuda"],
    }


def test_an_empty_site_is_a_valid_index() -> None:
    pages = rendered(site_of_releases([], ""))
    assert set(pages) == {"404.html", "wheels.json", "simple/index.html", "simple/index.json"}
    page = IndexPage.from_html(pages["simple/index.html"])
    assert page.projects == []
    assert page.repository_version == "1.4"


@pytest.mark.parametrize("base_url", ["../releases", "../releases/", "files", ""])
def test_every_link_leads_to_a_file_from_every_depth(base_url: str, release: Release, tmp_path: Path) -> None:
    manifests = release(*EVERY_KIND, store=f"site/{base_url}")
    site = site_of_releases(manifests, base_url)
    pages = rendered(site)
    write_site(pages_of(site), tmp_path / "site")
    for path, content in pages.items():
        for link in links_on(content):
            url = urlsplit(urljoin(f"{ORIGIN}site/{path}", link))
            target = tmp_path / unquote(url.path).removeprefix("/")
            if target.is_dir():
                target /= "index.html"
                assert url.path.endswith("/"), link
            assert target.is_file(), f"{path} links to {link}"
            if url.fragment:
                assert url.fragment == f"sha256={hashlib.sha256(target.read_bytes()).hexdigest()}"


@pytest.mark.parametrize("base_url", ["https://example.org/r", "//example.org/r", "/r"])
def test_an_absolute_base_url_is_the_same_at_every_depth(base_url: str, release: Release) -> None:
    pages = rendered(site_of_releases(release(NO_TORCH), base_url))
    links = {links_on(pages[path])[0] for path in (PAGE, NARROW)}
    assert len(links) == 1
    assert links.pop().startswith(f"{base_url}/v2026-11-21/")


LISTING = Listing(
    yanked=Yanked(
        wheels={NO_TORCH: 'wrong "sums" <on> sm_120'},
        projects={project_name("plain-cuda"): StatusEntry(status=Status.DEPRECATED, reason="part of <torch>")},
    )
)


def test_html_and_json_say_the_same(release: Release) -> None:
    pages = rendered(site_of_releases(release(NO_TORCH, requires_python=">=3.11,<4"), "../releases", LISTING))
    for path in (PAGE, NARROW):
        base_url = f"https://example.org/site/{path}"
        html = ProjectPage.from_html("plain-cuda", pages[path], base_url=base_url)
        content = json.loads(pages[path.replace(".html", ".json")])
        of_json = ProjectPage.from_json_data(content, base_url=base_url)
        assert html.repository_version == of_json.repository_version == "1.4"
        for key in ("filename", "url", "digests", "requires_python", "is_yanked", "yanked_reason", "metadata_digests"):
            assert [getattr(each, key) for each in html.packages] == [getattr(each, key) for each in of_json.packages]
        (package,) = of_json.packages
        assert package.upload_time == NOW.replace(microsecond=0)
        assert package.yanked_reason == 'wrong "sums" <on> sm_120'
        assert content["versions"] == ["2.0+cu130"]
        assert content["project-status"] == {"status": "deprecated", "reason": "part of <torch>"}


def test_the_status_of_a_project_stands_in_the_html(release: Release) -> None:
    pages = rendered(site_of_releases(release(*EVERY_KIND), "", LISTING))
    assert b'<meta name="pypi:project-status" content="deprecated">' in pages[PAGE]
    assert b'<meta name="pypi:project-status-reason" content="part of &lt;torch&gt;">' in pages[PAGE]
    assert b'<meta name="pypi:project-status" content="active">' in pages["simple/demo/index.html"]


def test_versions_are_in_their_own_order(release: Release) -> None:
    names = [f"demo-1.{number}+cu130-py3-none-any.whl" for number in (10, 9, 2)]
    pages = rendered(site_of_releases(release(*names), ""))
    assert json.loads(pages["simple/demo/index.json"])["versions"] == ["1.2+cu130", "1.9+cu130", "1.10+cu130"]


def test_project_lists_are_there_as_json(release: Release) -> None:
    pages = rendered(site_of_releases(release(*EVERY_KIND), ""))
    assert json.loads(pages["cu130/simple/index.json"]) == {
        "meta": {"api-version": "1.4"},
        "projects": [{"name": "demo"}, {"name": "plain-cuda"}],
    }


def test_wheels_json_names_the_range_of_a_wheel_for_many_torches_and_all_its_trees(release: Release) -> None:
    manifests = release(NO_TORCH, requires=("torch>=2.10",))
    site = site_of_releases(manifests, "", torches={CUDA_13: [TorchVersion(2, 9), TorchVersion(2, 11)]})
    (wheel,) = json.loads(rendered(site)["wheels.json"])["wheels"]
    assert (wheel["torch"], wheel["torch_abi"]) == (None, {"stable": "2.10"})
    assert wheel["trees"] == ["cu130", "cu130/torch2.11"]


def test_wheels_json_has_everything(release: Release) -> None:
    (manifest,) = release(NO_TORCH, requires_python=">=3.11")
    content = json.loads(rendered(site_of_releases([manifest], "../releases", LISTING))["wheels.json"])
    (wheel,) = content.pop("wheels")
    assert content == {
        "schema": "wheelmill.wheels/1",
        "trees": ["simple", "cu130/simple"],
        "projects": {"plain-cuda": {"status": "deprecated", "reason": "part of <torch>"}},
    }
    (entry,) = manifest.wheels
    assert wheel == {
        "filename": NO_TORCH,
        "project": "plain-cuda",
        "version": "2.0",
        "label": "cu130",
        "cuda": "13.0",
        "torch": None,
        "torch_abi": None,
        "build": None,
        "tags": ["py3-none-manylinux_2_28_x86_64"],
        "url": f"../releases/v2026-11-21/{NO_TORCH.replace('+', '%2B')}",
        "sha256": entry.sha256,
        "size": entry.size,
        "metadata_sha256": entry.metadata_sha256,
        "requires_python": ">=3.11",
        "requires_dist": [],
        "uploaded_at": "2026-11-21T12:30:15Z",
        "release": "v2026-11-21",
        "yanked": 'wrong "sums" <on> sm_120',
        "trees": ["cu130"],
        "attestation": None,
        "evidence": {
            "policy": "any",
            "needed": [],
            "glibc": None,
            "glibcxx": None,
            "cuda_major": 13,
            "sass": [],
            "ptx": [],
            "torch_window": None,
        },
        "tried": [{"python": "3.11.7", "place": "this machine", "skipped": [], "gpus": []}],
        "built": None,
    }


def test_wheels_json_says_which_torches_have_the_symbols_of_a_wheel() -> None:
    entry = entry_named(EVERY_KIND[0])
    fits = (TorchFit(torch="2.10", lacks=("_ZN2at",)), TorchFit(torch="2.11"))
    evidence = replace(entry.certificate.evidence, torch_window=TorchWindow(symbols=7, cuda=True, torches=fits))
    known = structs.replace(entry, certificate=replace(entry.certificate, evidence=evidence))
    (wheel,) = json.loads(rendered(site_of_releases([release_of("v2026-11-21", [known])], ""))["wheels.json"])["wheels"]
    assert wheel["evidence"]["torch_window"] == {"2.10": False, "2.11": True}


def test_every_key_of_wheels_json_is_documented(release: Release) -> None:
    (wheel,) = json.loads(rendered(site_of_releases(release(NO_TORCH), ""))["wheels.json"])["wheels"]
    text = (ROOT / "docs" / "what-an-index-has.md").read_text()
    assert [key for key in (*wheel, *wheel["evidence"], *wheel["tried"][0]) if f"`{key}`" not in text] == []
    written = (wheel, IndexedWheel), (wheel["evidence"], Shown), (wheel["tried"][0], Tried)
    assert [kind for content, kind in written if content.keys() != kind.__annotations__.keys()] == []


def test_a_page_of_500_wheels_is_small() -> None:
    page = page_of_500()["index.html"]
    assert page.count(b"<a ") == 500
    assert len(gzip.compress(page, 9)) < 29_100
    assert len(gzip.compress(page, 6)) < 30_200


def test_the_same_releases_give_the_same_bytes(release: Release) -> None:
    release(NO_TORCH, store="releases")
    manifests = release(EVERY_KIND[0], now=NOW + timedelta(days=1))
    once = rendered(site_of_releases(manifests, "../releases"))
    again = rendered(site_of_releases(list(reversed(manifests)), "../releases"))
    assert list(once.items()) == list(again.items())


def test_sha256sum_finds_the_list_of_sources_whole(tmp_path: Path) -> None:
    write_site(pages_of_sources(b"sources: {}\n"), tmp_path / "site")
    assert (tmp_path / "site" / "sources.yml").read_bytes() == b"sources: {}\n"
    subprocess.run(["sha256sum", "--check", "sources.yml.sha256"], cwd=tmp_path / "site", check=True)
