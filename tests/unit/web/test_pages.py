"""One reader of simple pages: HTML and JSON say the same in the same words, and what is wrong is a fault."""

import json
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import coded
from wheelmill.errors import UnreadableError
from wheelmill.web import json_pages, pages
from wheelmill.web.json_pages import read_project_detail, read_project_list, read_releases, read_tree
from wheelmill.web.pages import SIZES, Link, Page, absolute, read_html, smaller_page, with_sound_links

ADDRESS = "https://index.test/simple/demo/"
WHEEL = "demo-1.0+cu128-py3-none-any.whl"
FILE: dict[str, object] = {
    "filename": WHEEL,
    "url": "../../demo-1.0%2Bcu128-py3-none-any.whl",
    "hashes": {"sha256": "a" * 64},
}


def html(body: str) -> Page:
    return read_html(f"<!DOCTYPE html>{body}".encode(), ADDRESS)


def json_page(*files: object, **more: object) -> Page:
    page = {"meta": {"api-version": "1.4"}, "name": "demo", "files": files} | more
    return read_project_detail(json.dumps(page).encode(), ADDRESS)


def keys(page: Page) -> list[str]:
    return [fault.key for fault in page.faults]


def test_both_forms_give_the_same_link() -> None:
    (in_html,) = html(
        f'<a href="{FILE["url"]}#sha256={"a" * 64}" data-requires-python="&gt;=3.9" data-core-metadata="sha256=b"'
        ' data-yanked="" data-size=5 data-upload-time="2026-01-01T00:00:00Z" data-gpg-sig=false>x</a>'
    ).links
    more = {"requires-python": ">=3.9", "core-metadata": {"sha256": "b"}, "yanked": True, "size": 5, "gpg-sig": False}
    (in_json,) = json_page(FILE | more | {"upload-time": "2026-01-01T00:00:00Z"}).links
    assert in_html == in_json._replace(text="x")
    assert in_json.filename == WHEEL
    assert absolute(ADDRESS, in_json.url) == "https://index.test/demo-1.0%2Bcu128-py3-none-any.whl"


@pytest.mark.parametrize(
    ("fragment", "hashes"),
    [("", {}), ("#x", {}), ("#sha256=ab", {"sha256": "ab"}), ("#md5=cd", {"md5": "cd"}), ("#sha256=", {"sha256": ""})],
)
def test_the_fragment_is_the_hash(fragment: str, hashes: Mapping[str, str]) -> None:
    (link,) = html(f"<a href='demo.whl{fragment}'>x</a>").links
    assert (link.filename, link.url, link.hashes) == ("demo.whl", "demo.whl", hashes)


@pytest.mark.parametrize(("value", "text"), [({}, "true"), (True, "true"), (False, None), ({"md5": "a"}, "md5=a")])
def test_metadata_of_json_is_spelt_as_in_html(value: object, text: str | None) -> None:
    (link,) = json_page(FILE | {"core-metadata": value}).links
    assert link.core_metadata == text


def test_every_hash_of_json_is_kept() -> None:
    (link,) = json_page(FILE | {"hashes": {"sha256": "a", "md5": "b"}}).links
    assert (link.sha256, link.hashes) == ("a", {"sha256": "a", "md5": "b"})


@pytest.mark.parametrize(
    "place", [" //[", " //ho\u2100st", "https://a b", "https://h%zz", "https://\xe4..", f"https://{'a' * 300}.\xe4"]
)
def test_a_link_whose_host_is_none_is_a_fault(place: str) -> None:
    name = "demo-1.0-py3-none-any.whl"
    page = read_html(f'<a href="{place}/{name}#sha256={"a" * 64}">{name}</a>'.encode(), "https://h.example/simple/")
    sound = with_sound_links(page, (".whl",))
    assert ([*sound.links], [fault.key for fault in sound.faults]) == ([], ["url"])


@pytest.mark.parametrize("place", ["..", "https://h.example:8080", "https://b\xfccher.example", "//h.example/a b"])
def test_a_link_with_a_host_has_a_url(place: str) -> None:
    name = "demo-1.0-py3-none-any.whl"
    page = read_html(f'<a href="{place}/{name}">{name}</a>'.encode(), "https://h.example/simple/")
    (link,) = with_sound_links(page, (".whl",)).links
    assert absolute(page.base, link.url)


def test_the_first_base_counts_and_one_that_is_no_url_is_a_fault() -> None:
    page = html("<base href='/files/'><a href='x.whl'>x</a><base href='/other/'>")
    assert (page.base, keys(page)) == ("https://index.test/files/", [])
    page = html("<base href='http://['><a href='x.whl'>x</a>")
    assert (page.base, keys(page), len(page.links)) == (ADDRESS, ["base"], 1)


@pytest.mark.parametrize("size", ["", "many", "-1", "9" * 5000])
def test_a_size_that_is_no_number_is_a_fault_and_the_link_stays(size: str) -> None:
    page = html(f"<a href='x.whl' data-size='{size}'>x</a>")
    assert ([link.size for link in page.links], keys(page)) == ([None], ["size"])


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"size": "9"}, "size"),
        ({"size": True}, "size"),
        ({"yanked": ""}, "yanked"),
        ({"filename": ""}, "filename"),
        ({"url": None}, "url"),
        ({"hashes": []}, "hashes"),
        ({"core-metadata": "true"}, "core-metadata"),
        ({"provenance": 1}, "provenance"),
    ],
)
def test_an_entry_of_other_types_is_left_out_and_the_others_stay(change: dict[str, object], key: str) -> None:
    page = json_page(FILE, FILE | change, 3, FILE)
    assert len(page.links) == 2
    assert keys(page) == [key, ""]
    assert page.faults[0].problem.startswith(f"files.1.{key}: expected ")


def test_the_first_fault_of_an_entry_is_reported() -> None:
    assert keys(json_page({"filename": "", "size": "9"}, FILE | {"size": "9", "yanked": ""})) == ["filename", "size"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"files": 3}', b"[" * 100_000, b"\xff"])
def test_what_is_no_page_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableError, check=coded("page-invalid")):
        read_project_detail(content, ADDRESS)


DIGEST = "a" * 64
HOSTILE: dict[str, tuple[dict[str, object], str]] = {
    "a size of 31 digits": ({"size": 10**30}, "size"),
    "a size of 5,000 digits": ({"size": "DIGITS"}, "size"),
    "a size below nothing": ({"size": -1}, "size"),
    "a size that is no number": ({"size": float("nan")}, "size"),
    "a size that is text": ({"size": "9"}, "size"),
    "a hash that is none": ({"hashes": {"sha256": "abc"}}, "hashes"),
    "a hash that is a list": ({"hashes": {"sha256": ["a"]}}, "hashes"),
    "hashes that are a list": ({"hashes": []}, "hashes"),
    "a hash of METADATA that is none": ({"core-metadata": {"sha256": 1}}, "core-metadata"),
    "nothing as the name": ({"filename": None}, "filename"),
    "NUL in the name": ({"filename": f"\0{WHEEL}"}, "filename"),
    "a folder in the name": ({"filename": f"../../{WHEEL}"}, "filename"),
    "a folder of Windows in the name": ({"filename": f"..\\{WHEEL}"}, "filename"),
    "half a surrogate pair in the name": ({"filename": f"\ud800{WHEEL}"}, "filename"),
    "a name of 5,000 characters": ({"filename": f"demo-{'1.' * 2500}0-py3-none-any.whl"}, "filename"),
    "half a surrogate pair in the URL": ({"url": f"\udfff{WHEEL}"}, "url"),
    "NUL in the URL": ({"url": f"a\0{WHEEL}"}, "url"),
    "an escape sequence in the URL": ({"url": f"\x1b[2J{WHEEL}"}, "url"),
    "a URL of 5,000 characters": ({"url": f"{'a/' * 2500}{WHEEL}"}, "url"),
    "a URL without a host": ({"url": f"http:///{WHEEL}"}, "url"),
    "a URL that is none": ({"url": f"http://[/{WHEEL}"}, "url"),
    "a port that is none": ({"url": f"http://files.test:99999/{WHEEL}"}, "url"),
    "a file of this disk": ({"url": f"file:///etc/{WHEEL}"}, "url"),
    "FTP": ({"url": f"ftp://files.test/{WHEEL}"}, "url"),
    "data": ({"url": f"data:application/zip;base64,UEsF/{WHEEL}"}, "url"),
    "a script": ({"url": f"javascript:alert(1)//{WHEEL}"}, "url"),
    "http without a hash on a page of https": ({"url": f"http://files.test/{WHEEL}", "hashes": {}}, "url"),
    "a reason of 5,000 characters": ({"yanked": "x" * 5000}, ""),
    "deep nesting": ({"hashes": {"sha256": DIGEST, "more": [[[[]]]]}, "size": [[[[]]]]}, "size"),
}


@pytest.mark.parametrize(("change", "key"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_entry_is_a_fault_and_the_others_stay(change: dict[str, object], key: str) -> None:
    good = FILE | {"url": f"http://files.test/{WHEEL}"}
    content = json.dumps({"meta": {"api-version": "1.4"}, "name": "demo", "files": [good, FILE | change, FILE]})
    page = read_project_detail(content.replace('"DIGITS"', "9" * 5000).encode(), ADDRESS)
    sound = with_sound_links(page, (".whl",))
    assert [link.url for link in sound.links] == [good["url"], FILE["url"]]
    assert sound.faults[-1].key == key
    assert all(fault.problem.isprintable() and len(fault.problem) < 700 for fault in sound.faults)


@pytest.mark.parametrize(
    "href",
    ["file:///x.whl", "data:,x.whl", "javascript:x.whl", "//[/x.whl", "x.whl#sha256=ab", "a%00x.whl", "a\x7fx.whl"],
)
def test_a_hostile_anchor_is_a_fault_and_the_others_stay(href: str) -> None:
    sound = with_sound_links(html(f"<a href='../'>up</a><a href='{href}'>x</a><a href='y.whl'>y</a>"), (".whl",))
    assert ([link.url for link in sound.links], len(sound.faults)) == (["y.whl"], 1)


def test_a_base_that_is_no_server_takes_all_links_of_its_page_with_it() -> None:
    page = with_sound_links(html("<base href='file:///etc/'><a href='x.whl'>x</a>"), (".whl",))
    assert (page.links, keys(page)) == ([], ["url"])


def test_releases_are_read_one_by_one() -> None:
    asset = {"name": WHEEL, "browser_download_url": f"https://files.test/{WHEEL}", "size": 9}
    wrong = [3, {"assets": 3}, {"assets": [3, asset | {"name": 3}, asset | {"digest": 3}, asset]}]
    page = read_releases(json.dumps([*wrong, {"draft": True, "assets": [asset]}]).encode(), ADDRESS)
    assert [link.filename for link in page.links] == [WHEEL]
    assert keys(page) == ["", "assets", "", "name", "digest"]
    with pytest.raises(UnreadableError, check=coded("page-invalid")):
        read_releases(b"[" * 100_000, ADDRESS)


TREE = "https://huggingface.test/api/models/owner/name/tree/main?recursive=true"


def test_a_list_of_a_repository_is_read_one_by_one() -> None:
    path = "linux/demo-1.0+cu128-py3-none-any.whl"
    file = {"type": "file", "path": path, "size": 9, "oid": "1" * 40, "lfs": {"oid": "a" * 64, "size": 9}}
    small = {"type": "file", "path": "notes.txt", "size": 3, "oid": "2" * 40}
    folder = {"type": "directory", "path": "linux", "size": 0, "oid": "3" * 40}
    wrong = [3, file | {"path": 3}, file | {"lfs": 3}, file | {"size": "9"}]
    page = read_tree(json.dumps([folder, *wrong, file, small, file | {"lfs": {"oid": 3}}]).encode(), TREE)
    url = f"https://huggingface.test/owner/name/resolve/main/{path.replace('+', '%2B')}"
    assert page.links[0] == Link(path.rpartition("/")[2], url, "a" * 64, 9)
    assert [link.sha256 for link in page.links[1:]] == [None, "no text but int"]
    assert keys(page) == ["", "path", "lfs", "size"]
    for content in (b"[" * 100_000, b"{}"):
        with pytest.raises(UnreadableError, check=coded("page-invalid")):
            read_tree(content, TREE)


def test_a_page_says_its_version_and_its_status() -> None:
    metas = "<meta name='pypi:repository-version' content=1.4><meta name='pypi:project-status' content=archived>"
    pages = [html(metas), json_page(**{"project-status": {"status": "archived"}})]
    assert [(page.version, page.status, page.has_doctype) for page in pages] == [("1.4", "archived", True)] * 2
    assert not read_html(metas.encode(), ADDRESS).has_doctype


def test_a_project_list_has_a_link_for_each_project() -> None:
    content = json.dumps({"meta": {"api-version": "1.4"}, "projects": [{"name": "demo"}, {}]}).encode()
    page = read_project_list(content, "https://index.test/simple/")
    assert [(link.text, link.url) for link in page.links] == [("demo", "demo/")]
    assert keys(page) == ["name"]
    (link,) = read_html(b"<a href='demo/'> demo </a>", ADDRESS).links
    assert link == Link("", "demo/", text="demo")


@pytest.mark.parametrize("content", [b"<a href=x>" * 101, b"<a href=x data-size=y>" * 51], ids=["links", "faults"])
def test_a_page_beyond_the_limits_is_refused(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_LINKS", 100)
    monkeypatch.setattr(pages, "MAX_FAULTS", 50)
    assert len(read_html(b"<a href=x>" * 100 + b"<a>", ADDRESS).links) == 100
    assert len(read_html(b"<a href=x data-size=y>" * 50, ADDRESS).faults) == 50
    with pytest.raises(UnreadableError, check=coded("page-invalid", "more than")):
        read_html(content, ADDRESS)


@pytest.mark.parametrize("files", [[1] * 51, [FILE] * 120], ids=["faults", "values"])
def test_json_beyond_the_limits_is_refused(files: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pages, "MAX_VALUES", 200)
    monkeypatch.setattr(pages, "MAX_FAULTS", 50)
    assert len(json_page(*[FILE] * 20).links) == 20
    assert len(json_page(*[1] * 50).faults) == 50
    with pytest.raises(UnreadableError, check=coded("page-invalid", "more than")):
        json_page(*files)


VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.dictionaries(st.text(), st.text() | st.integers())


@given(
    st.lists(st.dictionaries(st.sampled_from([*FILE, "size", "yanked", "core-metadata", "gpg-sig"]), VALUES) | VALUES)
)
def test_each_entry_is_a_link_or_has_a_fault(files: list[object]) -> None:
    page = json_page(*files)
    wrong = {fault.problem.split(":")[0].split(".")[1] for fault in page.faults}
    assert len(page.links) + len(wrong) == len(files)


@given(st.binary())
def test_any_bytes_are_a_page_of_html(content: bytes) -> None:
    assert read_html(content, ADDRESS).faults is not None


URL = "https://api.github.test/repos/a/b/releases"


@pytest.mark.parametrize(
    ("asked", "smaller"),
    [
        ("per_page=30", "per_page=10&page=1"),
        ("per_page=30&page=3", "per_page=10&page=7"),
        ("page=4&per_page=10", "per_page=5&page=7"),
        ("per_page=5&page=2", "per_page=1&page=6"),
    ],
)
def test_a_smaller_page_begins_with_the_same_release(asked: str, smaller: str) -> None:
    assert smaller_page(f"{URL}?{asked}") == f"{URL}?{smaller}"
    assert all(larger % smaller == 0 for larger, smaller in pairwise(SIZES))


@pytest.mark.parametrize(
    "query", ["", "?per_page=1&page=7", "?per_page=100", "?per_page=30&page=x", f"?per_page=30&page={'9' * 5000}"]
)
def test_other_pages_do_not_get_smaller(query: str) -> None:
    assert smaller_page(URL + query) is None
