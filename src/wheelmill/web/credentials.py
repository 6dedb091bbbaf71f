"""Which credential belongs to which server. None is ever sent to another one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from wheelmill.errors import UsageError
from wheelmill.web.credential_stores import (
    Stored,
    ask_github,
    ask_keyring,
    ask_netrc,
    read_credentials_file,
    read_variables,
)
from wheelmill.web.origin import Credential, Origin, without_credentials

Credentials = Callable[[str], str | None]
"""Gives the Authorization header for a URL."""

_given: Final[dict[Origin, Credential]] = {}
"""The credentials that stood in URLs which this process was given."""


def keep_credential(url: str) -> str:
    """Take user and password out of a URL that a person gave; from now on, they are sent to its server.

    Returns:
        The URL without them, as it may be shown and stored. What is no URL of http or https stays as it is.

    Raises:
        UsageError: another URL had other ones for that server.
    """
    try:
        origin = Origin.of(url)
    except ValueError:
        return without_credentials(url)
    credential = _credential_in(url, origin)
    if credential and _given.setdefault(origin, credential) != credential:
        raise UsageError(
            "credentials-ambiguous", f"two URLs have different credentials for {origin}", hint="give both the same"
        )
    return without_credentials(url)


def credential_for(url: str) -> Credential | None:
    """The credential for the server of a URL, from the first place that has one.

    The URL itself; URLs that `keep_credential` was given; ``WHEELMILL_TOKEN_<HOST>``; ``credentials.toml``;
    ``GITHUB_TOKEN`` or the gh command for GitHub's API; netrc. A keyring is asked for the password of a user who is
    named without one.

    Raises:
        UsageError: a credential, or a file with credentials, cannot be used.
        ConfigurationError: ``credentials.toml`` has faults.
        ValueError: it is no URL of http or https.
    """
    origin = Origin.of(url)
    if credential := _credential_in(url, origin):
        return credential
    if stored := _stored_credentials().get(origin):
        return _unlock(origin, stored)
    of_github = ask_github(origin) if origin == Origin.of(github_api()) else None
    return of_github or ask_netrc(origin)


def known_credentials() -> Mapping[Origin, Credential]:
    """What is known of servers before they are named: all but what GitHub's command and netrc have.

    Raises:
        UsageError: see `credential_for`.
        ConfigurationError: the same.
    """
    return {origin: _unlock(origin, stored) for origin, stored in _stored_credentials().items()}


def authorization_for(url: str) -> str | None:
    """The Authorization header for a URL; see `credential_for`."""
    credential = credential_for(url)
    return credential.authorization if credential else None


def no_credentials(_url: str) -> None:
    """Send no credential."""


def own_credentials(index: str) -> Credentials:
    """Send the server of an index its credential, and none to any other server."""
    authorization, origin = authorization_for(index), Origin.of(index)
    return lambda url: authorization if Origin.of(url) == origin else None


def github_api() -> str:
    """Where GitHub's REST API is; GitHub Enterprise has its own."""
    return os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")


def _stored_credentials() -> Stored:
    return {**read_credentials_file(), **read_variables(), **_given}


def _unlock(origin: Origin, stored: Credential | str) -> Credential:
    if isinstance(stored, Credential):
        return stored
    password = ask_keyring(origin, stored)
    if password is None:
        raise UsageError(
            "keyring-empty",
            f"the keyring has no password of {stored} for {origin}",
            hint=f"keyring set {origin} {stored}, or write the password into credentials.toml",
        )
    return _checked_credential(stored, password, f"the keyring's password for {origin}")


def _credential_in(url: str, origin: Origin) -> Credential | None:
    """The user and the password in a URL; a user alone may be all that a server wants to know."""
    address = urlsplit(url)
    if address.username is None:
        return None
    username = unquote(address.username)
    password = ask_keyring(origin, username) or "" if address.password is None else unquote(address.password)
    return _checked_credential(username, password, f"the URL of {origin}")


def _checked_credential(username: str, password: str, place: str) -> Credential:
    try:
        return Credential(username=username, secret=password)
    except ValueError as error:
        raise UsageError("credentials-invalid", f"{place}: {error}") from None
