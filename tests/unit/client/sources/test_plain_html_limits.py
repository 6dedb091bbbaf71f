"""Pages of links that are sorted without a parser, in the memory of a page and on every Python."""

import tracemalloc

import pytest

from wheelmill.client.sources.forms import sort_plain_links

ADDRESS = "https://index.example/simple/demo/"
SIZE = 1 << 20


def link(version: str, attributes: str = "") -> str:
    name = f"demo-{version}-py3-none-any.whl"
    return f'<a href="{name}"{attributes}>{name}</a>'


@pytest.mark.parametrize(
    "page",
    [
        b'<a href="' + b"a" * SIZE + b'">x</a>',
        b'<a href="' + b"%2B" * (SIZE // 3) + b'">x</a>',
        b"<p" + b" a=b" * (SIZE // 4) + b">",
        b'<a href="demo-1.0-py3-none-any.whl"' + b' data-size="1"' * (SIZE // 14) + b">demo-1.0-py3-none-any.whl</a>",
    ],
    ids=["href", "escapes", "attributes", "data attributes"],
)
def test_a_long_tag_costs_no_more_than_a_few_copies_of_its_page(page: bytes) -> None:
    """``re`` keeps a record of each repeat of a group, of up to 66 bytes for one byte of the page."""
    tracemalloc.start()
    try:
        sort_plain_links(page, ADDRESS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(page)


def test_a_link_that_is_not_plain_is_never_dropped() -> None:
    """Python 3.11.2 passed over the second link where possessive groups took it for harmless: gh-106052."""
    page = link("0.9") + "<br>" + link("1.0", ' target="_blank"')
    groups = sort_plain_links(page.encode(), ADDRESS)
    assert groups is None or b"demo-1.0" in b"".join(groups.values())


@pytest.mark.parametrize("href", ["demo-1.0.whl", "demo-1.0.whl#x", "a/demo-variants.json", "demo%2Ewhl", "demo%2"])
def test_an_odd_link_to_a_wheel_takes_a_parser(href: str) -> None:
    page = f'{link("0.9")}<a href="{href}">x</a>'
    assert sort_plain_links(page.encode(), ADDRESS) is None


def test_more_attributes_than_a_page_has_take_a_parser() -> None:
    attributes = "".join(f' data-size="{number}"' for number in range(21))
    assert sort_plain_links(link("0.9", attributes).encode(), ADDRESS) is None
    assert sort_plain_links(f"<p{attributes}>{link('0.9')}".encode(), ADDRESS) is None
