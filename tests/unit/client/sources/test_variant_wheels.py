"""Variant wheels and the lists of them are found on pages of every form, and are never among plain ones."""

import json
from pathlib import Path

import pytest

from tests.page_server import JSON, Answer, PageServer, links_page
from wheelmill.client.source_records import Source, SourceKind
from wheelmill.client.sources.links import LinkGroup, group_links
from wheelmill.client.sources.listing import Place, candidates_of
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.client.sources.pages import Pages
from wheelmill.client.sources.variant_wheels import VariantWheel, variant_wheels
from wheelmill.names import project_name
from wheelmill.web.pages import Link
from wheelmill.wheel.name import VARIANTS_SUFFIX

DEMO = project_name("demo")
NAMES = (
    "demo-1.0-py3-none-any.whl",
    "demo-1.0-1-py3-none-any.whl",
    "demo-1.0-py3-none-any-cu130.whl",
    "demo-1.0-2-py3-none-any-null.whl",
    "demo-1.0+torch2.11-py3-none-any-cu130.whl",
    "demo-1.0-variants.json",
    "demo-1.0.tar.gz",
)
SHA = "ab" * 32


def read(server: PageServer, answer: Answer, folder: Path | None = None) -> tuple[list[str], list[VariantWheel]]:
    """The plain wheels and the variants of a page."""
    server.pages["/demo/"] = answer
    source = Source(name="a", kind=SourceKind.SIMPLE, url=f"{server.url}/")
    place = Place(source=source, filled=source, url=f"{server.url}/demo/")
    with PageCache(folder) as cache:
        pages = Pages(cache)
        pages.update([place.url])
        assert pages.warnings == []
        return [each.filename for each in candidates_of(DEMO, [place], pages)], variant_wheels(DEMO, [place], pages)


def as_json() -> Answer:
    files = [{"filename": name, "url": name, "hashes": {"sha256": SHA}} for name in NAMES]
    content = {"meta": {"api-version": "1.0"}, "name": "demo", "files": files}
    return Answer(json.dumps(content).encode(), headers={"Content-Type": JSON})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(links_page(*NAMES, sha256=SHA)),
        Answer(b"<script></script>" + links_page(*NAMES, sha256=SHA)),
        Answer(links_page(*reversed(NAMES), sha256=SHA)),
        as_json(),
    ],
    ids=["plain", "with a script", "the other way round", "JSON"],
)
def test_a_page_has_both_each_by_itself(answer: Answer, server: PageServer) -> None:
    plain, variants = read(server, answer)
    assert sorted(plain) == sorted(NAMES[:2])
    assert {each.candidate.filename: each.label for each in variants} == {
        NAMES[2]: "cu130",
        NAMES[3]: "null",
        NAMES[4]: "cu130",
    }
    lists = {str(each.candidate.version): each.listed for each in variants}
    assert lists["1.0+torch2.11"] is None
    assert lists["1.0"] is not None
    assert (lists["1.0"].url, lists["1.0"].sha256) == (f"{server.url}/demo/demo-1.0-variants.json", SHA)


def test_a_build_tag_is_no_part_of_the_tags(server: PageServer) -> None:
    _, variants = read(server, as_json())
    builds = {each.candidate.filename: each.candidate.build for each in variants}
    assert builds[NAMES[3]] == (2, "")
    assert builds[NAMES[2]] == ()


def test_they_come_from_the_cache_too(server: PageServer, tmp_path: Path) -> None:
    assert read(server, as_json(), tmp_path) == read(server, Answer(status=500), tmp_path)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("demo-1.0-py3-none-any-cu130.whl", LinkGroup(DEMO, "", "py3-none-any", "cu130")),
        ("demo-1.0+CU_130-1-py3-none-any-a.b.whl", LinkGroup(DEMO, "cu.130", "py3-none-any", "a.b")),
        ("demo-1.0+torch2.11-variants.json", LinkGroup(DEMO, "torch2.11", "", VARIANTS_SUFFIX)),
        ("demo-1.0-py3-none-any-Label.whl", None),
        ("demo-1.0-1-py3-none-any-x-y.whl", None),
        ("demo-1.0-x-variants.json", None),
    ],
)
def test_what_links_have_in_common_says_the_variant(name: str, group: LinkGroup | None) -> None:
    assert list(group_links([Link(name, name)])) == ([group] if group else [])
