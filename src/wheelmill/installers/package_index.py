"""The package index of this machine, as pip or uv would ask it, and source distributions unpacked within limits.

https://packaging.python.org/en/latest/specifications/source-distribution-format/
"""

from __future__ import annotations

import os
import tarfile
import zlib
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Self

from wheelmill.errors import NetworkError, UnreadableError
from wheelmill.installers.index_settings import pip_configuration
from wheelmill.web.credentials import keep_credential, without_credentials
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Link, Page, absolute, with_sound_links

if TYPE_CHECKING:
    from wheelmill.names import ProjectName
    from wheelmill.web.client import Answer, Web


_ACCEPT: Final = ", ".join((JSON_TYPE, *HTML_TYPES))
_SDIST_SUFFIXES: Final = (".tar.gz", ".zip")
_SUFFIXES: Final = (".whl", *_SDIST_SUFFIXES)


def configured_index() -> str | None:
    """The URL that pip or uv is configured with; None when neither is, and libraries use their own default.

    A user and a password in it are kept for its server.
    """
    url = _configured_url()
    return keep_credential(url) if url else None


def _configured_url() -> str | None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if url := os.environ.get(name):
            return url
    return pip_configuration().get("index-url")


def open_index() -> Web:
    """Connect to the package index."""
    from wheelmill.web.client import ATTENDED, Web  # noqa: PLC0415 - an installer that is only run needs no client

    return Web(retries=ATTENDED)


def files_of(project: ProjectName, web: Web, index: str | None = None) -> tuple[Link, ...]:
    """List the files of a project that a program may choose, their URLs absolute.

    Args:
        project: none, when the index does not have it.
        web: a connection to the index.
        index: the URL of another simple index than the one that this machine is set to.

    Raises:
        NetworkError: the index does not answer, or not with a page of the simple API.
    """
    answer = web.get(f"{(index or _index()).rstrip('/')}/{project}/", accept=_ACCEPT)
    # torch's own indexes are in an object store, which says so of what it does not have.
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
    """Whether the package index has a project of this name, even one without files.

    Raises:
        NetworkError: the index says neither that it has it nor that it has not.
    """
    answer = web.get(f"{_index().rstrip('/')}/{project}/", accept=_ACCEPT)
    if not answer.ok and answer.status != HTTPStatus.NOT_FOUND:
        raise NetworkError(
            "project-unknown", f"the package index does not say whether it has {project}: {answer.outcome}"
        )
    return answer.ok


def sdists_of(project: ProjectName) -> tuple[Link, ...]:
    """List a project's source distributions, yanked ones included.

    Raises:
        NetworkError: see `files_of`.
    """
    with open_index() as web:
        files = files_of(project, web)
    return tuple(file for file in files if file.filename.endswith(_SDIST_SUFFIXES))


def _index() -> str:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT  # noqa: PLC0415 - factory extra

    return configured_index() or PYPI_SIMPLE_ENDPOINT


def _read(answer: Answer) -> Page:
    """Read a project's page of either form.

    Raises:
        ValueError: it has neither, or is of a newer version of the API (PEP 629).
    """
    from wheelmill.web.json_pages import read_project_detail  # noqa: PLC0415 - the same
    from wheelmill.web.pages import read_html  # noqa: PLC0415 - its parser takes long to load

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
"""Bytes of what a member says of itself beyond its header, which tarfile reads at once: a long name, and the like."""


def unpack_sdist(archive: Path, destination: Path) -> Path:
    """Unpack a source distribution into an empty folder.

    Returns:
        The one folder that it holds.

    Raises:
        UnreadableError: it is no archive of one folder, goes beyond the limits, or would write somewhere else.
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
    found = list(destination.iterdir())
    if len(found) != 1 or not found[0].is_dir():
        raise UnreadableError(
            "sdist-shape", f"{archive.name} does not hold one folder and nothing else, as PEP 517 wants it"
        )
    return found[0]


class _Member(tarfile.TarInfo):
    """A member whose header is checked before tarfile reads what it announces."""

    def _proc_member(self, tar: tarfile.TarFile) -> Self:
        """Read what follows the header; tarfile's own comments name this as the method to override.

        `frombuf` comes earlier and is public, but CPython's security releases of 2026 no longer call it.

        Raises:
            ValueError: more follows than `MAX_HEADER`.
        """
        if not self.isreg() and self.size > MAX_HEADER:
            raise ValueError(f"a member has {self.size} bytes and is no file")
        return super()._proc_member(tar)  # type: ignore[misc,no-any-return]


def _open(archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(archive, tarinfo=_Member)
    except tarfile.TarError:
        message = f"{archive.name} is not a tar archive, which PEP 625 wants a source distribution to be"
        raise UnreadableError("sdist-too-large", message) from None


def _check_members(tar: tarfile.TarFile, name: str) -> None:
    """Refuse what is neither file nor folder, what leads outside, and more than any real source has."""
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
