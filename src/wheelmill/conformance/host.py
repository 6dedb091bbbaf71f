"""Observations about the host of an index, which no rule demands, but which make installers fast or slow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from wheelmill.conformance.violation import Observation
from wheelmill.errors import NetworkError
from wheelmill.web.client import Answer, Web
from wheelmill.web.credentials import without_credentials
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE

_SHOWN: Final = 200
"""Characters of a header."""


def observe(web: Web, page: str, file: str | None) -> Iterator[Observation]:
    """Ask for one page and one file in the ways that installers do; failures are not reported here.

    Args:
        web: asks the servers.
        page: URL of a project's page.
        file: URL of a file; None where there is none.
    """
    with suppress(NetworkError):
        yield from _of_page(web, page)
    if file is not None:
        with suppress(NetworkError):
            yield from _of_file(web, file)


def _of_page(web: Web, page: str) -> Iterator[Observation]:
    url = without_credentials(page)
    answer = web.get(page, accept=JSON_TYPE)
    other = web.get(page, accept=", ".join(HTML_TYPES))
    if answer.ok and other.ok:
        yield Observation(topic="vary", url=url, message=_choice(answer, other))
        yield Observation(topic="cache-control", url=url, message=_caching(answer))
        packed = _header(answer, "Content-Encoding") or f"none: {len(answer.content)} bytes are sent as they are"
        yield Observation(topic="compression", url=url, message=packed)


def _of_file(web: Web, file: str) -> Iterator[Observation]:
    url = without_credentials(file)
    part = web.get(file, span="0-0")
    if not part.ok:
        return
    host = urlsplit(part.url).netloc
    by = "" if host == urlsplit(url).netloc else f", after a redirect to {host}"
    given = (
        "a span of bytes" if part.status == HTTPStatus.PARTIAL_CONTENT else "the whole file where a span is asked for"
    )
    yield Observation(topic="ranges", url=url, message=f"gives {given}{by}")
    yield Observation(topic="cache-control", url=url, message=_caching(part))
    yield Observation(topic="head", url=url, message=f"answers {web.get(file, method='HEAD').outcome}")


def _choice(json: Answer, html: Answer) -> str:
    """How a host chooses between the forms of a page."""
    if json.content_type == html.content_type:
        return f"gives {json.content_type or 'no content type'} whatever is asked for"
    named = {part.strip().lower() for part in ",".join((_header(json, "Vary"), _header(html, "Vary"))).split(",")}
    if named & {"accept", "*"}:
        return "gives JSON or HTML as it is asked, and says Vary: Accept"
    return "gives JSON or HTML as it is asked, and does not say Vary: Accept: a cache may give one for the other"


def _caching(answer: Answer) -> str:
    """How long an answer may be kept, and how it can be asked for again."""
    kept = _header(answer, "Cache-Control") or "none: how long it is kept is left to clients"
    validators = [name for name in ("ETag", "Last-Modified") if _header(answer, name)]
    again = f"is asked for again by {' or '.join(validators)}" if validators else "is sent whole every time"
    return f"{kept}; {again}"


def _header(answer: Answer, name: str) -> str:
    return answer.headers.get(name, "")[:_SHOWN]
