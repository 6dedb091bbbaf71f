"""Which credential belongs to which server. None is ever sent to another one."""

from __future__ import annotations

import base64
import netrc
import os
import re
import shutil
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote, urlsplit

from wheelmill.errors import UsageError, WheelmillError
from wheelmill.system import process

Credentials = Callable[[str], str | None]
"""Gives the Authorization header for a URL."""

_USERINFO: Final = re.compile(r"(?<=://)[^/?#\s]*@")
"""RFC 3986, section 3.2.1."""


def authorization_for(url: str) -> str | None:
    """The Authorization header for a server, from the first that has one.

    The URL itself; ``WHEELMILL_TOKEN_<HOST>``, the host in capitals with ``_`` for every other character;
    ``GITHUB_TOKEN`` or the gh command for GitHub's API; ``~/.netrc`` or what ``NETRC`` names.

    Raises:
        UsageError: the netrc file cannot be read.
    """
    address = urlsplit(url)
    host = address.hostname or ""
    if address.username:
        return _basic(unquote(address.username), unquote(address.password or ""))
    key = "".join(character if character.isalnum() else "_" for character in host.upper())
    token = os.environ.get(f"WHEELMILL_TOKEN_{key}")
    if token is None and origin_of(url) == origin_of(github_api()):
        token = _github_token()
    return f"Bearer {token}" if token else _from_netrc(host)


def github_api() -> str:
    """Where GitHub's REST API is; GitHub Enterprise has its own."""
    return os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port: what must be the same for a credential to be sent (RFC 6454)."""
    address = urlsplit(url)
    default = {"http": 80, "https": 443}.get(address.scheme)
    return address.scheme, address.hostname, address.port or default


def without_credentials(text: str) -> str:
    """A URL, or a text with URLs in it, as it may be shown, stored and sent to others."""
    return _USERINFO.sub("", text)


def no_credentials(_url: str) -> None:
    """Ask as everybody may."""


def own_credentials(index: str) -> Credentials:
    """Send the user and the password in the URL of an index to its own server, and nothing to any other."""
    authorization, origin = authorization_for(index) if urlsplit(index).username else None, origin_of(index)
    return lambda url: authorization if origin_of(url) == origin else None


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _github_token() -> str | None:
    if token := os.environ.get("GITHUB_TOKEN"):
        return token
    if program := shutil.which("gh"):
        try:
            return process.run([program, "auth", "token"], timeout=10).strip() or None
        except WheelmillError:  # nobody is logged in
            return None
    return None


def _from_netrc(host: str) -> str | None:
    try:
        found = netrc.netrc(os.environ.get("NETRC")).authenticators(host)
    except FileNotFoundError:
        return None
    except (netrc.NetrcParseError, OSError) as error:
        raise UsageError(f"netrc: {error}") from None
    return _basic(found[0], found[2] or "") if found else None
