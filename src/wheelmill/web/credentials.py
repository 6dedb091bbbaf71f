"""Servers and their credentials: a credential belongs to one origin (RFC 6454) and goes to no other."""

from __future__ import annotations

import base64
import functools
import netrc
import os
import re
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit

from platformdirs import user_config_path

from wheelmill.errors import ConfigurationError, UsageError, WheelmillError
from wheelmill.system import process
from wheelmill.system.process import find_program

_PORTS: Final = {"http": 80, "https": 443}
_IN_HOSTS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.:")
"""Characters of names and IP addresses; programs disagree about how to read others in a URL."""
_USERINFO: Final = re.compile(r"(?<=://)[^/?#\s]*@")
"""RFC 3986, section 3.2.1."""
_VARIABLE: Final = re.compile(r"\$\{((?:[A-Za-z0-9_]*INDEX|POETRY_HTTP_BASIC)_[A-Za-z0-9_]+)\}")
"""Variable in the URL of an index, as pip and PDM have it. A foreign project could name any other secret."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Server: scheme, host and port."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """In lower case; beyond ASCII as DNS has it, such as ``xn--bcher-kva.example`` (RFC 5891)."""
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """Parse the server of a URL of http or https, or raise ValueError."""
        with suppress(ValueError):  # an invalid port, half of an IPv6 address
            address = urlsplit(url)
            if address.scheme in _PORTS and address.hostname:
                port = address.port or _PORTS[address.scheme]
                return cls(scheme=address.scheme, host=_name_in_dns(address.hostname), port=port)
        raise ValueError(f"expected a URL that begins with https://, not {without_credentials(url)!r}")

    @property
    def is_secure(self) -> bool:
        """True if the connection is encrypted."""
        return self.scheme == "https"

    @property
    def netloc(self) -> str:
        """Host, with the port if it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        """Format as ``https://index.example``, with the port if it is not the usual one."""
        return f"{self.scheme}://{self.netloc}"


def is_secure(url: str) -> bool:
    """True if a URL's content is safe from changes in transit: it is https, or on this machine.

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
    """User and password (RFC 7617), or a token (RFC 6750)."""

    username: str | None
    """None for a token."""
    secret: str = field(repr=False)
    """The password or the token."""

    def __post_init__(self) -> None:
        """Refuse characters that could end a header or a line of a file."""
        if not (self.secret.isprintable() and (self.username or "").isprintable()):
            raise ValueError("a credential cannot contain line breaks or control characters")
        if self.username is None and not (self.secret.isascii() and self.secret and " " not in self.secret):
            raise ValueError("a token has only ASCII characters and no spaces")
        if ":" in (self.username or ""):
            raise ValueError("a user name cannot contain a colon (RFC 7617)")

    @property
    def authorization(self) -> str:
        """Value of the Authorization header."""
        if self.username is None:
            return f"Bearer {self.secret}"
        return f"Basic {base64.b64encode(f'{self.username}:{self.secret}'.encode()).decode()}"

    def put_into(self, url: str) -> str:
        """Add the credential to a URL that has none; a token leaves it unchanged."""
        if self.username is None:
            return url
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{quote(self.username, safe='')}:{quote(self.secret, safe='')}@{rest}"


def without_credentials(text: str) -> str:
    """Remove credentials from the URLs in a text, so that it may be shown, stored and sent to others."""
    return _USERINFO.sub("", text) if "@" in text else text


def _name_in_dns(host: str) -> str:
    """Return the name of a host as DNS has it, in which lookalikes differ."""
    if not host.isascii():
        import httpx  # httpx connects, so it decides; few hosts need it

        try:
            host = httpx.URL(scheme="https", host=host).raw_host.decode()
        except httpx.InvalidURL as error:
            raise ValueError(str(error)) from None
    if not _IN_HOSTS.issuperset(host):
        raise ValueError(f"not a host name: {host!r}")
    return host


CREDENTIALS_VARIABLE: Final = "WHEELMILL_CREDENTIALS"
"""Variable that names a file in place of ``credentials.toml`` in the folder of settings."""
_TOKEN: Final = "WHEELMILL_TOKEN_"  # noqa: S105 - the beginning of a variable's name
_KEYRING_SECONDS: Final = 60.0
"""Seconds for a keyring: a locked one asks its owner."""
_GH_SECONDS: Final = 10.0
_asking: Final = threading.Lock()
"""Held while a program is asked, so that parallel requests ask it once."""

Stored = Mapping[Origin, Credential | str]
"""Credentials by server; a text is the name of a user whose password is in the keyring."""


def read_credentials_file() -> Stored:
    """Read ``credentials.toml``: a table per origin, with a ``token``, or a ``username`` and ``password``."""
    import tomllib  # few users have the file

    named = os.environ.get(CREDENTIALS_VARIABLE)
    path = Path(named) if named else user_config_path("wheelmill") / "credentials.toml"
    try:
        with path.open("rb") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UsageError(
                    "credentials-open", f"{path} is open to other users of this machine", hint=f"chmod 600 {path}"
                )
            content = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):  # HOME=/dev/null is a service's
        if named:
            raise UsageError("credentials-absent", f"{CREDENTIALS_VARIABLE}: there is no {path}") from None
        return {}
    except OSError as error:
        raise UsageError("credentials-unreadable", f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError((f"{path}: {error}",)) from None
    return _read_entries(path, content)


def _read_entries(path: Path, content: Mapping[str, object]) -> Stored:
    entries: dict[Origin, Credential | str] = {}
    faults = []
    for key, entry in content.items():
        try:
            origin, address = Origin.of(key), urlsplit(key)
            if address.path.strip("/") or address.query or address.fragment or "@" in address.netloc:
                raise ValueError(f"expected a server and nothing beside it, such as {origin}")  # noqa: TRY301 - as below
            if origin in entries:
                raise ValueError(f"there is another table for {origin}")  # noqa: TRY301 - a fault as the others
            entries[origin] = _read_entry(entry)
        except ValueError as error:
            faults.append(f'{path}: "{without_credentials(key)}": {error}')
    if faults:
        raise ConfigurationError(tuple(faults))
    return entries


def _read_entry(entry: object) -> Credential | str:
    match entry:
        case {"token": str(token), **rest} if not rest:
            return Credential(username=None, secret=token)
        case {"username": str(username), "password": str(password), **rest} if not rest:
            return Credential(username=username, secret=password)
        case {"username": str(username), **rest} if not rest:
            return username
    raise ValueError("expected token, or username and password, or username alone where the keyring has the password")


def variable_for(origin: Origin) -> str | None:
    """Return the variable for a server's token; None if its name would be ambiguous.

    ``_`` stands for a dot, so that no other host has the same variable: ``WHEELMILL_TOKEN_INDEX_EXAMPLE``. The token is
    sent over https to the usual port only.
    """
    plain = origin.host.replace(".", "").isalnum()
    usual = origin.is_secure and origin.netloc == origin.host
    return _TOKEN + origin.host.upper().replace(".", "_") if plain and usual else None


def read_variables() -> Stored:
    """Read the tokens in variables."""
    tokens = {}
    for name, token in os.environ.items():
        host = name.removeprefix(_TOKEN).lower().replace("_", ".")
        if not (name.startswith(_TOKEN) and token and host.isascii()):
            continue
        try:
            origin = Origin.of(f"https://{host}")
            if variable_for(origin) == name:
                tokens[origin] = Credential(username=None, secret=token)
        except ValueError as error:
            raise UsageError("credentials-invalid", f"{name}: {error}") from None
    return tokens


def ask_netrc(origin: Origin) -> Credential | None:
    """Return the entry of a host in ``NETRC``, else ``~/.netrc``, but for ``default``; None over plain http."""
    if not origin.is_secure:
        return None
    try:
        login, _, password = netrc.netrc(os.environ.get("NETRC")).hosts.get(origin.host, ("", "", ""))
        return Credential(username=login, secret=password) if login or password else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (netrc.NetrcParseError, OSError, ValueError) as error:
        raise UsageError("netrc-invalid", f"netrc: {error}") from None


def ask_keyring(origin: Origin, username: str) -> str | None:
    """Return the ``keyring`` command's password, as uv and pip ask for it; None without it, and over plain http."""
    program = find_program("keyring") or shutil.which("keyring", path=Path(sys.executable).parent)
    if program is None or not origin.is_secure:
        return None
    with _asking:
        return _password_in_keyring(program, origin, username)


@functools.cache
def _password_in_keyring(program: str, origin: Origin, username: str) -> str | None:
    environment = dict(os.environ) | {"PYTHONWARNINGS": "ignore", "PYTHONIOENCODING": "utf-8"}
    for service in (str(origin), origin.netloc):
        try:
            printed = process.run([program, "get", service, username], env=environment, timeout=_KEYRING_SECONDS)
        except WheelmillError:  # no password, or a locked keyring
            continue
        return printed.splitlines()[-1] if printed else ""
    return None


def ask_github(api: Origin) -> Credential | None:
    """Return the token for GitHub's REST API, from ``GITHUB_TOKEN`` or else from the gh command."""
    token = os.environ.get("GITHUB_TOKEN")
    if not token and (program := find_program("gh")):
        with _asking:
            token = _token_of_gh(program, api.host.removeprefix("api."))
    try:
        return Credential(username=None, secret=token) if token else None
    except ValueError as error:
        raise UsageError("token-invalid", f"GITHUB_TOKEN: {error}") from None


@functools.cache
def _token_of_gh(program: str, host: str) -> str | None:
    try:
        return process.run([program, "auth", "token", "--hostname", host], timeout=_GH_SECONDS).strip()
    except WheelmillError:  # gh is not logged in
        return None


Credentials = Callable[[str], str | None]
"""Gives the Authorization header for a URL."""

_given: Final[dict[Origin, Credential]] = {}
"""Credentials from URLs that this process was given."""
_of_variables: Final[dict[Origin, Credential]] = {}
"""Credentials from variables that such URLs name."""
_variables: Final[dict[Origin, dict[str, None]]] = {}
"""Variables that URLs name in place of a user and a password: ``${INDEX_USER}:${INDEX_PASSWORD}``."""


def with_index_variables(url: str, prefix: str, name: str) -> str:
    """Name the variables with the credential of an index in its URL: ``UV_INDEX_<NAME>_USERNAME`` and ``_PASSWORD``."""
    variable = f"{prefix}_{re.sub('[^A-Z0-9]', '_', name.upper())}"
    is_open = prefix and name and not _USERINFO.search(url)
    return url.replace("://", f"://${{{variable}_USERNAME}}:${{{variable}_PASSWORD}}@", 1) if is_open else url


def keep_credential(url: str) -> str:
    """Remove user and password from a URL that a person gave, and send them to its server from now on.

    The returned URL may be shown and stored. Any other text only loses its user and password. Variables in them are
    read for a secure connection only; of two URLs for a server, the first that has any set counts.
    """
    try:
        origin = Origin.of(url)
    except ValueError:
        return without_credentials(url)
    if names := _VARIABLE.findall("".join(_USERINFO.findall(url))):
        _variables.setdefault(origin, {}).update(dict.fromkeys(names))
        known = dict(os.environ)
        if is_secure(url) and any(map(known.get, names)):
            with_values = _VARIABLE.sub(lambda name: quote(known.get(name[1], ""), safe=""), url)
            if credential := _credential_in(with_values, origin):
                _of_variables.setdefault(origin, credential)
        return without_credentials(url)
    credential = _credential_in(url, origin)
    if credential and _given.setdefault(origin, credential) != credential:
        raise UsageError(
            "credentials-ambiguous", f"two URLs have different credentials for {origin}", hint="give both the same"
        )
    return without_credentials(url)


def credential_for(url: str) -> Credential | None:
    """Return the credential for the server of a URL, from the first source that has one.

    Sources: the URL itself; URLs given to `keep_credential`; ``WHEELMILL_TOKEN_<HOST>``; ``credentials.toml``; the
    variables that such URLs name; ``GITHUB_TOKEN`` or the gh command for GitHub's API; netrc. A keyring is queried for
    a user without a password.
    Another text than a URL of http or https is a ValueError.
    """
    origin = Origin.of(url)
    if credential := _credential_in(url, origin):
        return credential
    if stored := _stored_credentials().get(origin):
        return _unlock(origin, stored)
    of_github = ask_github(origin) if origin == Origin.of(github_api()) else None
    return of_github or ask_netrc(origin)


def known_credentials() -> Mapping[Origin, Credential]:
    """Return the credentials that can be listed: all but those of ``GITHUB_TOKEN``, netrc and the gh command."""
    return {origin: _unlock(origin, stored) for origin, stored in _stored_credentials().items()}


def authorization_for(url: str) -> str | None:
    """Return the Authorization header for a URL; see `credential_for`."""
    credential = credential_for(url)
    return credential.authorization if credential else None


def no_credentials(_url: str) -> None:
    """Send no credential."""


def own_credentials(index: str) -> Credentials:
    """Provide an index's credential to its own server only."""
    authorization, origin = authorization_for(index), Origin.of(index)
    return lambda url: authorization if Origin.of(url) == origin else None


def github_api() -> str:
    """Return the URL of GitHub's REST API; GitHub Enterprise has its own."""
    return os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")


def variables_for(origin: Origin) -> list[str]:
    """Return the variables that may have a credential for a server."""
    return [*filter(None, [variable_for(origin)]), *_variables.get(origin, ())]


def _stored_credentials() -> Stored:
    return {**_of_variables, **read_credentials_file(), **read_variables(), **_given}


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
    """Return the user and password in a URL; a server may need a user alone."""
    address = urlsplit(url)
    if address.username is None:
        return None
    username = unquote(address.username)
    password = unquote(address.password or "") or ask_keyring(origin, username) or ""
    return _checked_credential(username, password, f"the URL of {origin}")


def _checked_credential(username: str, password: str, place: str) -> Credential:
    try:
        return Credential(username=username, secret=password)
    except ValueError as error:
        raise UsageError("credentials-invalid", f"{place}: {error}") from None
