"""The settings of this machine's pip and uv that choose the index, without those that choose a version.

A wheel is built and tested with the versions that its project asks for, on every machine. A constraint in
``/etc/xdg/pip/pip.conf`` or in ``uv.toml`` would otherwise decide which torch a build links to, and only one of pip and
uv would obey it.

https://pip.pypa.io/en/stable/topics/configuration/, https://docs.astral.sh/uv/concepts/configuration-files/
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
"""Options of pip and uv that say where packages and interpreters are, how they are reached and where they are kept."""

_PLACES: Final = frozenset({"index", "index-url", "extra-index-url", "find-links"})
"""Settings of uv that are URLs, or paths from the folder of their file."""


def index_only_variables() -> dict[str, str]:
    """This process's environment, in which pip's and uv's variables only choose the index.

    pip reads no configuration file with them: what its files say of the index is in the variables. uv has to be given
    `uv_index_settings` in a file.
    """
    kept = {name: value for name, value in os.environ.items() if _is_allowed(name)}
    return {**_pip_variables(), **kept, "PIP_CONFIG_FILE": os.devnull}


def _is_allowed(variable: str) -> bool:
    """Whether a variable is no setting of pip or uv, or one that chooses the index."""
    installer, _, option = variable.partition("_")
    if installer not in ("PIP", "UV"):
        return True
    # UV_INDEX_NAME_USERNAME belongs to the index of that name.
    return option.startswith("INDEX_") or option.lower().replace("_", "-") in _ALLOWED


@functools.cache  # files of this machine, which pip takes half a second to read
def pip_configuration() -> Mapping[str, str]:
    """What pip's configuration files say to ``pip install``; nothing where no pip is beside this interpreter."""
    if os.environ.get("PIP_CONFIG_FILE") == os.devnull:  # pip's own word for reading none of them
        return {}
    try:
        listed = process.run([sys.executable, "-I", "-m", "pip", "config", "list"])
    except ProcessError:
        return {}
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    return {
        name.removeprefix(section): str(ast.literal_eval(value))
        for section in ("global.", "install.")  # the later one wins
        for name, value in settings.items()
        if name.startswith(section)
    }


def _pip_variables() -> dict[str, str]:
    return {
        f"PIP_{name.upper().replace('-', '_')}": value
        for name, value in pip_configuration().items()
        if name in _ALLOWED
    }


def uv_index_settings() -> dict[str, Any]:
    """What uv's configuration files of this user and this system say of the index, as a ``uv.toml`` has it.

    Raises:
        UsageError: one of them cannot be read.
    """
    settings: dict[str, Any] = {}
    for path in _uv_files():
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError("settings-unreadable", f"{path} cannot be read: {error}") from None
        settings = _combined(settings, _allowed(content, path.parent.absolute()))
    return settings


def _uv_files() -> Iterator[Path]:
    """The configuration files that uv reads outside of a project, the one that wins first."""
    if named := os.environ.get(UV_CONFIG_FILE):
        yield Path(named)
    elif not os.environ.get("UV_NO_CONFIG"):
        folders = [Path(folder, "uv") for folder in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if folder]
        user, *system = (folder / "uv.toml" for folder in (user_config_path("uv"), *folders, Path("/etc/uv")))
        yield from ([user] if os.access(user, os.R_OK) else [])
        yield from [path for path in system if os.access(path, os.R_OK)][:1]


def _allowed(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The settings of one file that are allowed, with the paths that are relative to its folder made absolute."""
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
    """Settings of two files as uv combines them: lists are joined, of all else the first counts."""

    def combine(name: str) -> Any:  # noqa: ANN401 - TOML
        mine, other = first.get(name), second.get(name)
        if isinstance(mine, list) and isinstance(other, list):
            return [*mine, *other]
        if isinstance(mine, dict) and isinstance(other, dict):
            return _combined(mine, other)
        return other if mine is None else mine

    return {name: combine(name) for name in {**second, **first}}
