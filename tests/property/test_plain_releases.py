"""Releases that are sorted without a parser: what one would find on their pages, whatever stands between."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_plain_html import kept
from wheelmill.client.sources.forms import group_links, read_listing, read_page, sort_plain_releases
from wheelmill.errors import UnreadableError

ADDRESS = "https://api.github.com/repos/someone/demo/releases"
FILE = "demo-1.0+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
SITE = "https://github.com/someone/demo/releases/download/v1/"
USER = {"login": "someone", "id": 7, "site_admin": False}


def asset(name: str, /, **more: object) -> dict[str, object]:
    known = {
        "url": "https://api.github.com/1",
        "id": 1,
        "name": name,
        "label": None,
        "uploader": USER,
        "size": 12,
        "digest": f"sha256:{'0a' * 32}",
        "download_count": 3,
        "updated_at": "2026-05-01T10:20:30Z",
        "browser_download_url": SITE + name.replace("+", "%2B"),
    }
    return known | more


def release(*assets: object, **more: object) -> dict[str, object]:
    return {"id": 5, "draft": False, "body": "Wheels.\r\n\N{BALLOON}", **more, "assets": list(assets)}


VALUES: dict[str, list[object]] = {
    "name": [
        "demo-1.0-py3-none-any.whl.metadata",
        "demo.tar.gz",
        "é.whl",
        "../x.whl",
        7,
        "",
        FILE,
        "demo-1-variants.json",
    ],
    "size": [None, 0, 10**18, 10**30, 1.0, -1, "7", True],
    "digest": [None, "sha256:12", "sha512:12", "sha256:" + "G" * 64, 7],
    "updated_at": [None, "", "<now>", 7],
    "browser_download_url": ["http://h/x.whl", "https://h.example/other-1.0-py3-none-any.whl", "", 'x"', None],
    "label": ["text", '"', "a\\", "\ud800", 7],
    "uploader": [None, {}, {"name": {"size": 1}}, {"login": "}"}, {"login": "\ud800"}, [], {**USER, "name": "x"}],
    "another": [1, None],
}
odd_values = st.one_of(*(st.tuples(st.just(key), st.sampled_from(values)) for key, values in VALUES.items()))
assets = st.builds(
    lambda version, label, odd: asset(f"demo-{version}{label}-cp312-cp312-linux_x86_64.whl", **dict(odd)),
    st.integers(0, 3),
    st.sampled_from(["", "+cu128torch2.8", "+cu130", "-1"]),
    st.lists(odd_values, max_size=1) | st.just([]) | st.just([]),
)
releases = st.builds(
    lambda plain, odd, draft: release(*plain, *odd, draft=draft),
    st.lists(st.integers(0, 9).map(lambda number: asset(f"demo-{number}+cu128-py3-none-any.whl")), max_size=4),
    st.lists(assets | st.sampled_from([0, None, "x", {}]), max_size=1),
    st.sampled_from([False, False, False, False, True, None, "x"]),
)
edits = st.just(("", "")) | st.sampled_from(
    [
        ('"assets":[', '"assets":[null,'),
        ('"body":"', '"body":"{"'),
        ('"login":', '"login"'),
        ("},{", "} , {"),
        ("[{", "[\n{"),
        ("{", "-{"),
        ("}", "}1"),
        (":12", ":012"),
        ("12", "12.5"),
        ("null", "nul"),
        ("\\r", "\r"),
        ("3", "3e5"),
    ]
)


@settings(max_examples=settings().max_examples * 2)
@given(st.lists(releases, max_size=3), edits)
def test_releases_say_the_same_with_and_without_a_parser(listed: list[object], edit: tuple[str, str]) -> None:
    content = json.dumps(listed, separators=(",", ":")).replace(*edit).encode()
    try:
        page = read_page(content, "application/json", ADDRESS)
    except UnreadableError:
        assert sort_plain_releases(content, ADDRESS) is None
        return
    listing = read_listing(content, "application/json", ADDRESS)
    assert kept(listing.groups) == kept(group_links(page.links))
    assert (listing.base, list(listing.faults)) == (page.base, list(page.faults))


@pytest.mark.parametrize("spaces", [(",", ":"), (", ", ": ")])
def test_plain_releases_take_no_parser(spaces: tuple[str, str]) -> None:
    listed = [
        release(asset(FILE), asset("demo-1.0.tar.gz"), asset(FILE.replace("cu128", "cu130"), digest=None)),
        release(),
    ]
    groups = sort_plain_releases(json.dumps(listed, separators=spaces).encode(), ADDRESS)
    assert groups is not None
    assert [group.local for group in groups] == ["cu128torch2.8", "cu130torch2.8"]


@pytest.mark.parametrize(
    "more",
    [
        {"draft": True},
        {"assets": [asset(FILE), asset(FILE)]},
        {"assets": [asset(FILE), asset(f"{FILE}.metadata")]},
        {"assets": [asset(FILE), asset(FILE.replace("1.0", "2.0"), uploader={"login": "x" * 2048})]},
    ],
)
def test_what_counts_for_less_or_more_than_a_wheel_takes_a_parser(more: dict[str, object]) -> None:
    assert sort_plain_releases(json.dumps([release(asset(FILE)) | more]).encode(), ADDRESS) is None
