"""Pages of every form are kept, asked again whether they changed, and in pieces where GitHub has no time."""

import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from email.utils import formatdate
from pathlib import Path

import pytest

from tests.page_server import JSON, Answer, PageServer, links_page
from tests.unit.client.conftest import chosen, find
from wheelmill.client.records import LookupOutcome
from wheelmill.client.sources import pages
from wheelmill.client.sources.forms import group_links
from wheelmill.client.sources.pages import PageCache
from wheelmill.web import json_pages
from wheelmill.web.pages import LARGEST, SIZES, Link
from wheelmill.web.transport import Retries

WHEEL = "demo-1.0.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"
OTHER = "demo-1.1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"


def release(*assets: Mapping[str, object], draft: bool = False) -> dict[str, object]:
    return {"draft": draft, "assets": list(assets)}


def asset(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "browser_download_url": f"https://files.test/{name}", "size": 7, **more}


def test_a_json_index_gives_hash_size_and_yanked_files(server: PageServer) -> None:
    files = [
        {"filename": WHEEL, "url": f"../../files/{WHEEL}", "hashes": {"sha256": "a" * 64}, "size": 9},
        {"filename": OTHER, "url": OTHER, "hashes": {}, "yanked": "broken", "requires-python": ">=3.9"},
    ]
    body = json.dumps({"meta": {"api-version": "1.4"}, "name": "demo", "files": files}).encode()
    server.pages["/simple/demo/"] = Answer(body, headers={"Content-Type": JSON})
    (choice,) = find(f"{server.url}/simple/").choices.values()
    assert choice.candidate.filename == WHEEL
    assert choice.candidate.url == f"{server.url}/files/{WHEEL}"
    assert (choice.candidate.sha256, choice.candidate.size) == ("a" * 64, 9)


def test_a_json_entry_that_cannot_be_read_is_a_warning_and_hides_no_other(server: PageServer) -> None:
    files = [{"filename": OTHER, "url": OTHER}, {"filename": WHEEL, "url": WHEEL, "hashes": {}}, 3]
    body = json.dumps({"meta": {"api-version": "1.4"}, "name": "demo", "files": files}).encode()
    server.pages["/simple/demo/"] = Answer(body, headers={"Content-Type": JSON})
    resolution = find(f"{server.url}/simple/")
    assert chosen(resolution) == WHEEL
    assert resolution.warnings == (
        f"{server.url}/simple/demo/: files.0.hashes: expected a value",
        f"{server.url}/simple/demo/: files.2: expected `object`, not `int`",
    )


@pytest.mark.parametrize("sign", ["@", "&#64;", "&#x40;", "&commat;"])
@pytest.mark.parametrize("is_base", [False, True])
def test_no_password_is_kept_or_passed_on(sign: str, server: PageServer, tmp_path: Path, *, is_base: bool) -> None:
    there = server.url.replace("//", f"//somebody:s3cret{sign}") + "/wheels/"
    body = f'<base href="{there}"><a href="{WHEEL}">' if is_base else f'<a href="{there}{WHEEL}">'
    server.pages["/wheels/"] = Answer(f"{body}{WHEEL}</a>".encode())
    (choice,) = find(f"find-links:{server.url}/wheels/").choices.values()
    assert choice.candidate.url == f"{server.url}/wheels/{WHEEL}"
    assert b"s3cret" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_html_attributes_are_read_in_any_quotes(server: PageServer) -> None:
    body = (
        f"<base href='{server.url}/files/'>"
        f"<a href='{WHEEL}#sha256={'b' * 64}' data-requires-python='&gt;=3.9' data-size=5 data-core-metadata=true>x</a>"
        f'<A data-yanked="" HREF="{OTHER}">y</A><a name=nothing>z</a>'
    )
    server.pages["/simple/demo/"] = Answer(body.encode())
    (choice,) = find(f"{server.url}/simple/").choices.values()
    assert choice.candidate.url == f"{server.url}/files/{WHEEL}"
    assert (choice.candidate.sha256, choice.candidate.size) == ("b" * 64, 5)
    assert (choice.candidate.requires_python, choice.candidate.has_metadata) == (">=3.9", True)


def test_all_pages_of_releases_are_read_unlike_in_gpkg(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    path = "/repos/a/b/releases?per_page=30"
    first = [release(asset("other-1.0-py3-none-any.whl")), release(asset(OTHER), draft=True)]
    second = [release(asset(WHEEL, digest="sha256:" + "c" * 64), asset(f"{WHEEL}.metadata"))]
    json_type = {"Content-Type": "application/json; charset=utf-8"}
    link = {"Link": f'<{server.url}/second>; rel="next"'}
    server.pages[path] = Answer(json.dumps(first).encode(), headers=json_type | link)
    server.pages["/second"] = Answer(json.dumps(second).encode(), headers=json_type)
    (choice,) = find("github:a/b").choices.values()
    assert choice.candidate.filename == WHEEL
    assert (choice.candidate.sha256, choice.candidate.has_metadata) == ("c" * 64, True)
    assert [path for path, _ in server.asked] == [path, "/second"]
    find("github:a/b")
    assert len(server.asked) == 2


def test_pages_that_never_end_are_left_after_a_hundred(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_MAX_CHAIN", 5)
    for number in range(10):
        link = {"Link": f'</{number + 1}/>; rel="next"', "Content-Type": "text/html"}
        server.pages[f"/{number}/"] = Answer(links_page(WHEEL), headers=link)
    resolution = find(f"find-links:{server.url}/0/")
    assert chosen(resolution) == WHEEL
    assert resolution.warnings == (f"{server.url}/5/: more than 5 pages lead to it",)


def test_a_page_of_too_many_entries_for_memory_is_no_index(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pages, "MAX_VALUES", 1 << 10)
    files = b'{"files": [' + b"[]," * (1 << 10) + b"[],[]]}"
    server.pages["/simple/demo/"] = Answer(files, headers={"Content-Type": JSON})
    (warning,) = find(f"{server.url}/simple/").warnings
    assert "the page has more than 1,024 values" in warning


def test_a_next_page_that_is_no_url_is_none(server: PageServer) -> None:
    link = {"Link": '<http://[/>; rel="next"', "Content-Type": "text/html"}
    server.pages["/wheels/"] = Answer(links_page(WHEEL), headers=link)
    assert chosen(find(f"find-links:{server.url}/wheels/")) == WHEEL


def test_a_page_that_did_not_change_is_not_sent_again(server: PageServer) -> None:
    server.with_tag("/wheels/", links_page(WHEEL), '"1"', **{"Cache-Control": "max-age=0"})
    source = f"find-links:{server.url}/wheels/"
    assert [chosen(find(source)) for _ in range(3)] == [WHEEL] * 3
    assert [headers.get("If-None-Match") for _, headers in server.asked] == [None, '"1"', '"1"']
    server.with_tag("/wheels/", links_page(WHEEL, OTHER), '"2"')
    assert chosen(find(source)) == OTHER


@pytest.mark.parametrize(("age", "asked_again_with"), [(0, False), (5, True)])
def test_a_lone_change_of_a_second_counts_by_its_time(age: int, server: PageServer, *, asked_again_with: bool) -> None:
    page = links_page(WHEEL)

    def answer(_: Mapping[str, str]) -> Answer:
        modified = formatdate(time.time() - age, usegmt=True)
        headers = {"Content-Type": "text/html", "Cache-Control": "no-cache", "Last-Modified": modified}
        return Answer(page, headers=headers)

    server.pages["/wheels/"] = answer
    for _ in range(2):
        assert chosen(find(f"find-links:{server.url}/wheels/")) == WHEEL
    _, headers = server.asked[-1]
    assert ("If-Modified-Since" in headers) == asked_again_with


def test_the_cache_stands_in_for_a_server_that_fails(server: PageServer) -> None:
    server.with_tag("/wheels/", links_page(WHEEL), '"1"', **{"Cache-Control": "no-cache"})
    source = f"find-links:{server.url}/wheels/"
    find(source)
    server.pages["/wheels/"] = Answer(b"go away", 403)
    resolution = find(source)
    assert chosen(resolution) == WHEEL
    (warning,) = resolution.warnings
    assert "403 Forbidden: a credential is needed" in warning
    assert "netrc" not in warning  # of which nothing is sent without TLS
    assert "using what the cache has" in warning
    assert chosen(find(source, offline=True)) == WHEEL


@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        (Answer(b"{}", headers={"Content-Type": "application/json"}), "expected JSON of PEP 691"),
        (Answer(b"[1]", headers={"Content-Type": "application/json"}), "releases.0: expected `object`, not `int`"),
        (Answer(b"\0", headers={"Content-Type": "image/png"}), "expected HTML or"),
        (Answer(b"", headers={}), "an answer without Content-Type"),
        (Answer(b"", 403, {"X-RateLimit-Remaining": "0"}), "GitHub's limit for requests is reached; set GITHUB_TOKEN"),
        (Answer(b"", 410, {}), "410 Gone"),
    ],
)
def test_an_answer_of_another_kind_is_a_warning_with_its_url(server: PageServer, answer: Answer, warning: str) -> None:
    server.pages["/wheels/"] = answer
    resolution = find(f"find-links:{server.url}/wheels/")
    assert resolution.choices == {}
    assert resolution.warnings[0].startswith(f"{server.url}/wheels/: ")
    assert warning in resolution.warnings[0]


def test_an_index_without_the_project_is_no_warning(server: PageServer) -> None:
    resolution = find(f"{server.url}/simple/")
    assert resolution.warnings == ()
    assert [missing.reason for missing in resolution.unresolved.values()] == ["no source has a wheel of it"]


@pytest.mark.parametrize(
    "name",
    [
        f"http://[/{OTHER}",
        "demo-not.a.version!-cp312-cp312-manylinux_2_28_x86_64.whl",
        "demo-2.0.0+cu128torch2.8-cp312-manylinux_2_28_x86_64.whl",
        "demo-2.0.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64-variant.whl",
        "..%2F..%2Fdemo-2.0.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl",
    ],
)
def test_links_that_are_no_urls_or_no_wheels_are_passed_over(server: PageServer, name: str) -> None:
    server.pages["/wheels/"] = Answer(f'<a href="{name}">x</a><a href="{WHEEL}">y</a>'.encode())
    assert chosen(find(f"find-links:{server.url}/wheels/")) == WHEEL


@pytest.mark.parametrize(
    "name", [f"{WHEEL}.metadata", f"{WHEEL}.asc", f"../{WHEEL}", "flash-attn-2.8.3-of-today.tar.gz", "demo-1.0-a-b.whl"]
)
def test_files_beside_wheels_are_no_wheels(name: str) -> None:
    assert list(group_links([(name, name)])) == []


def test_a_wheel_with_a_build_number_is_one() -> None:
    (group,) = group_links([("demo-1.0-2post-py3-none-any.whl", "x")])
    assert group.tags == "py3-none-any"


def test_a_broken_cache_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "pages.sqlite3").write_bytes(b"no database" * 100)
    with PageCache(tmp_path) as cache:
        assert cache.page("https://host.test/") is None


def test_a_folder_that_cannot_be_made_is_told_and_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with PageCache(tmp_path / "file" / "client") as cache:
        cache.keep_fact("key", "content")
        assert cache.fact("key") == "content"
    (warning,) = cache.warnings
    assert "file/client" in warning
    assert "--no-cache" in warning


def test_a_database_that_was_left_without_tables_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as full_disk:
        full_disk.setattr(pages, "_SCHEMA", "CREATE nothing")
        with pytest.raises(sqlite3.OperationalError):
            PageCache(tmp_path)
    with PageCache(tmp_path) as cache:
        assert cache.fact("key") is None
        assert cache.warnings == []


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_database_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    monkeypatch.setattr(pages, "_LOCK_SECONDS", 0.01)
    with PageCache(tmp_path) as cache:
        cache.keep_fact("before", "content")
    with closing(sqlite3.connect(tmp_path / "pages.sqlite3", isolation_level=None)) as another:
        another.execute(f"BEGIN {lock}")
        with PageCache(tmp_path) as cache:
            cache.keep_fact("key", "content")
            assert cache.fact("key") == "content"
            assert cache.fact("before") == ("content" if lock == "IMMEDIATE" else None)
        (warning,) = cache.warnings
    assert "database is locked" in warning
    with PageCache(tmp_path) as cache:
        assert cache.fact("key") is None


def test_a_lock_that_comes_between_two_pages_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_LOCK_SECONDS", 0.01)
    groups = group_links([("demo-1.0-py3-none-any.whl", Link("demo-1.0-py3-none-any.whl", "demo.whl"))])
    with PageCache(tmp_path) as cache, closing(sqlite3.connect(tmp_path / "pages.sqlite3")) as another:
        for url in ("https://a.test/", "https://b.test/"):
            cache.store(url, base=url, following=None, etag=None, modified=None, lifetime=9, groups=groups)
            another.execute("BEGIN IMMEDIATE") if not another.in_transaction else None
        for url in ("https://a.test/", "https://b.test/"):
            page = cache.page(url)
            assert page is not None
            ((number, _),) = cache.groups(page.id, "demo")
            assert [link.url for link in cache.links(number)] == ["demo.whl"]
    assert len(cache.warnings) == 1


def test_no_command_keeps_the_database_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_LOCK_SECONDS", 0.01)
    with PageCache(tmp_path) as one, PageCache(tmp_path) as another:
        one.keep_fact("1", "content")
        another.keep_fact("2", "content")
        assert one.fact("2") == another.fact("1") == "content"
    assert one.warnings == another.warnings == []


def test_what_cannot_be_kept_is_told(tmp_path: Path) -> None:
    cache = PageCache(tmp_path)
    with closing(sqlite3.connect(tmp_path / "pages.sqlite3")) as another:
        another.execute("DROP TABLE facts")
    with cache:
        cache.keep_fact("key", "content")
    assert "no such table" in cache.warnings[0]


NAMES = [f"demo-1.{number}-cp312-cp312-manylinux_2_28_x86_64.whl" for number in range(60)]


@pytest.fixture
def hurried(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> PageServer:
    """A server of 60 releases, with time for ten from the 31st on."""
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    monkeypatch.setattr(Retries, "sleep", lambda *_: None)
    path = "/repos/a/b/releases"
    releases = [{"assets": [{"name": name, "browser_download_url": f"https://files.test/{name}"}]} for name in NAMES]

    def page(size: int, number: int) -> Answer:
        following = f'<{server.url}{path}?per_page={size}&page={number + 1}>; rel="next"'
        more = {"Link": following} if size * number < len(releases) else {}
        body = json.dumps(releases[size * (number - 1) : size * number]).encode()
        return Answer(body, headers={"Content-Type": "application/json"} | more)

    server.pages = {f"{path}?per_page=10&page={number}": page(10, number) for number in range(1, 7)}
    server.pages |= {f"{path}?per_page=30": page(30, 1), f"{path}?per_page=30&page=2": Answer(status=502)}
    return server


def test_a_page_that_takes_too_long_is_read_in_pieces(hurried: PageServer) -> None:
    resolution = find("github:a/b")
    (choice,) = resolution.choices.values()
    assert choice.candidate.filename == NAMES[-1]
    assert list(dict.fromkeys(path.partition("?")[2] for path, _ in hurried.asked)) == [
        "per_page=30",
        "per_page=30&page=2",
        *(f"per_page=10&page={number}" for number in (4, 5, 6)),
    ]


def test_what_is_too_long_in_any_size_is_no_answer(hurried: PageServer) -> None:
    sizes = (f"per_page={size}{'&page=1' * (size < LARGEST)}" for size in SIZES)
    hurried.pages = {f"/repos/a/b/releases?{size}": Answer(status=504) for size in sizes}
    resolution = find("github:a/b")
    assert [each.outcome for each in resolution.sources] == [LookupOutcome.UNREACHABLE]
