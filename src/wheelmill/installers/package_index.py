"""The package index that pip and uv of this machine use, and its source distributions.

https://packaging.python.org/en/latest/specifications/source-distribution-format/
"""

from __future__ import annotations

import functools
import tarfile
import zlib
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Self

from wheelmill.errors import NetworkError, UnreadableError
from wheelmill.installers.index_settings import configured_index
from wheelmill.installers.uv import compile_requirements, find_uv
from wheelmill.system import process
from wheelmill.web.credentials import without_credentials
from wheelmill.web.json_pages import read_project_detail
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE, Link, Page, absolute, read_html, with_sound_links

if TYPE_CHECKING:
    from wheelmill.names import ProjectName
    from wheelmill.web.client import Answer, Web


_ACCEPT: Final = ", ".join((JSON_TYPE, *HTML_TYPES))
_SDIST_SUFFIXES: Final = (".tar.gz", ".zip")
_SUFFIXES: Final = (".whl", *_SDIST_SUFFIXES)


def open_index() -> Web:
    """Connect to the package index."""
    from wheelmill.web.client import ATTENDED, Web  # an installer that is only run needs no client

    return Web(retries=ATTENDED)


def files_of(project: ProjectName, web: Web, index: str | None = None) -> tuple[Link, ...]:
    """List a project's files with absolute URLs; none if the index, by default the configured one, lacks it."""
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
    return configured_index() or default_index()


@functools.cache
def default_index() -> str:
    """Return the URL of the index that uv uses where none is configured; without uv, a NetworkError."""
    if uv := find_uv():
        options = ("--emit-index-url", "--no-config", "--offline")
        run = functools.partial(_ask, uv)
        for line in compile_requirements((), *options, output="requirements.txt", run=run).splitlines():
            option, _, url = line.partition(" ")
            if option == "--index-url":
                return url
    raise NetworkError(
        "index-unknown",
        "no package index is configured, and there is no uv that knows one",
        hint="set UV_DEFAULT_INDEX or PIP_INDEX_URL, or install uv",
    )


def _ask(uv: Path, arguments: Sequence[str | Path], folder: Path) -> str:
    return process.run([uv, *arguments], cwd=folder)


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
    """Unpack a source distribution into an empty folder and return its top folder, or raise UnreadableError."""
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
