"""Where people keep credentials: a file of ours, variables, netrc, a keyring, GitHub's own command."""

from __future__ import annotations

import functools
import netrc
import os
import shutil
import stat
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from platformdirs import user_config_path

from wheelmill.errors import ConfigurationError, UsageError, WheelmillError
from wheelmill.system import process
from wheelmill.web.origin import Credential, Origin, without_credentials

CREDENTIALS_VARIABLE: Final = "WHEELMILL_CREDENTIALS"
"""Names the file in the place of ``credentials.toml`` in the folder of settings."""
_TOKEN: Final = "WHEELMILL_TOKEN_"  # noqa: S105 - the beginning of a variable's name
_KEYRING_SECONDS: Final = 60.0
"""Seconds for a keyring: a locked one asks its owner."""
_GH_SECONDS: Final = 10.0
_asking: Final = threading.Lock()
"""Held while a program is asked, so that parallel requests ask it once."""

Stored = Mapping[Origin, Credential | str]
"""Credentials by server; a text is the name of a user whose password is in the keyring."""


def read_credentials_file() -> Stored:
    """Read ``credentials.toml``: a table for each origin, with a ``token``, or a ``username`` and its ``password``.

    Raises:
        UsageError: others may read the file, or it is named and cannot be read.
        ConfigurationError: it has faults; each is told with its key and without its value.
    """
    import tomllib  # noqa: PLC0415 - hardly anybody has such a file

    named = os.environ.get(CREDENTIALS_VARIABLE)
    path = Path(named) if named else user_config_path("wheelmill") / "credentials.toml"
    try:
        with path.open("rb") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UsageError(
                    "credentials-open", f"{path} is open to other users of this machine", hint=f"chmod 600 {path}"
                )
            content = tomllib.load(file)
    except FileNotFoundError:
        if named:
            raise UsageError("credentials-absent", f"{CREDENTIALS_VARIABLE}: there is no {path}") from None
        return {}
    except OSError as error:
        raise UsageError("credentials-unreadable", f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError((f"{path}: {error}",)) from None
    return _read_entries(path, content)


def _read_entries(path: Path, content: Mapping[str, object]) -> Stored:
    found: dict[Origin, Credential | str] = {}
    faults = []
    for key, entry in content.items():
        try:
            origin = _origin_of_key(key)
            again = origin in found
            found[origin] = _read_entry(entry)
        except ValueError as error:
            faults.append(f'{path}: "{without_credentials(key)}": {error}')
        else:
            faults += [f'{path}: "{key}": there is another table for {origin}'] if again else []
    if faults:
        raise ConfigurationError(tuple(faults))
    return found


def _origin_of_key(key: str) -> Origin:
    origin, address = Origin.of(key), urlsplit(key)
    if address.path.strip("/") or address.query or address.fragment or "@" in address.netloc:
        raise ValueError(f"expected a server and nothing beside it, such as {origin}")
    return origin


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
    """The variable that gives a token for a server; None for servers whose name it cannot tell from others.

    ``_`` stands for a dot, so that no other host has the same variable: ``WHEELMILL_TOKEN_INDEX_EXAMPLE``. It is sent
    over https to the usual port only.
    """
    plain = origin.host.replace(".", "").isalnum()
    usual = origin.is_secure and origin.netloc == origin.host
    return _TOKEN + origin.host.upper().replace(".", "_") if plain and usual else None


def read_variables() -> Stored:
    """The tokens that variables give.

    Raises:
        UsageError: one is no token.
    """
    found = {}
    for name, token in os.environ.items():
        host = name.removeprefix(_TOKEN).lower().replace("_", ".")
        if not (name.startswith(_TOKEN) and token and host.isascii()):
            continue
        try:
            origin = Origin.of(f"https://{host}")
            if variable_for(origin) == name:
                found[origin] = Credential(username=None, secret=token)
        except ValueError as error:
            raise UsageError("credentials-invalid", f"{name}: {error}") from None
    return found


def ask_netrc(origin: Origin) -> Credential | None:
    """What ``~/.netrc``, or the file that ``NETRC`` names, has for a host, whatever the port; for https only.

    An entry for any host (``default``) belongs to none.

    Raises:
        UsageError: the file cannot be read.
    """
    if not origin.is_secure:
        return None
    try:
        login, _, password = netrc.netrc(os.environ.get("NETRC")).hosts.get(origin.host, ("", "", ""))
        return Credential(username=login, secret=password) if login or password else None
    except FileNotFoundError:
        return None
    except (netrc.NetrcParseError, OSError, ValueError) as error:
        raise UsageError("netrc-invalid", f"netrc: {error}") from None


def ask_keyring(origin: Origin, username: str) -> str | None:
    """The password that the ``keyring`` command has for a user of a server; None without it, and over plain http.

    As uv and pip do, it is asked for the URL and for the host (https://pypi.org/project/keyring/).
    """
    program = shutil.which("keyring") or shutil.which("keyring", path=Path(sys.executable).parent)
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
        except WheelmillError:  # it has none, or is locked
            continue
        return printed.splitlines()[-1] if printed else ""
    return None


def ask_github(api: Origin) -> Credential | None:
    """The token for GitHub's REST API, of ``GITHUB_TOKEN`` or else of the gh command.

    Raises:
        UsageError: it is no token.
    """
    token = os.environ.get("GITHUB_TOKEN")
    if not token and (program := shutil.which("gh")):
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
    except WheelmillError:  # nobody is logged in
        return None
