"""Pages of sources: fetched in parallel, and cached parsed and grouped."""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

from msgspec.json import decode, encode
from platformdirs import user_cache_path

from wheelmill.client.records import LookupOutcome, Search
from wheelmill.client.sources.forms import LinkGroup, read_group, read_listing
from wheelmill.errors import NetworkError, UnreadableError, WheelmillError
from wheelmill.system.progress import number_of
from wheelmill.web.credentials import Origin, github_api, variables_for, without_credentials
from wheelmill.web.pages import JSON_TYPE, Fault, Link

if TYPE_CHECKING:
    from wheelmill.web.client import Answer, Web

Result = TypeVar("Result")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, base TEXT NOT NULL, following TEXT,
    etag TEXT, modified TEXT, checked REAL NOT NULL, lifetime REAL NOT NULL);
CREATE TABLE IF NOT EXISTS groups (
    page INTEGER NOT NULL REFERENCES pages ON DELETE CASCADE,
    project TEXT NOT NULL, local TEXT NOT NULL, tags TEXT NOT NULL, variant TEXT NOT NULL, links BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS groups_of_page ON groups (page, project, local, tags);
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, content TEXT NOT NULL, stored REAL NOT NULL);
"""
ABSENT: Final = ""
"""Base of a page that does not exist."""
_STORED_FIELDS: Final = Link._fields.index("yanked") + 1
"""The fields of a link that are kept; nothing is chosen by the others."""
_LOCK_SECONDS: Final = 2.0
"""Seconds to wait for other users of the database. A page is written in a fraction of one."""
_VERSION: Final = 6
"""The version of the schema and the meaning of its rows; a database of another version is replaced."""


@dataclass(frozen=True, kw_only=True)
class CachedPage:
    """One page in the cache."""

    id: int
    base: str
    """URL that its links are relative to; `ABSENT` if the server has no such page."""
    following: str | None
    """The URL of the page that goes on where it ends."""
    etag: str | None
    modified: str | None
    fresh: bool
    """True if it may be used without asking whether it has changed (RFC 9111)."""

    @property
    def absent(self) -> bool:
        """True if the server has no such page."""
        return self.base == ABSENT


class PageCache(AbstractContextManager["PageCache"]):
    """The pages of one cache folder; a context manager.

    Each page is stored once it is read, so that no command locks the database while it waits for servers. With a
    read-only folder, a full disk or a lock that is never released, the cache is in memory, for this process.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open the cache in a folder; in memory if it is None."""
        self.warnings: list[str] = []
        """Why nothing more is kept on disk."""
        self._path = folder / "pages.sqlite3" if folder else None
        try:
            self._database = _open_file(self._path) if self._path else _open_database(None)
        except (OSError, sqlite3.OperationalError) as error:
            self._warn(error)
            self._database = _open_database(None)

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self._database.close()

    def page(self, url: str) -> CachedPage | None:
        """Read a page from the cache; None if it was never read."""
        query = "SELECT id, base, following, etag, modified, checked + lifetime FROM pages WHERE url = ?"
        rows = self._rows(query, url)
        if not rows:
            return None
        number, base, following, etag, modified, until = rows[0]
        fresh = time.time() < until
        return CachedPage(id=number, base=base, following=following, etag=etag, modified=modified, fresh=fresh)

    def store(
        self,
        url: str,
        *,
        base: str,
        lifetime: float,
        groups: Mapping[LinkGroup, Sequence[Link] | bytes],
        following: str | None = None,
        etag: str | None = None,
        modified: str | None = None,
    ) -> None:
        """Replace a page; ``lifetime`` is in seconds, and ``groups`` are lists of links or pages of their anchors."""

        def change(database: sqlite3.Connection) -> None:
            """Replace the page and its groups, in one transaction."""
            database.execute("DELETE FROM pages WHERE url = ?", (url,))
            number = database.execute(
                "INSERT INTO pages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                (url, without_credentials(base), following, etag, modified, time.time(), lifetime),
            ).lastrowid
            database.executemany(
                "INSERT INTO groups VALUES (?, ?, ?, ?, ?, ?)",
                ((number, *group, _without_users(links, base)) for group, links in groups.items()),
            )

        self._run(change)

    def mark_current(self, url: str, lifetime: float) -> None:
        """Record that the server reported a page as unchanged."""
        self._rows("UPDATE pages SET checked = ?, lifetime = ? WHERE url = ?", time.time(), lifetime, url)

    def groups(self, page: int, project: str, *, variants: bool = False) -> Iterator[tuple[int, LinkGroup]]:
        """Yield the groups of one project on a page, with their numbers for `links`: plain wheels, or variants."""
        query = (
            "SELECT rowid, project, local, tags, variant FROM groups"
            " WHERE page = ? AND project = ? AND (variant != '') = ? ORDER BY rowid"
        )
        for number, *group in self._rows(query, page, project, variants):
            yield number, LinkGroup(*group)

    def projects_below(self, url: str) -> list[str]:
        """List the projects with wheels on pages below a URL; file names may begin with anything."""
        query = "SELECT DISTINCT project FROM groups JOIN pages ON page = id WHERE substr(url, 1, ?) = ?"
        return [project for (project,) in self._rows(query, len(url), url)]

    def lists_wheels(self, page: int, project: str | None = None) -> bool:
        """True if a page has any readable wheel, of one project or, if that is None, of any."""
        if project:
            return bool(self._rows("SELECT 1 FROM groups WHERE page = ? AND project = ? LIMIT 1", page, project))
        return bool(self._rows("SELECT 1 FROM groups WHERE page = ? LIMIT 1", page))

    def links(self, group: int) -> Iterable[Link]:
        """Read the links of one group, and warn of those that must not be chosen."""
        query = "SELECT links, url, base FROM groups JOIN pages ON page = id WHERE groups.rowid = ?"
        ((kept, url, base),) = self._rows(query, group)
        links = kept if isinstance(kept, bytes) else [Link(*row) for row in decode(kept)]
        try:
            page = read_group(links, base)
        except UnreadableError as error:
            self.warnings.append(f"{url}: {error}")
            return ()
        self.warn_of(url, page.faults)
        return page.links

    def warn_of(self, url: str, faults: Sequence[Fault]) -> None:
        """Warn of the faults of a page, each once."""
        problems = [fault.problem for fault in faults[:_MAX_FAULTS]]
        if len(faults) > _MAX_FAULTS:
            problems.append(f"has {number_of(len(faults) - _MAX_FAULTS, 'more fault')}")
        warnings = dict.fromkeys(f"{url}: {problem}" for problem in problems)
        self.warnings += (warning for warning in warnings if warning not in self.warnings)

    def fact(self, key: str) -> str | None:
        """Read a text by its key, which names its content, such as a hash; None if there is none."""
        return next((content for (content,) in self._rows("SELECT content FROM facts WHERE key = ?", key)), None)

    def keep_fact(self, key: str, content: str) -> None:
        """Keep a text under a key."""
        self._rows("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", key, content, time.time())

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._run(lambda database: database.execute(query, values).fetchall())

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Query or change the database; if it does not answer in time, switch to one in memory."""
        try:
            with self._database:
                return work(self._database)
        except sqlite3.OperationalError as error:
            self._warn(error)
            self._database.close()
            self._database = _open_database(None)
            if self._path:
                _copy(self._path, self._database)
            with self._database:
                return work(self._database)

    def _warn(self, error: Exception) -> None:
        hint = "give --no-cache, or set XDG_CACHE_HOME to another folder"
        self.warnings.append(f"the cache is left as it is: {error}; {hint}")


def cache_folder() -> Path:
    """Return the folder of the client's cache."""
    return user_cache_path("wheelmill") / "client"


def open_cache(search: Search) -> PageCache:
    """Open the cache of pages."""
    return PageCache(cache_folder() if search.use_cache else None)


_MAY_HAVE_USER: Final = re.compile(rb"@|&#|&commat", re.IGNORECASE)
"""A user and a password before a server, also if the sign is a character reference."""


def _without_users(links: Sequence[Link] | bytes, base: str) -> str | bytes:
    """Write a group as the cache keeps it: no URL has a user or a password."""
    if isinstance(links, bytes):
        if not _MAY_HAVE_USER.search(links):
            return links
        try:
            links = read_group(links, base).links
        except UnreadableError:  # too many faults to take one of them
            links = ()
    text = encode([link[:_STORED_FIELDS] for link in links]).decode()
    if "@" in text:
        text = encode([(link[0], without_credentials(link[1]), *link[2:_STORED_FIELDS]) for link in links]).decode()
    return text


def _open_file(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _open_database(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # not a database, or a damaged one
        path.unlink()
        return _open_database(path)


def _open_database(path: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(path or ":memory:", timeout=_LOCK_SECONDS, check_same_thread=False)
    try:
        _prepare(database)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA synchronous = OFF")  # after a power cut, the cache is filled again
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        database.execute("PRAGMA secure_delete = ON")  # URLs of earlier versions could have passwords in them
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            database.execute(f'DROP TABLE "{table}"')
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version = {_VERSION}")  # last: else a full disk would leave it without tables
    database.execute("PRAGMA foreign_keys = ON")


def _copy(path: Path, database: sqlite3.Connection) -> None:
    """Copy the readable rows of a file that is not writable."""
    with suppress(sqlite3.OperationalError):
        database.execute("ATTACH ? AS disk", (str(path),))
        database.execute("INSERT INTO pages SELECT * FROM disk.pages")
        database.execute("INSERT INTO groups SELECT * FROM disk.groups")
        database.execute("INSERT INTO facts SELECT * FROM disk.facts")


_LOG: Final = logging.getLogger(__name__)
_FRESH_SECONDS: Final = 600.0
"""Seconds that a page is fresh if the server does not say; those of GitHub Pages."""
_MAX_FAULTS: Final = 5
"""Faults of a page that are reported one by one."""
_MAX_CHAIN: Final = 100
"""Pages that follow one another. GitHub gives a thousand releases at most, thirty a page."""
_SIMPLE: Final = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_GITHUB: Final = "application/vnd.github+json"


@dataclass(frozen=True, kw_only=True)
class PageOutcome:
    """The outcome of looking for a project on one page."""

    outcome: LookupOutcome
    url: str
    detail: str = ""
    """The server's answer and what to do about it; empty if the outcome says everything."""


class Pages:
    """The pages of one run: each is requested at most once."""

    def __init__(self, cache: PageCache, search: Search) -> None:
        self.cache = cache
        self.search = search
        self._refresh = search.refresh
        self._answered: set[str] = set()
        """Pages that a server gave in this run; the others come from the cache."""
        self._asked: set[str] = set()
        self._missed: dict[str, PageOutcome] = {}
        self.warnings = cache.warnings
        """Problems of the cache, and of pages that were read."""

    def update(self, urls: Iterable[str]) -> None:
        """Bring pages and their next pages up to date."""
        pending = [url for url in dict.fromkeys(urls) if url not in self._asked]
        for _ in range(_MAX_CHAIN):
            self._asked.update(pending)
            self._ask([url for url in pending if not self._is_current(url)])
            pages = [page for url in pending if (page := self.cache.page(url))]
            pending = [page.following for page in pages if page.following and page.following not in self._asked]
            if not pending:
                return
        self.warnings += (f"{url}: more than {_MAX_CHAIN} pages lead to it" for url in pending)

    def ask_again(self, urls: Iterable[str]) -> bool:
        """Ask for cached pages, which may have changed since they were missed; False if there are none, or offline."""
        again = [] if self.search.offline else [url for url in urls if self.is_cached(url)]
        self._asked = self._answered | self._missed.keys()
        self._refresh = True
        self.update(again)
        return bool(again)

    def is_cached(self, url: str) -> bool:
        """True if a page came from the cache, and its server was not asked."""
        return url not in self._answered and url not in self._missed

    def is_absent(self, url: str) -> bool:
        """True if the server has no such page, as far as the cache knows."""
        page = self.cache.page(url)
        return page is not None and page.absent

    def chain(self, url: str) -> list[CachedPage]:
        """List a page in the cache, and its next pages."""
        pages: dict[int, CachedPage] = {}
        page = self.cache.page(url)
        while page and page.id not in pages:
            pages[page.id] = page
            page = self.cache.page(page.following) if page.following else None
        return list(pages.values())

    def outcome(self, url: str, project: str) -> PageOutcome:
        """Return the outcome of looking for a project on an updated page and its next pages."""
        chain = self.chain(url)
        asked = [url, *(page.following for page in chain if page.following)]
        if missed := next((self._missed[each] for each in asked if each in self._missed), None):
            return missed
        if not chain:
            return PageOutcome(outcome=LookupOutcome.NOT_ASKED, url=url, detail="read, and lost with the cache")
        if chain[0].absent:
            return PageOutcome(outcome=LookupOutcome.ABSENT, url=url, detail="there is no such page (404)")
        if any(self.cache.lists_wheels(page.id, project) for page in chain):
            return PageOutcome(outcome=LookupOutcome.FOUND, url=url)
        lists_any = any(self.cache.lists_wheels(page.id) for page in chain)
        return PageOutcome(outcome=LookupOutcome.HAS_NONE, url=url, detail="" if lists_any else "lists no wheel")

    def _is_current(self, url: str) -> bool:
        page = self.cache.page(url)
        if self.search.offline and page is None:
            self._miss(url, LookupOutcome.NOT_ASKED, "not in the cache, and --offline was given")
        is_current = self.search.offline or bool(page and page.fresh and not self._refresh)
        if is_current and page:
            _LOG.debug("%s: from the cache", url)
        return is_current

    def _ask(self, urls: list[str]) -> None:
        if not urls:
            return
        known = {url: self.cache.page(url) for url in urls}
        left = set(urls)
        self._show_progress(left, len(urls))
        for url, answer in self.search.budget.ask(lambda web, url: _answer(web, url, known[url]), urls):
            left.remove(url)
            if not isinstance(answer, WheelmillError):
                self._keep(url, answer)
            else:
                limited = isinstance(answer, NetworkError) and answer.status == HTTPStatus.TOO_MANY_REQUESTS
                outcome = LookupOutcome.LIMITED if limited else LookupOutcome.UNREACHABLE
                self._miss(url, outcome, str(answer).removeprefix(url).lstrip(": "))
            self._show_progress(left, len(urls))

    def _show_progress(self, left: Collection[str], count: int) -> None:
        servers = ", ".join(sorted({urlsplit(url).netloc for url in left}))
        self.search.progress.line(
            f"{count - len(left)} of {number_of(count, 'page')} read; waiting for {servers}" if left else ""
        )

    def _miss(self, url: str, outcome: LookupOutcome, detail: str) -> None:
        stands_in = "; using what the cache has" if self.cache.page(url) else ""
        self._missed[url] = PageOutcome(outcome=outcome, url=url, detail=f"{detail}{stands_in}")

    def _keep(self, url: str, answer: Answer) -> None:
        self._answered.add(url)
        lifetime = _lifetime(answer.headers.get("Cache-Control", ""))
        if answer.status == HTTPStatus.NOT_MODIFIED:
            self.cache.mark_current(url, lifetime)
            return
        if answer.status == HTTPStatus.NOT_FOUND:
            self.cache.store(url, base=ABSENT, lifetime=lifetime, groups={})
            return
        if answer.status != HTTPStatus.OK:
            self._miss(url, *_refusal(answer))
            return
        try:
            page, groups = read_listing(answer.content, answer.content_type, answer.url)
        except UnreadableError as error:
            self._miss(url, LookupOutcome.NOT_AN_INDEX, str(error))
            return
        self.cache.warn_of(url, page.faults)
        self.cache.store(
            url,
            base=page.base,
            following=_next_page(answer),
            etag=answer.headers.get("ETag"),
            modified=_last_change(answer),
            lifetime=lifetime,
            groups=groups,
        )


def _answer(web: Web, url: str, page: CachedPage | None) -> Answer:
    accept = _GITHUB if url.startswith(github_api()) else _SIMPLE
    return web.get(url, accept=accept, etag=page.etag if page else None, modified=page.modified if page else None)


def _last_change(answer: Answer) -> str | None:
    """Find when a page changed; None if the server answered within the same second, in which it may change again."""
    # https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.2
    from email.utils import parsedate_to_datetime  # not for what is fresh

    modified = answer.headers.get("Last-Modified", "")
    try:
        is_past = parsedate_to_datetime(modified) < parsedate_to_datetime(answer.headers.get("Date", ""))
    except (ValueError, TypeError):  # none, or one without a zone
        return None
    return modified if is_past else None


def _next_page(answer: Answer) -> str | None:
    """Find the next page of a list (RFC 8288), if it is on the same server."""
    try:
        url = without_credentials(urljoin(answer.url, answer.following)) if answer.following else None
        return url if url and Origin.of(url) == Origin.of(answer.url) else None
    except ValueError:  # no URL
        return None


def _lifetime(cache_control: str) -> float:
    """Return for how many seconds an answer stays fresh (RFC 9111, section 5.2.2)."""
    directives = {
        name.strip().lower(): value.strip('" ')
        for name, _, value in (directive.partition("=") for directive in cache_control.split(","))
    }
    if "no-cache" in directives or "no-store" in directives:
        return 0.0
    age = directives.get("max-age", "")
    return float(age) if age.isdecimal() else _FRESH_SECONDS


def _refusal(answer: Answer) -> tuple[LookupOutcome, str]:
    status = answer.outcome
    if answer.headers.get("X-RateLimit-Remaining") == "0":
        hint = "GitHub's limit for requests is reached; set GITHUB_TOKEN, or use --offline"
        return LookupOutcome.LIMITED, f"{status}: {hint}"
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        origin = Origin.of(answer.url)
        places = filter(None, ("credentials.toml", "netrc" if origin.is_secure else None, *variables_for(origin)))
        return LookupOutcome.REFUSED, f"{status}: a credential is needed, in {' or '.join(places)}"
    return LookupOutcome.ABSENT if answer.status == HTTPStatus.GONE else LookupOutcome.UNREACHABLE, status
