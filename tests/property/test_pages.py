"""Pages of HTML beside other readers: lexbor, which follows WHATWG, Python's own parser, and pip's."""

from html.parser import HTMLParser
from string import ascii_letters, digits
from urllib.parse import unquote, urljoin, urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st
from pip._internal.index.collector import HTMLLinkParser
from selectolax.lexbor import LexborHTMLParser

from wheelmill.web.credentials import Origin, without_credentials
from wheelmill.web.html_tags import decode_html, read_tags
from wheelmill.web.pages import absolute

Anchor = tuple[tuple[str, str], ...]
NAMES = ("href", "data-yanked", "data-requires-python", "class")
WANTED = {"a": frozenset(NAMES), "base": frozenset({"href"}), "meta": frozenset({"name", "content"})}


def anchor_of(attributes: dict[str, str | None]) -> Anchor:
    return tuple((name, attributes[name] or "") for name in NAMES if name in attributes)


def ours(page: str) -> tuple[list[Anchor], str | None]:
    """The anchors of a page, and its base."""
    tags = [(name, {**tag}) for name, tag, *_ in read_tags(decode_html(page.encode()), WANTED) if "href" in tag]
    return (
        [anchor_of({**tag}) for name, tag in tags if name == "a"],
        next((tag["href"] for name, tag in tags if name == "base"), None),
    )


def of_lexbor(page: str) -> tuple[list[Anchor], str | None]:
    tree = LexborHTMLParser(page.encode())
    base = tree.css_first("base[href]")
    anchors = [anchor_of(node.attributes) for node in tree.css("a[href]")]
    return anchors, None if base is None else base.attributes["href"] or ""


def of_pip(page: str) -> tuple[list[Anchor], str | None]:
    parser = HTMLLinkParser("https://index.example/")
    parser.feed(page)
    return [anchor_of(anchor) for anchor in parser.anchors if "href" in anchor], parser.base_url


class Standard(HTMLParser):
    """Python's parser."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[Anchor] = []
        self.base: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(reversed(attrs))
        if "href" in attributes and tag == "a":
            self.anchors.append(anchor_of(attributes))
        elif "href" in attributes and tag == "base" and self.base is None:
            self.base = attributes["href"] or ""


def of_standard(page: str) -> tuple[list[Anchor], str | None]:
    parser = Standard()
    parser.feed(page)
    parser.close()
    return parser.anchors, parser.base


VALUES = [
    *("demo-1.0-py3-none-any.whl", "../x.whl#sha256=12", "https://files.example:8443/a%2Bb.whl", "?a=1", "", "é.whl"),
    *("a b.whl", "&gt;=3.9", "a&amp;b", "&#62;&#x3E;", "&notin;", "x/y/", "/"),
]
values = st.sampled_from(VALUES)
quoted = st.one_of(
    values.map('="{}"'.format),
    values.map("='{}'".format),
    values.map(' = "{}"'.format),
    values.filter(lambda value: value and not set(value) & set(" &")).map("={} ".format),
    st.just(""),
)
attributes = st.builds("{}{}".format, st.sampled_from([*NAMES, "HREF", "Data-Yanked", "id", "data-x"]), quoted)
starts = st.builds(
    lambda name, found, space, end: f"<{name}{space}{space.join(found)}{end}",
    st.sampled_from(["a", "A", "a", "p", "br", "base", "td", "div"]),
    st.lists(attributes, min_size=1, max_size=4, unique_by=lambda text: text.partition("=")[0].strip().lower()),
    st.sampled_from([" ", "\n", "\t  "]),
    st.sampled_from([">", " >"]),
)
sane = st.sampled_from(
    [
        *(
            *("text", "</a>", "</A>", "</p>", "<br>", "<br />", "<p>", "<h1>", "</h1>", "<li>"),
            *("<!-- <a href=no> -->", "&lt;"),
        ),
        *("<!DOCTYPE html>", "<html>", "<head>", "<body>", "<script>var a = '<a href=no>';</script>", "\r\n", "5 > 3"),
        "<style>a { } <a href=no></style>",
    ]
)
sane_pages = st.lists(starts | starts | sane, max_size=12).map("".join)
ODD = [
    *("<a", "<A ", "<a/", "</a", "</", "<", ">", "=", "/", '"', "'", "&", "&lt", "&copy=", "&notit;", "&#x3C", "&#0;"),
    *(
        *("<!-- -->", "--!>", "<!-->", "<!--->", "<!--!>", "<!---!>", "<!-", "<!", "<?", "&#99999999;", "\0", "é"),
        *(" ", "\n"),
    ),
    *("<a href= ", "<a href=x ", '<a href="x" ', "<a/href=y>", '<a href=x"y>', '<a href="x"class=z>', "<a =href=x>"),
    *(
        *("<a href==x>", "<a href=x href=y>", "<a href='x", '<a href="&lt', "<base", "<base href=/b/>"),
        *("<p title='>", "\r"),
    ),
    *(
        *("<title>", "</title>", "</title/>", "</titles>", "<textarea>", "</textarea>", "<style>", "</STYLE >"),
        *("<xmp>", "\f"),
    ),
    *("</xmp>", "<iframe>", "</iframe>", "<noembed>", "</noembed>", "<noframes>", "</noframes>", "<noscript>", "]]>"),
    *("</noscript>", "<script>", "</script>", "</script/>", "<script/>", "<plaintext>", '</a href="<a href=no>">'),
    *('<p title="<a href=no>">', "<!DOCTYPE ", '<!DOCTYPE "', "<![CDATA["),
]
odd = st.sampled_from(ODD)
links = st.sampled_from(["<a href=1>", '<a href="2">', "<a href='3'>", "<A HREF=4>"])
odd_pages = st.lists(odd | links | starts | sane, max_size=14).map("".join)


def without_copies(anchors: list[Anchor]) -> list[Anchor]:
    """The anchors without those that a tree has again, where an open anchor goes on in the next paragraph."""
    return list(dict.fromkeys(anchors))


@settings(max_examples=settings().max_examples * 5)
@given(sane_pages)
def test_every_reader_sees_the_same_on_a_page_that_is_well_formed(page: str) -> None:
    anchors, base = ours(page)
    assert of_standard(page.replace("\r\n", "\n")) == (anchors, base)
    assert of_pip(page.replace("\r\n", "\n"))[0] == anchors
    assert without_copies(of_lexbor(page)[0]) == without_copies(anchors)
    assert of_lexbor(page)[1] == base


@settings(max_examples=settings().max_examples * 5)
@given(odd_pages)
def test_a_hostile_page_is_read_as_whatwg_has_it(page: str) -> None:
    anchors, base = ours(page)
    assert (without_copies(of_lexbor(page)[0]), of_lexbor(page)[1]) == (without_copies(anchors), base)


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
