"""Servers, and what they are shown."""

from dataclasses import replace

import pytest

from wheelmill.web.origin import Credential, Origin, is_secure, without_credentials

PASSWORD = Credential(username="m@", secret="w/ord")  # noqa: S106 - of a test


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://INDEX.example/simple/", "https://index.example"),
        ("https://index.example:443", "https://index.example"),
        ("http://index.example:443/", "http://index.example:443"),
        ("https://me:word@index.example:8443/simple", "https://index.example:8443"),
        ("https://[::1]:8443/", "https://[::1]:8443"),
        ("https://bücher.example/", "https://xn--bcher-kva.example"),
        ("https://g\u0131thub.com/", "https://xn--gthub-n4a.com"),
    ],
)
def test_an_origin_is_scheme_host_and_port_as_they_are_connected_to(url: str, shown: str) -> None:
    assert str(Origin.of(url)) == shown


@pytest.mark.parametrize(
    "url",
    [
        "",
        "index.example",
        "ftp://index.example/",
        "https:///x",
        "https://[",
        "https://a:b/",
        "https://ⓖithub.com/",
        "https://a b/",
        "https://-ü-/",
    ],
)
def test_what_is_no_url_of_a_server_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match="expected a URL that begins with https://"):
        Origin.of(url)


@pytest.mark.parametrize(
    ("url", "encrypted", "secure"),
    [
        ("https://index.example/", True, True),
        ("http://index.example/", False, False),
        ("http://127.0.0.1:8080/", False, True),
        ("http://[::1]/", False, True),
        ("http://localhost/", False, True),
        ("http://128.0.0.1/", False, False),
    ],
)
def test_what_is_encrypted_or_on_this_machine_is_changed_by_nobody(
    url: str,
    encrypted: bool,  # noqa: FBT001 - a column of the table
    secure: bool,  # noqa: FBT001 - another one
) -> None:
    assert Origin.of(url).is_secure is encrypted
    assert is_secure(url) is secure


def test_other_schemes_are_not_secure_on_this_machine_either() -> None:
    assert [is_secure(url) for url in ("ftp://127.0.0.1/", "file:///etc", "127.0.0.1", "http://[")] == [False] * 4


def test_a_password_is_in_no_message_and_no_repr() -> None:
    with pytest.raises(ValueError, match=r"'ftp://index\.example/'"):
        Origin.of("ftp://me:word@index.example/")
    assert "w/ord" not in repr(PASSWORD)
    assert without_credentials("") == ""
    assert without_credentials("see https://me:w:o@rd@a/b, http://x/@y") == "see https://a/b, http://x/@y"


@pytest.mark.parametrize(
    ("username", "secret", "problem"),
    [
        (None, "to\nken", "cannot contain line breaks"),
        (None, "token\r\nX-Evil: 1", "cannot contain line breaks"),
        ("me", "wo\nrd", "cannot contain line breaks"),
        ("m\x00e", "word", "cannot contain line breaks"),
        (None, "two words", "a token has only ASCII"),
        (None, "tökén", "a token has only ASCII"),
        (None, "", "a token has only ASCII"),
        ("m:e", "word", "cannot contain a colon"),
    ],
)
def test_what_would_end_a_header_or_a_line_is_no_credential(username: str | None, secret: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as raised:
        Credential(username=username, secret=secret)
    assert not secret or secret not in str(raised.value)


def test_a_password_is_quoted_in_a_url_and_a_token_stays_out_of_it() -> None:
    assert PASSWORD.put_into("https://x/y") == "https://m%40:w%2Ford@x/y"
    assert replace(PASSWORD, username=None).put_into("https://x/y") == "https://x/y"
