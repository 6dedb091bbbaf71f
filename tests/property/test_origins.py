"""A credential is looked up for the server that is then connected to, whatever the URL."""

from contextlib import suppress

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from wheelmill.web.credentials import Origin

_PIECES = st.sampled_from(
    [
        *("http", "https", "ftp", "HTTPS", "://", "//", "/", "\\", "@", ":", "#", "?", "%2e", "%00", "[", "]"),
        *("\t", "\n", " ", ".", "\uff0e", "\u3002", "\u017f", "\u24d6", "\xad", "xn--", "user", "me:word@"),
        *("github.com", "GITHUB.com", "g\u0131thub.com", "index.example", "\u212a.com", "::1", "443", "80", "65536"),
    ]
)
URLS = st.builds(str.__add__, st.sampled_from(["https://", "http://", ""]), st.lists(_PIECES, max_size=8).map("".join))


@settings(max_examples=settings().max_examples * 5)
@given(URLS)
def test_what_has_an_origin_is_connected_to_there_or_not_at_all(url: str) -> None:
    with suppress(ValueError, httpx.InvalidURL):
        origin, connected = Origin.of(url), httpx.URL(url)
        default = {"http": 80, "https": 443}.get(connected.scheme)
        port = connected.port or default
        assert (origin.scheme, origin.host.encode(), origin.port) == (connected.scheme, connected.raw_host, port)
