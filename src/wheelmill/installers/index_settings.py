"""Package index that pip and uv of this machine are configured with.

Only settings that choose the index apply. Those that choose a version do not: a wheel is built and tested with the
versions that its project requires. A constraint in ``/etc/xdg/pip/pip.conf`` or ``uv.toml`` would decide which torch a
build links to, and only one of pip and uv would obey it.
https://pip.pypa.io/en/stable/topics/configuration/
https://docs.astral.sh/uv/concepts/configuration-files/
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from platformdirs import user_config_path

from wheelmill.errors import ProcessError, UsageError
from wheelmill.system import process
from wheelmill.web.credentials import keep_credential

UV_CONFIG_FILE: Final = "UV_CONFIG_FILE"
"""Names the one file that uv takes its settings from."""
_ALLOWED: Final = frozenset(
    {
        *("index", "default-index", "index-url", "extra-index-url", "find-links", "no-index", "index-strategy"),
        *("cert", "client-cert", "trusted-host", "allow-insecure-host", "insecure-host", "native-tls", "system-certs"),
        *("keyring-provider", "credentials-dir", "proxy", "http-proxy", "https-proxy", "no-proxy", "offline"),
        *("timeout", "default-timeout", "http-timeout", "retries", "http-retries"),
        *("cache-dir", "no-cache", "link-mode", "concurrent-downloads", "concurrent-installs"),
        *("python-preference", "python-downloads", "python-install-dir", "python-install-mirror"),
    }
)
"""Options of pip and uv for the places of packages and interpreters, for access to them, and for caches."""

_PLACES: Final = frozenset({"index", "index-url", "extra-index-url", "find-links"})
"""Settings of uv that are URLs, or paths from the folder of their file."""


def index_only_variables() -> dict[str, str]:
    """Return the environment with only those settings of pip and uv that choose the index; uv needs a file, too."""
    allowed = {name: value for name, value in pip_configuration().items() if name in _ALLOWED}
    from_files = {f"PIP_{name.upper().replace('-', '_')}": value for name, value in allowed.items()}
    kept = {name: value for name, value in os.environ.items() if _is_allowed(name)}
    return {**from_files, **kept, "PIP_CONFIG_FILE": os.devnull}


def _is_allowed(variable: str) -> bool:
    """True if a variable chooses the index, or is no setting of pip or uv."""
    installer, _, option = variable.partition("_")
    if installer not in ("PIP", "UV"):
        return True
    # UV_INDEX_NAME_USERNAME configures the index called NAME.
    return option.startswith("INDEX_") or option.lower().replace("_", "-") in _ALLOWED


@functools.cache  # pip takes half a second to read its files
def pip_configuration() -> Mapping[str, str]:
    """Return the ``pip install`` settings of pip's configuration files; empty if this interpreter has no pip."""
    if os.environ.get("PIP_CONFIG_FILE") == os.devnull:  # pip's documented way to disable all files
        return {}
    try:
        listed = process.run([sys.executable, "-I", "-m", "pip", "config", "list"])
    except ProcessError:
        return {}
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    return {
        name.removeprefix(section): str(ast.literal_eval(value))
        for section in ("global.", "install.")  # install. overrides global.
        for name, value in settings.items()
        if name.startswith(section)
    }


def uv_index_settings() -> dict[str, Any]:
    """Return the index settings of this user's and system's uv configuration files, in the form of a ``uv.toml``."""
    settings: dict[str, Any] = {}
    for path in _uv_files():
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError("settings-unreadable", f"{path} cannot be read: {error}") from None
        settings = _combined(settings, _allowed(content, path.parent.absolute()))
    return settings


def _uv_files() -> Iterator[Path]:
    """Yield the configuration files that uv reads outside a project, highest precedence first."""
    if named := os.environ.get(UV_CONFIG_FILE):
        yield Path(named)
    elif not os.environ.get("UV_NO_CONFIG"):
        folders = [Path(folder, "uv") for folder in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if folder]
        user, *system = (folder / "uv.toml" for folder in (user_config_path("uv"), *folders, Path("/etc/uv")))
        yield from ([user] if os.access(user, os.R_OK) else [])
        yield from [path for path in system if os.access(path, os.R_OK)][:1]


def _allowed(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the allowed settings of one file, with relative paths made absolute from its folder."""
    kept = {
        name: _absolute(value, folder) if name in _PLACES else value
        for name, value in settings.items()
        if name in _ALLOWED
    }
    if isinstance(of_pip := settings.get("pip"), dict) and (kept_of_pip := _allowed(of_pip, folder)):
        kept["pip"] = kept_of_pip
    return kept


def _absolute(place: Any, folder: Path) -> Any:  # noqa: ANN401 - TOML
    match place:
        case str():
            return place if "://" in place else str(folder / place)
        case list():
            return [_absolute(each, folder) for each in place]
        case {"url": url, **rest}:
            return {**rest, "url": _absolute(url, folder)}
        case _:
            return place


def _combined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Combine the settings of two files as uv does: join lists, else the first file wins."""

    def combine(name: str) -> Any:  # noqa: ANN401 - TOML
        mine, other = first.get(name), second.get(name)
        if isinstance(mine, list) and isinstance(other, list):
            return [*mine, *other]
        if isinstance(mine, dict) and isinstance(other, dict):
            return _combined(mine, other)
        return other if mine is None else mine

    return {name: combine(name) for name in {**second, **first}}


def configured_index() -> str | None:
    """Return the index configured for uv or pip, whose user and password stay with its server; None without one."""
    variables = (os.environ.get(name) for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"))
    url = next(filter(None, variables), None) or _index_of_uv() or pip_configuration().get("index-url")
    return keep_credential(url) if url else None


def _index_of_uv() -> str | None:
    """Return the default index in uv's configuration files; what is there for ``uv pip`` alone comes first."""
    settings = uv_index_settings()
    for part in (settings.get("pip", {}), settings):
        indexes = part["index"] if isinstance(part.get("index"), list) else []
        defaults = [index.get("url") for index in indexes if isinstance(index, dict) and index.get("default")]
        if url := next(iter(defaults), part.get("index-url")):
            return str(url)
    return None
