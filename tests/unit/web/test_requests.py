"""Credentials reach their server and no other. gpkg 0.4.3 sends GitHub's token to every server it asks."""

from pathlib import Path

import pytest

from tests.page_server import Answer, PageServer
from wheelmill.errors import UsageError
from wheelmill.web.credentials import authorization_for
from wheelmill.web.requests import Web, WebError


def get(url: str) -> bytes:
    with Web() as web:
        return web.get(url).content


def redirect(to: str) -> Answer:
    return Answer(status=302, headers={"Location": to})


@pytest.fixture
def host_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token for the name localhost; the servers answer to 127.0.0.1, too."""
    monkeypatch.setenv("WHEELMILL_TOKEN_LOCALHOST", "secret")


def named(server: PageServer) -> str:
    return server.url.replace("127.0.0.1", "localhost")


@pytest.mark.usefixtures("host_token")
def test_a_token_is_for_the_host_that_it_names(server: PageServer) -> None:
    server.pages["/"] = Answer(b"hello")
    assert get(f"{named(server)}/") == b"hello"
    assert get(f"{server.url}/") == b"hello"
    assert server.authorizations == ["Bearer secret", None]


@pytest.mark.usefixtures("host_token")
def test_a_token_does_not_follow_a_redirect_to_another_server(server: PageServer, other_server: PageServer) -> None:
    server.pages["/"] = redirect(f"{other_server.url}/")
    server.pages["/port"] = redirect(f"{named(other_server)}/")  # of the same name, and still another server
    other_server.pages["/"] = Answer(b"there")
    assert get(f"{named(server)}/") == b"there"
    assert get(f"{named(server)}/port") == b"there"
    assert server.authorizations == ["Bearer secret", "Bearer secret"]
    assert other_server.authorizations == [None, None]


@pytest.mark.usefixtures("host_token")
def test_a_token_follows_a_redirect_on_its_own_server(server: PageServer) -> None:
    server.pages |= {"/old": redirect("/new"), "/new": Answer(b"moved")}
    assert get(f"{named(server)}/old") == b"moved"
    assert server.authorizations == ["Bearer secret", "Bearer secret"]


def test_a_server_cannot_fetch_the_credential_of_another_by_redirecting_to_it(
    server: PageServer, other_server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHEELMILL_TOKEN_LOCALHOST", "secret")
    server.pages["/"] = redirect(f"{named(other_server)}/")
    other_server.pages["/"] = Answer(b"private")
    get(f"{server.url}/")
    assert other_server.authorizations == [None]


def test_githubs_token_is_for_its_api_only(
    server: PageServer, other_server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "github")
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    for each in (server, other_server):
        each.pages["/"] = Answer()
        get(f"{each.url}/")
    assert server.authorizations == ["Bearer github"]
    assert other_server.authorizations == [None]


def test_netrc_is_read_where_gpkg_only_says_so(server: PageServer, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine localhost login somebody password word\n")
    (tmp_path / "netrc").chmod(0o600)
    server.pages["/"] = Answer()
    get(f"{named(server)}/")
    get(f"{server.url}/")
    assert server.authorizations == ["Basic c29tZWJvZHk6d29yZA==", None]


def test_a_password_in_the_url_is_sent_and_never_shown(server: PageServer) -> None:
    url = server.url.replace("//", "//me:pass%40word@")
    server.pages["/"] = Answer(status=302, headers={"Location": "http://127.0.0.1:1/"})
    with pytest.raises(WebError) as raised:
        get(f"{url}/")
    assert server.authorizations == [authorization_for(url)]
    assert "pass" not in str(raised.value)


def test_redirects_end(server: PageServer) -> None:
    server.pages["/"] = redirect("/")
    with pytest.raises(WebError, match="more than 10 redirects"):
        get(f"{server.url}/")


def test_a_redirect_from_https_to_http_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx  # noqa: PLC0415

    def answer(self: Web, request: httpx.Request) -> httpx.Response:
        del self
        return httpx.Response(302, headers={"Location": "http://there/"}, request=request)

    monkeypatch.setattr(Web, "_answer", answer)
    with pytest.raises(WebError, match="leads from https to http://there/"):
        get("https://here/")


@pytest.mark.parametrize(
    ("variable", "value"), [("ALL_PROXY", "socks5://127.0.0.1:9"), ("HTTPS_PROXY", "x://y"), ("SSL_CERT_FILE", "/none")]
)
def test_a_proxy_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match="the proxy or the certificates") as raised:
        Web()
    assert variable in str(raised.value.hint)
