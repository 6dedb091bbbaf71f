"""Pages, as installers read them."""

import hashlib
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from pypi_simple import IndexPage, ProjectPage

from tests.unit.index.conftest import EVERY_KIND, Release
from tests.unit.release.conftest import NOW
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.write import write_site

NO_TORCH = EVERY_KIND[3]
PAGE = "simple/plain-cuda/index.html"
NARROW = "cu130/simple/plain-cuda/index.html"
ORIGIN = "http://127.0.0.1/"


def links_on(page: bytes) -> list[str]:
    return re.findall(r'href="([^"]*)"', page.decode())


def test_a_project_page_says_everything_an_installer_asks_for(release: Release, tmp_path: Path) -> None:
    pages = dict(pages_of(site_of_releases(release(NO_TORCH, requires_python=">=3.11,<4"), "https://example.org/r")))
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


def test_characters_of_html_are_escaped(release: Release) -> None:
    pages = dict(pages_of(site_of_releases(release(NO_TORCH, requires_python=">=3.11,<4"), "")))
    assert b'data-requires-python="&lt;4,&gt;=3.11"' in pages[PAGE]


def test_size_and_time_are_given_in_the_form_of_the_simple_api(release: Release, tmp_path: Path) -> None:
    pages = dict(pages_of(site_of_releases(release(NO_TORCH), "")))
    size = (tmp_path / "wheels" / NO_TORCH).stat().st_size
    assert f'data-upload-time="2026-11-21T12:30:15Z" data-size="{size}"' in pages[PAGE].decode()


def test_what_is_not_known_is_not_said(release: Release, tmp_path: Path) -> None:
    release(NO_TORCH)
    pages = dict(pages_of(site_of_folder(tmp_path / "wheels", "", warn=lambda _text: None)))
    (package,) = ProjectPage.from_html("plain-cuda", pages[PAGE]).packages
    assert package.requires_python is None
    assert not package.has_metadata
    assert b"data-upload-time" not in pages[PAGE]


def test_every_tree_lists_its_projects(release: Release) -> None:
    pages = dict(pages_of(site_of_releases(release(*EVERY_KIND), "")))
    projects = {
        path: IndexPage.from_html(content).projects
        for path, content in pages.items()
        if path.endswith("simple/index.html")
    }
    assert projects == {
        "simple/index.html": ["demo", "plain-cuda", "unlabelled"],
        "cu128/simple/index.html": ["demo"],
        "cu128/torch2.10/simple/index.html": ["demo"],
        "cu130/simple/index.html": ["demo", "plain-cuda"],
        "cu130/torch2.10/simple/index.html": ["demo", "plain-cuda"],
        "cu130/torch2.11/simple/index.html": ["demo", "plain-cuda"],
    }


def test_an_empty_site_is_a_valid_index() -> None:
    pages = dict(pages_of(site_of_releases([], "")))
    assert set(pages) == {"index.html", "404.html", "wheels.json", "simple/index.html", "simple/index.json"}
    page = IndexPage.from_html(pages["simple/index.html"])
    assert page.projects == []
    assert page.repository_version == "1.4"


@pytest.mark.parametrize("base_url", ["../releases", "../releases/", "files", ""])
def test_every_link_leads_to_a_file_from_every_depth(base_url: str, release: Release, tmp_path: Path) -> None:
    manifests = release(*EVERY_KIND, store=f"site/{base_url}")
    pages = dict(pages_of(site_of_releases(manifests, base_url)))
    write_site(pages.items(), tmp_path / "site")
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
    pages = dict(pages_of(site_of_releases(release(NO_TORCH), base_url)))
    links = {links_on(pages[path])[0] for path in (PAGE, NARROW)}
    assert len(links) == 1
    assert links.pop().startswith(f"{base_url}/v2026-11-21/")


def test_the_same_releases_give_the_same_bytes(release: Release) -> None:
    release(NO_TORCH, store="releases")
    manifests = release(EVERY_KIND[0], now=NOW + timedelta(days=1))
    once = dict(pages_of(site_of_releases(manifests, "../releases")))
    again = dict(pages_of(site_of_releases(list(reversed(manifests)), "../releases")))
    assert list(once.items()) == list(again.items())
