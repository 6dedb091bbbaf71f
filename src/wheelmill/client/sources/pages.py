"""Bringing the pages of sources up to date, all at once."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from wheelmill.client.sources.links import group_links, read_page
from wheelmill.client.sources.page_cache import CachedPage, PageCache
from wheelmill.errors import NetworkError, UnreadableError
from wheelmill.web.credential_stores import variable_for
from wheelmill.web.credentials import github_api
from wheelmill.web.origin import Origin, without_credentials
from wheelmill.web.pages import HTML_TYPES, JSON_TYPE

if TYPE_CHECKING:
    from wheelmill.web.answer import Answer
    from wheelmill.web.client import Web

_LIFETIME: Final = 600.0
"""Seconds, where a server does not say; GitHub Pages says as much."""
_MAX_FAULTS: Final = 5
"""Of a page that are told one by one."""
_MAX_CHAIN: Final = 100
"""Pages that follow one another. GitHub gives a thousand releases at most, thirty a page."""
_SIMPLE: Final = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_GITHUB: Final = "application/vnd.github+json"


class Pages:
    """The pages of this run: each is asked for once at most."""

    def __init__(self, cache: PageCache, *, offline: bool = False, refresh: bool = False) -> None:
        """Read pages.

        Args:
            cache: the cache of pages that were read before.
            offline: whether to do with what the cache has.
            refresh: whether to ask for pages that are still fresh, too.
        """
        self.cache = cache
        self.offline = offline
        self._refresh = refresh
        self._asked: set[str] = set()
        self.warnings: list[str] = []
        """Servers that did not answer, or answered with something else."""
        self.unanswered: list[str] = []
        """Pages that servers did not give, and the cache does not have."""

    def update(self, urls: Iterable[str]) -> None:
        """Bring pages up to date, and those that follow them."""
        pending = [url for url in dict.fromkeys(urls) if url not in self._asked]
        for _ in range(_MAX_CHAIN):
            self._asked.update(pending)
            self._ask([url for url in pending if not self._is_current(url)])
            pages = [page for url in pending if (page := self.cache.page(url))]
            pending = [page.following for page in pages if page.following and page.following not in self._asked]
            if not pending:
                return
        self.warnings += (f"{url}: more than {_MAX_CHAIN} pages lead to it" for url in pending)

    def chain(self, url: str) -> list[CachedPage]:
        """A page that was read, and those that follow it."""
        found: dict[int, CachedPage] = {}
        page = self.cache.page(url)
        while page and page.id not in found:
            found[page.id] = page
            page = self.cache.page(page.following) if page.following else None
        return list(found.values())

    def _is_current(self, url: str) -> bool:
        page = self.cache.page(url)
        if self.offline and page is None:
            self.warnings.append(f"{url} is not in the cache, and --offline was given")
        return self.offline or bool(page and page.fresh and not self._refresh)

    def _ask(self, urls: list[str]) -> None:
        if not urls:
            return
        from concurrent.futures import as_completed  # noqa: PLC0415 - not for what is fresh

        from wheelmill.web.client import PARALLEL, Web  # noqa: PLC0415 - the same
        from wheelmill.web.side_by_side import begin  # noqa: PLC0415 - the same

        known = {url: self.cache.page(url) for url in urls}
        with Web() as web:
            asked = dict(
                zip(begin(lambda url: _answer(web, url, known[url]), urls, threads=PARALLEL), urls, strict=True)
            )
            for future in as_completed(asked):
                url = asked.pop(future)
                try:
                    self._keep(url, future.result())
                except NetworkError as error:
                    if self.cache.page(url):
                        self.warnings.append(f"{error}; using what the cache has")
                    else:
                        self.warnings.append(str(error))
                        self.unanswered.append(url)
                del future

    def _keep(self, url: str, answer: Answer) -> None:
        lifetime = _lifetime(answer.headers.get("Cache-Control", ""))
        if answer.status == HTTPStatus.NOT_MODIFIED:
            self.cache.mark_current(url, lifetime)
            return
        if answer.status == HTTPStatus.NOT_FOUND:
            if url.startswith(github_api()):  # no such repository, or one that nobody may see
                self.warnings.append(f"{url}: {answer.outcome}")
                return
            page = read_page(b"", HTML_TYPES[0], answer.url)  # an index that does not have the project (PEP 503)
        elif answer.status != HTTPStatus.OK:
            raise NetworkError(f"{url}: {_refusal(answer)}")
        else:
            try:
                page = read_page(answer.content, answer.content_type, answer.url)
            except UnreadableError as error:
                raise NetworkError(f"{url}: {error}") from None
        said = [fault.problem for fault in page.faults[:_MAX_FAULTS]]
        if len(page.faults) > _MAX_FAULTS:
            said.append(f"has {len(page.faults) - _MAX_FAULTS} more entries that are wrong")
        self.warnings += (f"{url}: {problem}" for problem in said)
        self.cache.store(
            url,
            base=page.base,
            following=_next_page(answer),
            etag=answer.headers.get("ETag"),
            modified=answer.headers.get("Last-Modified"),
            lifetime=lifetime,
            groups=group_links(page.links),
        )


def _answer(web: Web, url: str, page: CachedPage | None) -> Answer:
    accept = _GITHUB if url.startswith(github_api()) else _SIMPLE
    return web.get(url, accept=accept, etag=page.etag if page else None, modified=page.modified if page else None)


def _next_page(answer: Answer) -> str | None:
    """The next page of a list (RFC 8288), if it is of the same server."""
    try:
        url = without_credentials(urljoin(answer.url, answer.following)) if answer.following else None
        return url if url and Origin.of(url) == Origin.of(answer.url) else None
    except ValueError:  # no URL
        return None


def _lifetime(cache_control: str) -> float:
    """For how many seconds an answer need not be asked for again (RFC 9111, section 5.2.2)."""
    directives = {
        name.strip().lower(): value.strip('" ')
        for name, _, value in (directive.partition("=") for directive in cache_control.split(","))
    }
    if "no-cache" in directives or "no-store" in directives:
        return 0.0
    age = directives.get("max-age", "")
    return float(age) if age.isdecimal() else _LIFETIME


def _refusal(answer: Answer) -> str:
    status = answer.outcome
    if answer.headers.get("X-RateLimit-Remaining") == "0":
        return f"{status}: GitHub's limit for requests is reached; set GITHUB_TOKEN, or use --offline"
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        places = filter(None, ("credentials.toml", "netrc", variable_for(Origin.of(answer.url))))
        return f"{status}: a credential is needed, in {' or '.join(places)}"
    return status
