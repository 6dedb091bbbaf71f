"""Pages that are sorted without a parser: what one would find on them, whatever stands between the links."""

from collections.abc import Mapping, Sequence
from string import ascii_letters, digits
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wheelmill.client.sources.forms import LinkGroup, group_links, read_listing, read_page, sort_plain_links
from wheelmill.client.sources.pages import PageCache
from wheelmill.names import project_name
from wheelmill.web.credentials import Origin, without_credentials
from wheelmill.web.pages import Link, absolute

ADDRESS = "https://index.example/simple/demo/"
HASH = "#sha256=" + "0a" * 32

FOLDERS = """
../ /files/v1%2B2/ //other.example/ https://files.example/a/ http://files.example/ a?b/ x: https://files.example:0/
https://[/ https://user@files.example/ https:// https:/ /// \\
"""
HARMLESS = """<br>
<br/>
<!-- 1 -->
<title>Links</title>
<h1>Links of ' " &lt; > &</h1>
<p class="a b">
<a href="../">up</a>
<a href="demo-1.0%2Bx.tar.gz#sha256=12" rel="a">é</a>
</body></html>"""
PIECES = """
<br> <br/> <!-- --> --!> <!--> <!-- 1 --> <! <? > < </ " ' & &lt; ]]> é <p title=" "> <p> <p </p> <pre> <li> <a> </a>
<base href="https://other.example/"> <base href='x/'> <meta charset="utf-16"> <!DOCTYPE html> <!DOCTYPE html PUBLIC '
<html> <head> <body> </body> </html> <script> </script> <style> <textarea> </textarea> <title> </title> <iframe>
<title>Links</title> <h1>Links</h1> <select> <table> <td> <svg> <math> <![CDATA[ <template> </template> <noscript>
<plaintext> <frameset> <a href="../">up</a> <a href="demo-1.0.tar.gz">x</a> <a href="x%2Ewhl">x</a> <a href="demo-1.0-
"""

files = st.builds(
    "{}-{}{}-{}.whl".format,
    st.sampled_from(["demo", "Demo_X", "demo.x", "de-mo", "démo", ""]),
    st.sampled_from(["1.0", "1!2.0rc1", "2.0.post1", ""]),
    st.sampled_from(["", "+cu128torch2.8", "+CU12_8", "+a+b", "+cu132torch2.13gite2743ab", "+"]),
    st.sampled_from(
        [
            *("cp312-cp312-linux_x86_64", "1-py3-none-any", "2-cp39-abi3-win_amd64.any", "py3-none", "py3--any"),
            *("py3-none-any-cu130", "1-py3-none-any-null", "py3-none-any-Label", "1-2-py3-none-any"),
        ]
    ),
)
encodings = st.sampled_from(
    [str, lambda name: name.replace("+", "%2B"), lambda name: name.replace("+", "%2b").replace("p", "%70")]
)
folders = st.sampled_from(FOLDERS.split()) | st.just("")
fragments = st.sampled_from(["", HASH, "#sha256=12", "#md5=12", "?a=b", HASH.upper(), "#"])
attributes = st.sampled_from(
    f""" data-requires-python="&gt;=3.9"
 data-requires-python="{"9" * 5000}"
 data-yanked
 data-yanked="old"
 data-core-metadata="{HASH[1:]}"
 data-core-metadata="sha256=1"
 data-dist-info-metadata="true" data-size="1"
 data-size="x"
 href="other-1-py3-none-any.whl"
 rel=internal""".splitlines()
) | st.just("")
plain_links = st.builds(
    lambda project, label, tags, plus, extra: (
        f'<a href="{project}-1.0{label.replace("+", plus)}-{tags}.whl{extra}>{project}-1.0{label}-{tags}.whl</a>'
    ),
    st.sampled_from(["demo", "demo_x"]),
    st.sampled_from(["", "+cu128torch2.8", "+CU12_8", "+cu132torch2.13gite2743ab"]),
    st.sampled_from(["cp312-cp312-linux_x86_64", "1-py3-none-any", "cp39-abi3-win_amd64", "py3-none-any-cu130"]),
    st.sampled_from(["+", "%2B", "%2b"]),
    st.sampled_from(['"', f'{HASH}"', '" data-yanked="old"', '" data-requires-python="&gt;=3.9" data-size="12"']),
)
near_links = st.builds(
    lambda file, encode, folder, fragment, extra: f'<a href="{folder}{encode(file)}{fragment}"{extra}>{file}</a>',
    files, encodings, folders, fragments, attributes,
)  # fmt: skip
odd_links = st.builds(
    lambda file, text, tag, quote, extra: f"<{tag}{extra} href={quote}{file}{quote}>{text}</a>",
    files, files, st.sampled_from(["a", "A", "a\n", "area", "a b"]), st.sampled_from(['"', "'", ""]), attributes,
)  # fmt: skip
pieces = st.sampled_from(PIECES.split()) | st.sampled_from(
    [
        *("\0", "\n", " ", '<p class="', "<!-- 1 -->", '<a href="../">up</a>'),
        *(
            f'<a href="{folder}demo-1.0-variants.json">demo-1.0-variants.json</a>'
            for folder in ("", "https://f.example/")
        ),
    ]
)
runs = st.lists(plain_links | plain_links | st.sampled_from(HARMLESS.splitlines()), max_size=6).map("".join)
pages = st.tuples(runs, st.just("") | near_links | odd_links | pieces, runs, st.just("") | pieces).map("".join)


def kept(groups: Mapping[LinkGroup, Sequence[Link] | bytes]) -> list[tuple[LinkGroup, list[Link]]]:
    """The groups in their order, with their links as the cache gives them back."""
    with PageCache(None) as cache:
        cache.store(ADDRESS, base="", following=None, etag=None, modified=None, lifetime=0, groups=groups)
        page = cache.page(ADDRESS)
        assert page
        projects = {group.project for group in groups}
        found = [
            each
            for project in projects
            for variants in (False, True)
            for each in cache.groups(page.id, project, variants=variants)
        ]
        return [(group, list(cache.links(number))) for number, group in sorted(found, key=lambda each: each[0])]


@settings(max_examples=settings().max_examples * 2)
@given(pages, st.sampled_from(["utf-8", "utf-16"]))
def test_a_page_says_the_same_with_and_without_a_parser(text: str, encoding: str) -> None:
    content = text.encode(encoding)
    listing, page = read_listing(content, "text/html", ADDRESS), read_page(content, "text/html", ADDRESS)
    assert kept(listing.groups) == kept(group_links(page.links))
    assert (listing.base, list(listing.faults)) == (page.base, list(page.faults))


FILE = "demo-1.0+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
LINK = f'<a href="{FILE.replace("+", "%2B")}{HASH}" data-requires-python="&gt;=3.9">{FILE}</a>'


@pytest.mark.parametrize(
    "page",
    [
        f"<!DOCTYPE html><html><head><title>Links</title></head><body><h1>Links</h1>\n{LINK}<br>\n{LINK}<br/></body>",
        f'<a href="../">up</a> {LINK} 2026-05-01 <a href="demo-1.0%2Bx.tar.gz#sha256=12">sdist</a><!--SERIAL 1-->',
    ],
)
def test_plain_pages_take_no_parser(page: str) -> None:
    groups = sort_plain_links(page.encode(), ADDRESS)
    assert groups is not None
    (group,) = groups
    assert group == LinkGroup(project_name("demo"), "cu128torch2.8", "cp312-cp312-linux_x86_64")


@pytest.mark.parametrize(
    "page",
    [
        f"<!-- {LINK} -->",
        f'<p title="{LINK}">',
        f"<script>{LINK}</script>",
        f'<base href="https://other.example/">{LINK}',
        LINK.replace('"', "'"),
        LINK.replace("<a", "<A"),
        LINK.replace("cu128", "cu12&#56;"),
        LINK.replace("cp312", "%63p312"),
        LINK.replace(">demo", ">other"),
        LINK.replace("demo-1.0", "//other.example/demo-1.0"),
        LINK.replace(HASH, "#sha256=1"),
        LINK.replace(HASH, HASH + "#"),
        LINK.replace("cu128", "cu128+cu126"),
        LINK.replace(" data", ' href="x" data'),
        LINK.replace("demo-1.0", "d" * 300 + "-1.0"),
    ],
)
def test_what_could_be_read_in_two_ways_takes_a_parser(page: str) -> None:
    assert sort_plain_links((LINK + page + LINK).encode(), ADDRESS) is None


URL_CHARACTERS = ascii_letters + digits + "-._~:/?#[]@!$&'()*+,=%"  # RFC 3986, section 2, without pip's ";"


@given(
    st.sampled_from(
        ["https://h.example/a/b/", "http://h.example/a;p/b;q?r=/s#f", "https://h.example", "http://h/./x//y"]
    ),
    st.lists(st.sampled_from([*"/.:?#;@ \t\\~%=${}'", "https:", "//", "..", "demo-1.whl", "%2B", "user@h", "[", "é"])),
)
def test_a_link_is_resolved_as_rfc_3986_has_it(base: str, parts: list[str]) -> None:
    url = "".join(parts)
    resolved = absolute(base, url)
    try:
        joined = urlsplit(without_credentials(urljoin(base, url)))
        server = Origin.of(joined.geturl())
    except ValueError:
        assert resolved is None
        return
    assert resolved is not None
    assert set(resolved) <= {*URL_CHARACTERS}
    there = urlsplit(resolved)
    assert (Origin.of(resolved), there.fragment) == (server, "")
    assert [*map(unquote, there[2:4])] == [*map(unquote, joined[2:4])]
    assert absolute(base, resolved) == resolved
