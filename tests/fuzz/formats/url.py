"""Links of foreign pages: one URL of RFC 3986 each, or none."""

from string import ascii_letters, digits
from urllib.parse import urlsplit

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated_text
from wheelmill.errors import UnreadableError
from wheelmill.web.credentials import Origin, without_credentials
from wheelmill.web.pages import absolute

BASE = "https://index.example/simple/demo/"
LINKS = [
    "../../files/demo-1.0%2Bcu130-py3-none-any.whl#sha256=" + "a" * 64,
    "https://user:word@files.example:8443/a/b/demo-1.0-py3-none-any.whl?x=y&z#egg=a",
    "//[::1]:80/demo-1.0-py3-none-any.whl",
]
WORDS = [*"/?#@:[]%{};'\"`\\|^<>é", "//", "/../", "%0A", "%zz", "${SECRET}", "\u2028", "\u202e", "\uff0e", "https://"]
WORDS += ["\n", "\t", "\0", " ", " --hash=sha256:0", " #", "/a" * 3000, "xn--"]
CHARACTERS = {*ascii_letters, *digits, *"-._~:/?[]@!$&'()*+,=%"}


def read(text: str) -> None:
    url = absolute(BASE, text)
    if url is None or not url.startswith(("http://", "https://")):
        raise UnreadableError("url-invalid", "is no URL of the web")
    there = urlsplit(url)
    assert set(url) <= CHARACTERS
    assert absolute(BASE, url) == without_credentials(url)  # also of a URL in its path
    assert (there.fragment, there.username, there.password) == ("", None, None)
    assert Origin.of(url).netloc == there.netloc


FORMAT = Format(inputs=mutated_text(LINKS, WORDS), read=read)
