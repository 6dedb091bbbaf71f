"""Servers, credentials, and where users keep them."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.files import write_private
from tests.refusals import coded, faults_of
from wheelmill.errors import UsageError
from wheelmill.web.credentials import (
    Credential,
    Origin,
    authorization_for,
    is_secure,
    keep_credential,
    known_credentials,
    own_credentials,
    variable_for,
    without_credentials,
)

TOKEN, BASIC = "Bearer secret", "Basic bWU6d29yZA=="


@pytest.fixture
def credentials_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "credentials.toml"
    monkeypatch.setenv("WHEELMILL_CREDENTIALS", str(path))
    return path


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command that has one password, and notes what it was asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    asked = tmp_path / "asked"
    program = folder / "keyring"
    program.write_text(f'#!/bin/sh\necho "$*" >>{asked}\n[ "$*" = "get index.example me" ] && echo word\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return asked


@pytest.mark.parametrize(
    "url",
    [
        *("https://pkgs-my-company.com/", "https://pkgs-my.company.com/", "https://pkgs.my-company.com/"),
        *("https://pkgs_my_company_com/", "https://pkgs.my.company.com:8443/", "https://pkgs.my.company.com./"),
        *("http://pkgs.my.company.com/", "http://pkgs.my.company.com:443/"),
        *("https://pkgs.my.company.com.evil.example/", "https://evil.example/pkgs.my.company.com"),
    ],
)
def test_a_variable_is_for_one_host_over_https_only(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_TOKEN_PKGS_MY_COMPANY_COM", "secret")
    assert authorization_for("https://PKGS.my.company.com/simple/") == TOKEN
    assert authorization_for(url) is None


@pytest.mark.parametrize(
    "url", ["https://g\u0131thub.com/", "https://xn--gthub-n4a.com/", "https://g\u0131tHub.com:443/"]
)
def test_a_look_alike_does_not_get_the_real_token(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WHEELMILL_TOKEN_GITHUB_COM", "secret")
    monkeypatch.setenv("WHEELMILL_TOKEN_G\u0131THUB_COM", "secret")
    write_private(tmp_path / "netrc", "machine github.com login me password word\n")
    assert authorization_for("https://github.com/") == TOKEN
    assert authorization_for(url) is None


def test_hosts_that_a_variable_cannot_tell_apart_have_none() -> None:
    assert variable_for(Origin.of("https://a.b1.example")) == "WHEELMILL_TOKEN_A_B1_EXAMPLE"
    for url in (
        "https://a-b.example",
        "https://xn--a-b.example",
        "https://[::1]",
        "https://a:8443",
        "http://a.example",
    ):
        assert variable_for(Origin.of(url)) is None


def test_netrc_is_for_a_host_whatever_its_port_and_for_https_only(tmp_path: Path) -> None:
    write_private(tmp_path / "netrc", "machine index.example login me password word\n")
    assert authorization_for("https://index.example/") == BASIC
    assert authorization_for("https://index.example:8443/") == BASIC
    assert authorization_for("http://index.example/") is None
    assert authorization_for("https://other.example/") is None


def test_netrcs_entry_for_any_host_is_for_none(tmp_path: Path) -> None:
    write_private(tmp_path / "netrc", "default login me password word\n")
    assert authorization_for("https://index.example/") is None


@pytest.mark.parametrize("content", [b"machine\n", b"\xff\xfe"])
def test_a_netrc_that_cannot_be_read_is_an_error_that_names_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_bytes(content)
    with pytest.raises(UsageError, check=coded("netrc-invalid")):
        authorization_for("https://index.example/")


def test_the_file_names_origins(credentials_file: Path) -> None:
    write_private(
        credentials_file,
        '["https://index.example"]\nusername = "me"\npassword = "word"\n'
        '["http://localhost:8080/"]\ntoken = "secret"\n["https://BÜCHER.example"]\ntoken = "secret"\n',
    )
    assert authorization_for("https://index.example/simple/") == BASIC
    assert authorization_for("http://localhost:8080/") == TOKEN
    assert authorization_for("https://xn--bcher-kva.example/") == TOKEN
    for url in ("http://index.example", "https://index.example:8443", "http://localhost", "https://localhost:8080"):
        assert authorization_for(url) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_may_open_is_refused(mode: int, credentials_file: Path) -> None:
    write_private(credentials_file, '["https://index.example"]\ntoken = "secret"\n').chmod(mode)
    with pytest.raises(UsageError, check=coded("credentials-open", f"chmod 600 {credentials_file}")):
        authorization_for("https://elsewhere.example/")


def test_a_user_whose_home_is_no_folder_has_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """``HOME=/dev/null``, as services and containers set it."""
    for name in ("WHEELMILL_CREDENTIALS", "XDG_CONFIG_HOME", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", os.devnull)
    assert authorization_for("https://index.example/") is None


def test_a_file_that_is_named_and_missing_is_an_error(credentials_file: Path) -> None:
    with pytest.raises(UsageError, check=coded("credentials-absent", "WHEELMILL_CREDENTIALS", credentials_file)):
        authorization_for("https://index.example/")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('["index.example"]\ntoken = "s3cret"', '"index.example": '),
        ('["https://a.example/simple"]\ntoken = "s3cret"', '"https://a.example/simple": '),
        ('["https://me:s3cret@a.example"]\ntoken = "s3cret"', '"https://a.example": '),
        ('["https://a.example"]\ntoken = 5', "https://a.example"),
        ('["https://a.example"]\nusername = "me"\npasword = "s3cret"', "https://a.example"),
        ('["https://a.example"]\ntoken = "s3cret"\nusername = "me"', "https://a.example"),
        ('["https://a.example"]\ntoken = "s3cret\\n"', '"https://a.example": '),
        ('"https://a.example" = "s3cret"', "https://a.example"),
        (
            '["https://a.example"]\ntoken = "s3cret"\n["https://A.example:443"]\ntoken = "s3cret"',
            '"https://A.example:443": ',
        ),
        ('["https://a.example"\ntoken = "s3cret"', "line 1"),
    ],
)
def test_a_fault_of_the_file_names_its_key_and_no_secret(text: str, fault: str, credentials_file: Path) -> None:
    write_private(credentials_file, text)
    (told,) = faults_of(authorization_for, "https://elsewhere.example/")
    assert told.startswith(f"{credentials_file}: ")
    assert fault in told
    assert "s3cret" not in told


def test_the_keyring_has_the_password_of_a_user_who_is_named(keyring: Path, credentials_file: Path) -> None:
    write_private(credentials_file, '["https://index.example"]\nusername = "me"\n')
    assert authorization_for("https://index.example/") == BASIC
    assert authorization_for("https://me@index.example/") == BASIC
    assert keyring.read_text().splitlines() == ["get https://index.example me", "get index.example me"]


def test_requests_side_by_side_ask_the_keyring_once(keyring: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = [*threads.map(authorization_for, [f"https://me@index.example/{number}" for number in range(8)])]
    assert found == [BASIC] * 8
    assert len(keyring.read_text().splitlines()) == 2


def test_the_keyring_is_not_asked_over_plain_http_nor_for_other_origins(keyring: Path) -> None:
    for url in ("http://me@index.example/", "https://me@other.example/", "https://me@index.example:8443/"):
        assert authorization_for(url) == "Basic bWU6"
    assert authorization_for("https://index.example/") is None
    assert "get index.example me" not in keyring.read_text().splitlines()


@pytest.mark.usefixtures("keyring")
def test_a_user_whose_password_nobody_has_is_an_error_that_says_what_to_do(credentials_file: Path) -> None:
    write_private(credentials_file, '["https://index.example"]\nusername = "somebody"\n')
    with pytest.raises(UsageError, check=coded("keyring-empty", "keyring set https://index.example somebody")):
        authorization_for("https://index.example/")


@pytest.mark.parametrize(
    ("name", "code"), [("WHEELMILL_TOKEN_INDEX_EXAMPLE", "credentials-invalid"), ("GITHUB_TOKEN", "token-invalid")]
)
def test_a_token_with_a_line_break_is_named_by_variable(name: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "https://index.example")
    monkeypatch.setenv(name, "s3cret\n")
    with pytest.raises(UsageError, check=coded(code, name)):
        authorization_for("https://index.example/")


def test_a_password_in_a_url_with_a_line_break_is_refused() -> None:
    with pytest.raises(UsageError, check=coded("credentials-invalid", "https://index.example")):
        authorization_for("https://me:s3cret%0d%0aX: 1@index.example/")


@pytest.mark.parametrize("userinfo", ["me:word", "${INDEX_USER}:${INDEX_PASSWORD}", "me:${INDEX_PASSWORD}"])
def test_a_given_url_leaves_a_password_for_its_origin(userinfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEX_USER", "me")
    monkeypatch.setenv("INDEX_PASSWORD", "word")
    assert keep_credential(f"https://{userinfo}@index.example/simple/") == "https://index.example/simple/"
    assert authorization_for("https://index.example/files/x.whl") == BASIC
    for url in ("http://index.example/", "https://index.example:8443/", "https://files.index.example/"):
        assert authorization_for(url) is None
    assert known_credentials().keys() == {Origin.of("https://index.example")}


def test_a_password_that_is_given_comes_before_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEX_PASSWORD", "other")
    keep_credential("https://me:${INDEX_PASSWORD}@index.example/")
    keep_credential("https://me:word@index.example/")
    assert authorization_for("https://index.example/") == BASIC


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "UV_PUBLISH_PASSWORD", "DATABASE_URL"])
def test_no_other_secret_of_a_url_is_named_or_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("INDEX_PASSWORD", "word")
    for url in (f"https://${{{name}}}@index.example/", "http://me:${INDEX_PASSWORD}@plain.example/"):
        keep_credential(url)
    held = known_credentials().values()
    assert [each for each in held if {"secret", "word"} & {each.username, each.secret}] == []


def test_two_passwords_for_one_server_contradict_each_other() -> None:
    keep_credential("https://me:word@index.example/a/")
    with pytest.raises(UsageError, check=coded("credentials-ambiguous", "https://index.example")):
        keep_credential("https://me:other@index.example/b/")


def test_an_index_that_is_examined_reaches_no_other_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_TOKEN_OTHER_EXAMPLE", "secret")
    own = own_credentials("https://me:word@index.example/simple/")
    assert own("https://index.example/files/") == BASIC
    assert own("https://other.example/") is None


def test_the_command_of_github_is_asked_for_the_apis_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "gh"
    program.write_text('#!/bin/sh\n[ "$*" = "auth token --hostname github.example" ] && echo secret\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert authorization_for("https://api.github.com/") is None
    monkeypatch.setenv("GITHUB_API_URL", "https://github.example/api/v3")
    assert authorization_for("https://github.example/api/v3/repos") == TOKEN
    assert authorization_for("https://api.github.com/") is None


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
        *("", "index.example", "ftp://index.example/", "https:///x", "https://[", "https://a:b/"),
        *("https://ⓖithub.com/", "https://a b/", "https://-ü-/"),
    ],
)
def test_what_is_no_url_of_a_server_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError, match="https://"):
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
