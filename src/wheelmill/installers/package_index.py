"""The package index of this machine: the one that pip or uv would ask."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from wheelmill.errors import NetworkError
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
