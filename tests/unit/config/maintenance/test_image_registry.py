"""A registry is asked as its specification says, and a token goes to nobody else."""

import datetime as dt
import hashlib
from collections.abc import Iterator
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.refusals import Coded, coded
from tests.registry_server import INDEX, MANIFEST, Registry, serving
from wheelmill.config.maintenance.images import ImageRegistry
from wheelmill.config.model.files import ImageReference
from wheelmill.errors import NetworkError

DIGEST = "sha256:" + "1" * 64
OLD = "sha256:" + "f" * 64


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Registry]:
    with serving(Registry(tags={"a/b:1": DIGEST, "a/b:2": OLD})) as registry:
        yield registry


@pytest.fixture
def pauses() -> list[float]:
    """How long was waited between tries."""
    return []


@pytest.fixture
def client(pauses: list[float]) -> Iterator[ImageRegistry]:
    with ImageRegistry(plain_http_on_loopback=True, sleep=pauses.append) as registry:
        yield registry


def image(server: Registry, tag: str = "1") -> ImageReference:
    return ImageReference(f"{server.host}/a/b", tag, OLD)


def digest_of(image: ImageReference | None) -> str | None:
    return image.digest if image else None


def tokens_of(server: Registry) -> list[str | None]:
    """The token of every question for a manifest."""
    return [headers.get("Authorization") for _, path, headers in server.asked if path.startswith("/v2/")]


def test_the_digest_is_asked_with_the_token_that_everybody_gets(server: Registry, client: ImageRegistry) -> None:
    now = client.current(image(server))
    assert now == ImageReference(f"{server.host}/a/b", "1", DIGEST)
    assert [(method, path.partition("?")[0]) for method, path, _ in server.asked] == [
        ("HEAD", "/v2/a/b/manifests/1"),
        ("GET", "/token"),
        ("HEAD", "/v2/a/b/manifests/1"),
    ]
    assert tokens_of(server) == [None, "Bearer everybody's"]
    # An index is asked for before the manifest of a platform.
    assert all(headers["Accept"].startswith(INDEX) for _, path, headers in server.asked if path.startswith("/v2/"))


def test_a_token_serves_for_all_tags_of_a_name_until_it_expires(server: Registry, client: ImageRegistry) -> None:
    client.current(image(server, "1"))
    client.current(image(server, "2"))
    server.token = "another"
    now = client.current(image(server, "1"))
    assert digest_of(now) == DIGEST
    old, new = "Bearer everybody's", "Bearer another"
    assert tokens_of(server) == [None, old, old, old, new]


def test_local_credentials_are_not_sent(server: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with ImageRegistry(plain_http_on_loopback=True, sleep=lambda _seconds: None) as registry:
        registry.current(image(server))
    sent = {headers.get("Authorization") for _, _, headers in server.asked}
    assert sent == {None, "Bearer everybody's"}


def test_a_tag_that_is_not_there_is_none(server: Registry, client: ImageRegistry) -> None:
    assert client.current(image(server, "3")) is None


@pytest.mark.parametrize("tag", ["1", "3"])
def test_a_digest_that_is_not_told_is_computed(server: Registry, client: ImageRegistry, tag: str) -> None:
    server.tells_digest = False
    now = client.current(image(server, tag))
    digest = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
    assert digest_of(now) == (digest if tag == "1" else None)


@pytest.mark.parametrize("field", ["token", "access_token"])
def test_a_token_has_one_of_two_names(server: Registry, client: ImageRegistry, field: str) -> None:
    server.token_body = f'{{"{field}": "everybody\'s", "expires_in": 300}}'.encode()
    assert client.current(image(server))


@pytest.mark.parametrize("body", [b"no json", b"[]", b"{}", b'{"token": ""}'])
def test_no_token_is_an_error(server: Registry, client: ImageRegistry, body: bytes) -> None:
    server.token_body = body
    with pytest.raises(NetworkError, check=coded("registry-no-token", "127.0.0.1", "/a/b: 200")):
        client.current(image(server))


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"tags": {"a/b:1": f"sha512:{'1' * 128}"}}, coded("digest-invalid", "/a/b:1", "sha512:1")),
        ({"first": [(418, {}, b"")]}, coded("registry-refused", "418", "/a/b:1")),
        *(
            ({"challenge": challenge}, coded("registry-login"))
            for challenge in ('Basic realm="x"', "Bearer", "Bearer service=x", "Bearer realm=", "Bearer nonsense", "x")
        ),
        *(
            ({"challenge": f'Bearer realm="{realm}"'}, coded("registry-not-https"))
            for realm in ("http://auth.example.org/token", "ftp://auth.example.org/token", "token")
        ),
        ({"redirect": "http://registry.example.org"}, coded("registry-not-https", "registry.example.org", "http")),
    ],
)
def test_a_bad_answer(server: Registry, client: ImageRegistry, changed: dict[str, Any], refusal: Coded) -> None:
    for name, value in changed.items():
        setattr(server, name, value)
    with pytest.raises(NetworkError, check=refusal):
        client.current(image(server))


@pytest.mark.parametrize("status", [401, 403])
def test_a_name_that_nobody_may_see_is_an_error(server: Registry, client: ImageRegistry, status: int) -> None:
    server.first = [(status, {"WWW-Authenticate": server.answer("/v2/", {})[1]["WWW-Authenticate"]}, b"")]
    server.token_body = b'{"token": "useless"}'
    with pytest.raises(NetworkError, check=coded("image-private", "/a/b")):
        client.current(image(server))


def test_a_redirect_is_followed_without_the_token(server: Registry, client: ImageRegistry) -> None:
    with serving(Registry(tags={"a/b:1": DIGEST}, token=None)) as other:
        server.redirect = f"http://{other.host}"
        server.tags.clear()
        now = client.current(image(server))
        assert digest_of(now) == DIGEST
        assert tokens_of(server) == [None, "Bearer everybody's"]
        assert tokens_of(other) == [None]


@pytest.mark.parametrize("token", [None, "everybody's"])
def test_a_redirects_host_gives_no_token_address(server: Registry, client: ImageRegistry, token: str | None) -> None:
    server.token = token
    with serving(Registry(tags={"a/b:1": DIGEST})) as other:
        server.redirect = f"http://{other.host}"
        with pytest.raises(NetworkError, check=coded("image-private")):
            client.current(image(server))
        assert [path for _, path, _ in other.asked] == ["/v2/a/b/manifests/1"]


def test_a_circle_of_redirects_is_an_error(server: Registry, client: ImageRegistry, pauses: list[float]) -> None:
    server.redirect = f"http://{server.host}"
    with pytest.raises(NetworkError, check=coded("too-many-redirects")):
        client.current(image(server))
    assert pauses == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_one_is_asked_again(server: Registry, client: ImageRegistry, pauses: list[float], status: int) -> None:
    server.first = [(status, {}, b""), (status, {}, b"")]
    now = client.current(image(server))
    assert digest_of(now) == DIGEST
    assert pauses == [1, 2]


def test_a_registry_that_stays_busy_is_an_error(server: Registry, client: ImageRegistry, pauses: list[float]) -> None:
    server.first = [(503, {}, b"")] * 4
    with pytest.raises(NetworkError, check=coded("server-silent", "http", "503 Service Unavailable")):
        client.current(image(server))
    assert pauses == [1, 2]
    assert len(server.asked) == 3


def in_seconds(seconds: int) -> str:
    return format_datetime(dt.datetime.now(tz=dt.UTC) + dt.timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("asked", "least_and_most"),
    [
        ("7", (7, 7)),
        ("0", (1, 1)),
        (50, (1, 50)),
        (-50, (1, 1)),
        ("soon", (1, 1)),
        ("Mon, 21 Nov 9999999999 00:00:00 GMT", (1, 1)),
    ],
    ids=["seconds", "no time", "date", "past", "nonsense", "a year of ten digits"],
)
def test_retry_after_is_waited_for(
    server: Registry, client: ImageRegistry, pauses: list[float], asked: str | int, least_and_most: tuple[int, int]
) -> None:
    server.first = [(429, {"Retry-After": asked if isinstance(asked, str) else in_seconds(asked)}, b"")]
    client.current(image(server))
    (pause,) = pauses
    least, most = least_and_most
    assert least <= pause <= most


@pytest.mark.parametrize("asked", ["3600", 3600], ids=["seconds", "date"])
def test_no_wait_for_an_hour(server: Registry, client: ImageRegistry, pauses: list[float], asked: str | int) -> None:
    server.first = [(429, {"Retry-After": asked if isinstance(asked, str) else in_seconds(asked)}, b"")]
    with pytest.raises(NetworkError, check=coded("server-busy", "429 Too Many Requests")):
        client.current(image(server))
    assert (pauses, len(server.asked)) == ([], 1)


def test_a_registry_that_is_not_there_is_an_error(client: ImageRegistry, pauses: list[float]) -> None:
    with pytest.raises(NetworkError, check=coded("server-silent", "http", "3 times")):
        client.current(ImageReference("127.0.0.1:9/a/b", "1", OLD))
    assert pauses == [1, 2]


def test_plain_http_is_spoken_only_when_that_is_wanted(server: Registry, pauses: list[float]) -> None:
    with ImageRegistry(sleep=pauses.append) as registry, pytest.raises(NetworkError):
        registry.current(image(server))
    assert server.asked == []


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("docker.io/library/almalinux", "https://registry-1.docker.io/v2/library/almalinux/manifests/8"),
        ("quay.io/pypa/x", "https://quay.io/v2/pypa/x/manifests/8"),
        ("localhost:5000/x", "https://localhost:5000/v2/x/manifests/8"),
    ],
)
def test_the_name_of_an_image_says_who_is_asked(name: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def send(_: httpx.Client, request: httpx.Request, **_options: bool) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, headers={"Docker-Content-Digest": DIGEST}, request=request)

    monkeypatch.setattr(httpx.Client, "send", send)
    with ImageRegistry(sleep=lambda _seconds: None) as registry:
        registry.current(ImageReference(name, "8", OLD))
    assert asked == [url]
