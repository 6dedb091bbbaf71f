"""The documents as a site: Sphinx renders them without a warning, and every page and every link in them is there."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.documents import DOCS, FILES, assert_rendered, render, rendered_documents


@pytest.fixture(scope="module")
def folder() -> Path:
    return rendered_documents()


@pytest.fixture(scope="module")
def site(folder: Path) -> dict[str, LexborHTMLParser]:
    """Its pages by their paths."""
    return {path.relative_to(folder).as_posix(): LexborHTMLParser(path.read_bytes()) for path in folder.rglob("*.html")}


@pytest.mark.nightly
def test_they_are_rendered_without_a_warning(tmp_path: Path) -> None:
    assert_rendered(tmp_path / "site")


def links(page: LexborHTMLParser) -> Iterator[str]:
    """The addresses that a page leads to, or takes something from."""
    for name in ("href", "src"):
        yield from (found for node in page.css(f"[{name}]") if (found := node.attributes[name]))


def within(path: str, page: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """The pages of the site that a page leads to, each with its anchor."""
    for link in links(page):
        target, anchor = urldefrag(urljoin(f"https://docs/{path}", link))
        place = urlsplit(target)
        if place.netloc == "docs" and place.path.endswith((".html", "/")):
            yield unquote(place.path).lstrip("/"), unquote(anchor)


def test_every_page_can_be_reached_from_the_first(site: dict[str, LexborHTMLParser]) -> None:
    reached, ahead = set[str](), {"README.html"}
    while ahead:
        reached |= ahead
        ahead = {target for path in ahead for target, _ in within(path, site[path])} - reached
    pages = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert pages - reached == set()


def test_every_link_and_anchor_is_there(site: dict[str, LexborHTMLParser]) -> None:
    ids = {path: {node.attributes["id"] for node in page.css("[id]")} | {""} for path, page in site.items()}
    broken = [
        (path, target, anchor)
        for path, page in site.items()
        for target, anchor in within(path, page)
        if anchor not in ids.get(target, set())
    ]
    assert broken == []


def test_nothing_comes_from_another_host(site: dict[str, LexborHTMLParser]) -> None:
    parts = "script[src], img[src], iframe[src], link[rel~=stylesheet], link[rel~=preload], link[rel~=preconnect]"
    nodes = [node for page in site.values() for node in page.css(parts)]
    assert nodes
    addresses = {node.attributes.get("src") or node.attributes.get("href") or "" for node in nodes}
    assert {address for address in addresses if urlsplit(address).netloc} == set()


def test_links_to_other_files_lead_to_the_repository(site: dict[str, LexborHTMLParser]) -> None:
    given = {link.removeprefix(FILES) for page in site.values() for link in links(page) if link.startswith(FILES)}
    assert {path for path in given if not (DOCS.parent / urldefrag(path).url).exists()} == set()
    assert "tests/unit/test_import_order.py" in given


def test_every_schema_has_a_lasting_address_as_its_id(folder: Path, site: dict[str, LexborHTMLParser]) -> None:
    schemas = {path.name: path.read_bytes() for path in (DOCS / "reference" / "schemas").iterdir()}
    assert {path.name: path.read_bytes() for path in (folder / "reference" / "schemas").iterdir()} == schemas
    assert {json.loads(content)["$id"] for content in schemas.values()} == schemas.keys()
    given = {link for name in ("json", "manifest") for link in links(site[f"reference/{name}.html"])}
    assert {f"schemas/{name}" for name in schemas} - given == set()
    assert not (folder / "_downloads").exists()


def test_a_broken_link_a_broken_anchor_and_a_page_without_a_way_to_it_are_refused(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copytree(DOCS.parent / "index" / "static", tmp_path / "index" / "static")
    shutil.copy(DOCS / "conf.py", docs)
    (docs / "reference" / "schemas").mkdir(parents=True)
    (docs / "_toc.yml").write_text("root: README\nentries:\n- file: other\n")
    links = "[a](gone.md) [b](other.md#gone) [c](../gone.py) [d](../index/gone) [e](reference/schemas/gone.json)"
    (docs / "README.md").write_text(f"# First\n\n{links}\n")
    (docs / "other.md").write_text("# Other\n")
    (docs / "alone.md").write_text("# Alone\n")
    done = render(docs, tmp_path / "site")
    assert done.returncode == 1
    names = ("gone.md", "'other': 'gone'", "../gone.py", "../index/gone", "schemas/gone.json", "alone.md")
    assert {name for name in names if name not in done.stderr} == set(), done.stderr
