"""Package index that pip and uv of this machine are configured with, and its source distributions.

Only settings that choose the index apply. Those that choose a version do not: a wheel is built and tested with the
versions that its project requires. A constraint in ``/etc/xdg/pip/pip.conf`` or ``uv.toml`` would decide which torch a
build links to, and only one of pip and uv would obey it.

https://pip.pypa.io/en/stable/topics/configuration/
https://docs.astral.sh/uv/concepts/configuration-files/
https://packaging.python.org/en/latest/specifications/source-distribution-format/
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import tarfile
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Self

from platformdirs import user_config_path

from wheelmill.errors import NetworkError, ProcessError, UnreadableError, UsageError
from wheelmill.system import process
from wheelmill.web.credentials import keep_credential, without_credentials
from wheelmill.web.json_pages import read_project_detail
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Link, Page, absolute, read_html, with_sound_links

if TYPE_CHECKING:
    from wheelmill.names import ProjectName
    from wheelmill.web.client import Answer, Web


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
    """Return this process's environment with pip and uv variables reduced to those that choose the index.

    The variables include the index settings of pip's configuration files, which pip then does not read. uv needs
    `uv_index_settings` in a file.
    """
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


_ACCEPT: Final = ", ".join((JSON_TYPE, *HTML_TYPES))
_SDIST_SUFFIXES: Final = (".tar.gz", ".zip")
_SUFFIXES: Final = (".whl", *_SDIST_SUFFIXES)


def configured_index() -> str | None:
    """Return the index URL configured for pip or uv, keeping its user and password for its server.

    None if neither has one; libraries then use their own default.
    """
    variables = (os.environ.get(name) for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"))
    url = next(filter(None, variables), None) or pip_configuration().get("index-url")
    return keep_credential(url) if url else None


def open_index() -> Web:
    """Connect to the package index."""
    from wheelmill.web.client import ATTENDED, Web  # an installer that is only run needs no client

    return Web(retries=ATTENDED)


def files_of(project: ProjectName, web: Web, index: str | None = None) -> tuple[Link, ...]:
    """List the files of a project that a program may choose, with absolute URLs; empty if the index lacks the project.

    `index` is the URL of a simple index that replaces the configured one. An answer without a page of the simple API
    is a NetworkError.
    """
    answer = web.get(f"{(index or _index()).rstrip('/')}/{project}/", accept=_ACCEPT)
    # torch's own indexes are in an object store, which answers 403 for a missing page.
    absent = {HTTPStatus.NOT_FOUND, *([HTTPStatus.FORBIDDEN] if index else [])}
    if answer.status in absent:
        return ()
    try:
        page = _read(answer)
    except ValueError as error:
        where = without_credentials(index) if index else "the package index"
        raise NetworkError("no-project-page", f"{where} answers with no page of {project}: {error}") from None
    resolved = ((link, absolute(page.base, link.url)) for link in with_sound_links(page, _SUFFIXES).links)
    return tuple(link._replace(url=url) for link, url in resolved if url)


def has_project(project: ProjectName, web: Web) -> bool:
    """True if the package index has a project of this name, even one without files."""
    answer = web.get(f"{_index().rstrip('/')}/{project}/", accept=_ACCEPT)
    if not answer.ok and answer.status != HTTPStatus.NOT_FOUND:
        raise NetworkError(
            "project-unknown", f"the package index does not say whether it has {project}: {answer.outcome}"
        )
    return answer.ok


def sdists_of(project: ProjectName) -> tuple[Link, ...]:
    """List a project's source distributions, yanked ones included."""
    with open_index() as web:
        files = files_of(project, web)
    return tuple(file for file in files if file.filename.endswith(_SDIST_SUFFIXES))


def _index() -> str:
    if index := configured_index():
        return index
    from pypi_simple import PYPI_SIMPLE_ENDPOINT  # factory extra

    return PYPI_SIMPLE_ENDPOINT


def _read(answer: Answer) -> Page:
    if not answer.ok:
        raise ValueError(answer.outcome)
    if answer.content_type in HTML_TYPES:
        page = read_html(answer.content, answer.url)
    elif answer.content_type == JSON_TYPE:
        page = read_project_detail(answer.content, answer.url)
    else:
        raise ValueError(f"its content type is {answer.content_type or 'missing'}")
    if (page.version or "1").partition(".")[0] != "1":
        raise ValueError(f"it is of version {page.version} of the simple API")
    return page


MAX_MEMBERS: Final = 100_000
MAX_UNPACKED: Final = 4 << 30
"""Bytes of all files together."""
MAX_HEADER: Final = 1 << 20
"""Bytes of a member's extended header, such as a long name, which tarfile reads at once."""


def unpack_sdist(archive: Path, destination: Path) -> Path:
    """Unpack a source distribution into an empty folder and return its top-level folder.

    An archive of more than one folder, or one that exceeds the limits or would write outside, is an UnreadableError.
    """
    try:
        with _open(archive) as tar:
            _check_members(tar, archive.name)
            # https://docs.python.org/3/library/tarfile.html#hints-for-further-verification: 3.11.2 has no data_filter.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(destination)  # noqa: S202 - every member was checked
    except (tarfile.TarError, zlib.error, EOFError, OSError, OverflowError, RecursionError, ValueError) as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError("sdist-unreadable", f"{archive.name} cannot be unpacked: {error}") from None
    unpacked = list(destination.iterdir())
    if len(unpacked) != 1 or not unpacked[0].is_dir():
        raise UnreadableError(
            "sdist-shape", f"{archive.name} does not hold one folder and nothing else, as PEP 517 wants it"
        )
    return unpacked[0]


class _Member(tarfile.TarInfo):
    """Tar member whose header is checked before tarfile reads the data it announces."""

    def _proc_member(self, tar: tarfile.TarFile) -> Self:
        """Read the data after the header; tarfile's own comments name this as the method to override.

        `frombuf` comes earlier and is public, but CPython's security releases of 2026 no longer call it.
        """
        if not self.isreg() and self.size > MAX_HEADER:
            raise ValueError(f"a member has {self.size} bytes and is no file")
        return super()._proc_member(tar)  # type: ignore[misc,no-any-return]


def _open(archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(archive, tarinfo=_Member)
    except tarfile.TarError:
        message = f"{archive.name} is not a tar archive, which PEP 625 wants a source distribution to be"
        raise UnreadableError("sdist-not-a-tar", message) from None


def _check_members(tar: tarfile.TarFile, name: str) -> None:
    """Refuse members that are neither file nor folder or lead outside, and archives larger than any real source."""
    size = 0
    for number, member in enumerate(tar):
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise UnreadableError("member-unsafe", f"{name} has an unsafe member {member.name!r}")
        size += member.size
        if number == MAX_MEMBERS or size > MAX_UNPACKED:
            raise UnreadableError(
                "sdist-too-large", f"{name} holds more than {MAX_MEMBERS} files or {MAX_UNPACKED >> 30} GiB"
            )
