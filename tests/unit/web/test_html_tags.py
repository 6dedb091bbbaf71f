"""The tokenizer of pages: what it reads, and that its time and memory grow with the length of a page only."""

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from wheelmill.errors import UnreadableError
from wheelmill.web.html_tags import decode_html, read_tags, source_of_anchor, text_of_anchor
from wheelmill.web.json_pages import read_project_detail
from wheelmill.web.pages import read_html

ADDRESS = "https://index.test/simple/demo/"
WANTED = {"a": frozenset({"href", "data-yanked"}), "base": frozenset({"href"})}


def hrefs(page: str) -> list[str]:
    return [tag["href"] for name, tag, *_ in read_tags(decode_html(page.encode()), WANTED) if "href" in tag]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<a href=x>", ["x"]),
        ("<A\nHREF = 'x' href=y>", ["x"]),
        ("<a href=x/>", ["x/"]),
        ("<a/href=x>", ["x"]),
        ('<a title="<a href=no>" href="x">', ["x"]),
        ('</p title="<a href=no>"><a href=x>', ["x"]),
        ('<a href="x"class=y>', ["x"]),
        ("<a =href=no href=x>", ["x"]),
        ("<a href>", [""]),
        ("<a name=x><abbr href=no>", []),
        ("<a href=x", []),
        ("<a href='x>", []),
        ("<!-- <a href=no> --><a href=x>", ["x"]),
        ("<!--><a href=x>", ["x"]),
        ("<!---><a href=x>", ["x"]),
        ("<!-- --!><a href=x>", ["x"]),
        ("<!--!><a href=no>", []),
        ("<!x <a href=no><a href=x>", ["x"]),
        ("<?x <a href=no><a href=x>", ["x"]),
        ("</ <a href=no><a href=x>", ["x"]),
        ("</><a href=x>", ["x"]),
        ("5 < 6 <a href=x>", ["x"]),
        ("<title><a href=no></titles></TITLE ><a href=x>", ["x"]),
        ("<style><a href=no></style><a href=x>", ["x"]),
        ("<noscript><a href=x></noscript>", ["x"]),
        ("<plaintext><a href=no></plaintext><a href=no>", []),
        ("<script>'<a href=no>'</script><a href=x>", ["x"]),
        ("<script><!-- <script></script><a href=no></script><a href=x>", ["x"]),
        ("<script><!--><script></script><a href=x>", ["x"]),
        ("<a href='&lt;&#62;&#x3C;&amp;b'>", ["<><&b"]),
        ("<a href='?a&copy=b&notit;&copy'>", ["?a&copy=b&notit;\u00a9"]),
        (f"<a href='&#{'9' * 5000};'>", ["\ufffd"]),
        ("<a href='\0&#0;\r\n'>", ["\ufffd\ufffd\n"]),
        ("\ufeff<a href=x>", ["x"]),
    ],
)
def test_a_page_is_read_as_whatwg_has_it(page: str, expected: list[str]) -> None:
    assert hrefs(page) == expected


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("<a> x </a>y", "x"),
        ("<a>x</A>y", "x"),
        ("<a><b>x</b> y<!-- </a> --></a>z", "xy"),
        ("<a>x<a>y", "x"),
        ("<a>x<br>y", "xy"),
        ("<a>&lt;x", "<x"),
        ("<a>x<b ", "x<b"),
    ],
)
def test_an_anchor_keeps_its_text_alone_and_beside_others(anchor: str, text: str) -> None:
    assert text_of_anchor(anchor, 3) == text
    source = source_of_anchor(anchor, 0, 3)
    assert text_of_anchor(f"{source}<a>no</a>", 3) == text
    assert source.endswith(("</a>", "</A>"))


ATTACKS: dict[str, Callable[[int], str]] = {
    "attributes": lambda size: "<a " + " ".join(f"a{number}=b" for number in range(3 * size)) + " href=x>",
    "attributes of one name": lambda size: "<a" + " href=x" * size + ">",
    "bare attributes": lambda size: "<a " + "a " * size,
    "nesting": lambda size: "<div><b><svg>" * size + "<a href=x>",
    "open anchors": lambda size: "<a href=x><b>" * size,
    "open comment": lambda size: "<!--" * size,
    "short comments": lambda size: "<!-->" * size,
    "comments": lambda size: "<!-- -->" * size,
    "other comments": lambda size: "<!x>" * size + "<?" * size,
    "dashes": lambda size: "<!--" + "--" * size,
    "open quotes": lambda size: "<a href='" * size,
    "open tags": lambda size: "<a" * size,
    "less than": lambda size: "<" * size,
    "end tags": lambda size: "</" * size,
    "spaces": lambda size: "<a href" + " " * size + "x" + " " * size,
    "equals": lambda size: "<a " + "=" * size,
    "references": lambda size: "<a href='" + "&" * size + "&#" * size + "&a" * size + "'>",
    "digits": lambda size: "<a href='&#" + "9" * size + "'>",
    "letters": lambda size: "<a href='&" + "a" * size + "'>",
    "scripts": lambda size: "<script>" * size,
    "scripts in scripts": lambda size: "<script><!--" + "<script></script>" * size,
    "comments in scripts": lambda size: "<script>" + "<!--" * size,
    "titles": lambda size: "<title>" * size,
    "ends of titles": lambda size: "<title>" + "</titl" * size,
    "unmarked tags": lambda size: '<td class="' * size,
    "plus signs": lambda size: f"<a href=demo-1.0{'+' * size}-py3-none-any.whl>x</a>",
}


def cost(read: Callable[[], object]) -> tuple[float, int]:
    """CPU seconds, the least of three, and peak bytes of a call."""

    def seconds() -> float:
        start = time.process_time()
        read()
        return time.process_time() - start

    least = min(seconds() for _ in range(3))
    tracemalloc.start()
    try:
        read()
        return least, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("page", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_page_four_times_as_long_costs_about_four_times_as_much(page: Callable[[int], str]) -> None:
    """Quadratic time would be sixteen times as much; a page that takes a few milliseconds says nothing."""
    short, long = (page(size).encode() for size in (5_000, 20_000))
    (fast, little), (slow, much) = (cost(partial(read_html, content, ADDRESS)) for content in (short, long))
    assert slow < 0.03 or slow < 9 * fast
    assert much < 12 * len(long) + (1 << 20) or much < 6 * little


NESTED = b'{"meta": {"api-version": "1.0"}, "name": "demo", "files": [], "x": '
JSON_ATTACKS: dict[str, Callable[[int], bytes]] = {
    "nesting": lambda size: NESTED + b"[" * size,
    "closed nesting": lambda size: NESTED + b"[" * size + b"]" * size + b"}",
    "keys": lambda size: NESTED + b"{" + b",".join(b'"%d":1' % number for number in range(size)) + b"}}",
    "hashes": lambda size: (
        b'{"files": [{"filename": "x", "url": "x", "hashes": {'
        + b",".join(b'"%d":"a"' % number for number in range(size))
        + b"}}]}"
    ),
    "digits": lambda size: NESTED + b"9" * size + b"}",
    "entries": lambda size: b'{"files": [' + b"[]," * size + b"[]]}",
    "NaN": lambda size: b'{"files": [' + b"NaN," * size + b"[]]}",
    "half a surrogate pair": lambda size: NESTED + rb'"\ud800' + b"x" * size + b'"}',
}


@pytest.mark.parametrize("page", JSON_ATTACKS.values(), ids=JSON_ATTACKS.keys())
def test_json_four_times_as_long_costs_about_four_times_as_much(page: Callable[[int], bytes]) -> None:
    def read(content: bytes) -> None:
        with suppress(UnreadableError):
            read_project_detail(content, ADDRESS)

    short, long = page(10_000), page(40_000)
    (fast, little), (slow, much) = (cost(partial(read, content)) for content in (short, long))
    assert slow < 0.03 or slow < 9 * fast
    assert much < 12 * len(long) + (1 << 20) or much < 6 * little
