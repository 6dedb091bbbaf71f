"""Certificates that this machine does not trust."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.tls_hosts import Hosts, tls_hosts
from wheelmill.errors import NetworkError
from wheelmill.web.client import Web
from wheelmill.web.retries import Retries


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    with tls_hosts(tmp_path, ["index.example"]) as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def refusal_of(url: str) -> str:
    def wait(_seconds: float) -> NoReturn:
        pytest.fail("it is asked again")

    with Web(retries=Retries(wait)) as web, pytest.raises(NetworkError) as raised:
        web.get(url)
    return str(raised.value)


def test_an_unknown_authority_is_answered_at_once_with_the_variable_that_names_others(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    said = refusal_of("https://user:secret@index.example/")
    assert said.startswith("https://index.example/: its certificate is not trusted: unable to get local issuer")
    assert "SSL_CERT_FILE=FILE names the authorities to trust" in said
    assert hosts.secure.asked == []


@pytest.mark.usefixtures("hosts")
def test_a_certificate_of_another_host_is_mended_by_no_variable() -> None:
    said = refusal_of("https://other.example/")
    assert "Hostname mismatch" in said
    assert "SSL_CERT_FILE" not in said
