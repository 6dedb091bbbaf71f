"""Servers and credentials: a credential belongs to one origin (RFC 6454) and goes to no other."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import quote, urlsplit

_PORTS: Final = {"http": 80, "https": 443}
_IN_HOSTS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.:")
"""Characters of names and IP addresses; programs disagree about how to read others in a URL."""
_USERINFO: Final = re.compile(r"(?<=://)[^/?#\s]*@")
"""RFC 3986, section 3.2.1."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A server: scheme, host and port."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """In lower case; beyond ASCII as DNS has it, such as ``xn--bcher-kva.example`` (RFC 5891)."""
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """The server of a URL.

        Raises:
            ValueError: it is no URL of http or https.
        """
        with suppress(ValueError):  # a port that is no number, half of an IPv6 address
            address = urlsplit(url)
            if address.scheme in _PORTS and address.hostname:
                port = address.port or _PORTS[address.scheme]
                return cls(scheme=address.scheme, host=_name_in_dns(address.hostname), port=port)
        raise ValueError(f"expected a URL that begins with https://, not {without_credentials(url)!r}")

    @property
    def is_secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self.scheme == "https"

    @property
    def netloc(self) -> str:
        """The host, and the port where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        """``https://index.example``, with the port where it is not the usual one."""
        return f"{self.scheme}://{self.netloc}"


def is_secure(url: str) -> bool:
    """Whether nobody on the way can change what comes from a URL: it is https, or on this machine.

    https://www.w3.org/TR/secure-contexts/#is-origin-trustworthy
    """
    try:
        address = urlsplit(url)
        host = address.hostname or ""
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, not an address
        loopback = False
    return url.startswith("https://") or (url.startswith("http://") and loopback)


@dataclass(frozen=True, kw_only=True)
class Credential:
    """A user and a password (RFC 7617), or a token (RFC 6750)."""

    username: str | None
    """None for a token."""
    secret: str = field(repr=False)
    """The password or the token."""

    def __post_init__(self) -> None:
        """Refuse what could end a header or a line of a file.

        Raises:
            ValueError: it says what is wrong, without the secret.
        """
        if not (self.secret.isprintable() and (self.username or "").isprintable()):
            raise ValueError("a credential cannot contain line breaks or control characters")
        if self.username is None and not (self.secret.isascii() and self.secret and " " not in self.secret):
            raise ValueError("a token has only ASCII characters and no spaces")
        if ":" in (self.username or ""):
            raise ValueError("a user name cannot contain a colon (RFC 7617)")

    @property
    def authorization(self) -> str:
        """The value of the header."""
        if self.username is None:
            return f"Bearer {self.secret}"
        return f"Basic {base64.b64encode(f'{self.username}:{self.secret}'.encode()).decode()}"

    def put_into(self, url: str) -> str:
        """Put the credential into a URL that has none; a token cannot be put into one."""
        if self.username is None:
            return url
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{quote(self.username, safe='')}:{quote(self.secret, safe='')}@{rest}"


def without_credentials(text: str) -> str:
    """A URL, or a text with URLs in it, as it may be shown, stored and sent to others."""
    return _USERINFO.sub("", text) if "@" in text else text


def _name_in_dns(host: str) -> str:
    """The name of a host as DNS has it, in which lookalikes differ.

    Raises:
        ValueError: there is no such host.
    """
    if not host.isascii():
        import httpx  # noqa: PLC0415 - what connects decides; hardly any host needs it

        try:
            host = httpx.URL(scheme="https", host=host).raw_host.decode()
        except httpx.InvalidURL as error:
            raise ValueError(str(error)) from None
    if not _IN_HOSTS.issuperset(host):
        raise ValueError(f"not a host name: {host!r}")
    return host
