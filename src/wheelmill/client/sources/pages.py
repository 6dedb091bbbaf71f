"""Bringing the pages of sources up to date, all at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from wheelmill.client.source_records import Outcome
from wheelmill.client.sources.page_cache import ABSENT, CachedPage, PageCache
from wheelmill.errors import NetworkError, UnreadableError
from wheelmill.system.progress import QUIET, Progress, number_of
from wheelmill.web.credentials import Origin, github_api, variable_for, without_credentials
from wheelmill.web.pages import JSON_TYPE

if TYPE_CHECKING:
    from wheelmill.web.client import Answer, Web

_LIFETIME: Final = 600.0
"""Seconds that a page is fresh if the server does not say; those of GitHub Pages."""
_MAX_FAULTS: Final = 5
"""Faults of a page that are reported one by one."""
_MAX_CHAIN: Final = 100
"""Pages that follow one another. GitHub gives a thousand releases at most, thirty a page."""
_SIMPLE: Final = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_GITHUB: Final = "application/vnd.github+json"


@dataclass(frozen=True, kw_only=True)
class PageOutcome:
    """What became of looking for a project on one page."""

    outcome: Outcome
    url: str
    detail: str = ""
    """What the server said, and what to do about it; empty where the outcome says everything."""


class Pages:
    """The pages of one run: each is requested at most once."""

    def __init__(
        self, cache: PageCache, *, offline: bool = False, refresh: bool = False, progress: Progress = QUIET
    ) -> None:
        """Read pages.

        Args:
            cache: the cache of pages that were read before.
            offline: whether to do with what the cache has.
            refresh: whether to ask for pages that are still fresh, too.
            progress: is told which servers have not answered yet.
        """
        self.cache = cache
        self.offline = offline
        self._refresh = refresh
        self._progress = progress
        self._asked: set[str] = set()
        self._missed: dict[str, PageOutcome] = {}
        self.warnings = cache.warnings
        """Problems of the cache, and of pages that were read."""

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
        """A page that was read, and its next pages."""
        found: dict[int, CachedPage] = {}
        page = self.cache.page(url)
        while page and page.id not in found:
            found[page.id] = page
            page = self.cache.page(page.following) if page.following else None
        return list(found.values())

    def outcome(self, url: str, project: str) -> PageOutcome:
        """What became of looking for a project on a page that was brought up to date, and on those that follow it."""
        chain = self.chain(url)
        asked = [url, *(page.following for page in chain if page.following)]
        if missed := next((self._missed[each] for each in asked if each in self._missed), None):
            return missed
        if not chain:
            return PageOutcome(outcome=Outcome.NOT_ASKED, url=url, detail="read, and lost with the cache")
        if chain[0].absent:
            return PageOutcome(outcome=Outcome.ABSENT, url=url, detail="there is no such page (404)")
        if any(self.cache.lists_wheels(page.id, project) for page in chain):
            return PageOutcome(outcome=Outcome.FOUND, url=url)
        lists_any = any(self.cache.lists_wheels(page.id) for page in chain)
        return PageOutcome(outcome=Outcome.HAS_NONE, url=url, detail="" if lists_any else "lists no wheel")

    def _is_current(self, url: str) -> bool:
        page = self.cache.page(url)
        if self.offline and page is None:
            self._miss(url, Outcome.NOT_ASKED, "not in the cache, and --offline was given")
        return self.offline or bool(page and page.fresh and not self._refresh)

    def _ask(self, urls: list[str]) -> None:
        if not urls:
            return
        from wheelmill.web.client import ATTENDED, PARALLEL, Web, begin, completed  # noqa: PLC0415 - not for what is fresh  # noqa: PLC0415 - the same

        known = {url: self.cache.page(url) for url in urls}
        with Web(retries=ATTENDED) as web:
            asked = dict(
                zip(begin(lambda url: _answer(web, url, known[url]), urls, threads=PARALLEL), urls, strict=True)
            )
            self._tell(asked.values(), len(urls))
            for future in completed(asked):
                url = asked.pop(future)
                try:
                    self._keep(url, future.result())
                except NetworkError as error:
                    limited = error.status == HTTPStatus.TOO_MANY_REQUESTS
                    outcome = Outcome.LIMITED if limited else Outcome.UNREACHABLE
                    self._miss(url, outcome, str(error).removeprefix(url).lstrip(": "))
                self._tell(asked.values(), len(urls))
                del future

    def _tell(self, left: Collection[str], count: int) -> None:
        """Show how many pages have come, and whose have not."""
        servers = ", ".join(sorted({urlsplit(url).netloc for url in left}))
        self._progress.line(
            f"{count - len(left)} of {number_of(count, 'page')} read; waiting for {servers}" if left else ""
        )

    def _miss(self, url: str, outcome: Outcome, detail: str) -> None:
        """Note that a page cannot be brought up to date, and why."""
        stands_in = "; using what the cache has" if self.cache.page(url) else ""
        self._missed[url] = PageOutcome(outcome=outcome, url=url, detail=f"{detail}{stands_in}")

    def _keep(self, url: str, answer: Answer) -> None:
        from wheelmill.client.sources.page_forms import read_listing  # noqa: PLC0415 - not for what is fresh

        lifetime = _lifetime(answer.headers.get("Cache-Control", ""))
        if answer.status == HTTPStatus.NOT_MODIFIED:
            self.cache.mark_current(url, lifetime)
            return
        if answer.status == HTTPStatus.NOT_FOUND:
            self.cache.store(url, base=ABSENT, following=None, etag=None, modified=None, lifetime=lifetime, groups={})
            return
        if answer.status != HTTPStatus.OK:
            self._miss(url, *_refusal(answer))
            return
        try:
            page = read_listing(answer.content, answer.content_type, answer.url)
        except UnreadableError as error:
            self._miss(url, Outcome.NOT_AN_INDEX, str(error))
            return
        said = [fault.problem for fault in page.faults[:_MAX_FAULTS]]
        if len(page.faults) > _MAX_FAULTS:
            said.append(f"has {number_of(len(page.faults) - _MAX_FAULTS, 'more fault')}")
        self.warnings += (f"{url}: {problem}" for problem in said)
        self.cache.store(
            url,
            base=page.base,
            following=_next_page(answer),
            etag=answer.headers.get("ETag"),
            modified=_last_change(answer),
            lifetime=lifetime,
            groups=page.groups,
        )


def _answer(web: Web, url: str, page: CachedPage | None) -> Answer:
    accept = _GITHUB if url.startswith(github_api()) else _SIMPLE
    return web.get(url, accept=accept, etag=page.etag if page else None, modified=page.modified if page else None)


def _last_change(answer: Answer) -> str | None:
    """When a page changed, if the server answered in a later second: else it may have changed again in that one.

    https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.2
    """
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - not for what is fresh

    modified = answer.headers.get("Last-Modified", "")
    try:
        is_past = parsedate_to_datetime(modified) < parsedate_to_datetime(answer.headers.get("Date", ""))
    except (ValueError, TypeError):  # none, or one without a zone
        return None
    return modified if is_past else None


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


def _refusal(answer: Answer) -> tuple[Outcome, str]:
    """The outcome of an answer without a page, and a message about it."""
    status = answer.outcome
    if answer.headers.get("X-RateLimit-Remaining") == "0":
        hint = "GitHub's limit for requests is reached; set GITHUB_TOKEN, or use --offline"
        return Outcome.LIMITED, f"{status}: {hint}"
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        origin = Origin.of(answer.url)
        places = filter(None, ("credentials.toml", "netrc" if origin.is_secure else None, variable_for(origin)))
        return Outcome.REFUSED, f"{status}: a credential is needed, in {' or '.join(places)}"
    return Outcome.ABSENT if answer.status == HTTPStatus.GONE else Outcome.UNREACHABLE, status
