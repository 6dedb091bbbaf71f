"""Pages in HTML: of a project (PEP 503), and lists of links."""

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.fuzz.pages import ADDRESS, look_at
from tests.hostile_pages import NAMES, WHEEL
from tests.page_server import links_page
from wheelmill.client.sources.forms import read_group
from wheelmill.errors import UnreadableError

FULL = f"""<!DOCTYPE html><html><head><base href="/files/"><meta name="pypi:repository-version" content="1.4"></head>
<body><a href="../">up</a><a href="{WHEEL.replace("+", "%2B")}#sha256={"a" * 64}" data-requires-python="&gt;=3.9"
data-core-metadata="sha256={"b" * 64}" data-yanked="" data-size=5 data-upload-time="2026-11-21T12:30:15Z">x</a>
<a href='https://files.example/{WHEEL}#md5=c'>y</a></body></html>""".encode()
WORDS = b"""<a href= <base > ' " #sha256= &#0; &#xd800; %00 % file: http://[ <!-- <script> data-size=""".split()
WORDS += [b"<div>" * 5000, b"9" * 5000, b"\0", b"\xff", b"\xef\xbb\xbf", b"<!DOCTYPE html>"]


def read(content: bytes) -> None:
    """Any bytes are a page; one with a fault counts as refused."""
    page = look_at(read_group(content, ADDRESS))
    if page.faults:
        raise UnreadableError("page-invalid", page.faults[0].problem)


FORMAT = Format(inputs=mutated([links_page(WHEEL), FULL, links_page(WHEEL, *NAMES)], WORDS), read=read)
