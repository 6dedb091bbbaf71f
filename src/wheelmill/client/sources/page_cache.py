"""A cache of pages, parsed and grouped."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from wheelmill.client.sources.links import LinkGroup
from wheelmill.web.credentials import without_credentials
from wheelmill.web.pages import Link

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
"""Stands for the base of a page that does not exist."""
_KEPT: Final = Link._fields.index("yanked") + 1
"""The fields of a link that are kept; nothing is chosen by the others."""
_PATIENCE: Final = 2.0
"""Seconds to wait for other users of the database. A page is written in a fraction of one."""
_VERSION: Final = 5
"""The version of the schema and the meaning of its rows; a database of another version is replaced."""


@dataclass(frozen=True, kw_only=True)
class CachedPage:
    """One page that was read."""

    id: int
    base: str
    """What its links are relative to; `ABSENT` where the server has no such page."""
    following: str | None
    """The URL of the page that goes on where it ends."""
    etag: str | None
    modified: str | None
    fresh: bool
    """Whether it may be used without asking whether it has changed (RFC 9111)."""

    @property
    def absent(self) -> bool:
        """Whether the server said that it has no such page."""
        return self.base == ABSENT


class PageCache:
    """The pages of one cache folder. A context manager.

    Each page is kept when it was read, so that no command holds the database while it waits for servers. A folder that
    cannot be written, a full disk and a lock that nobody gives up make a cache in memory of it, for this process.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open the cache in a folder; None keeps it in memory."""
        self.warnings: list[str] = []
        """Why nothing more is kept on disk."""
        self._path = folder / "pages.sqlite3" if folder else None
        try:
            self._database = _open_file(self._path) if self._path else _open_database(None)
        except (OSError, sqlite3.OperationalError) as error:
            self._warn(error)
            self._database = _open_database(None)

    def __enter__(self) -> Self:
        """Open the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self._database.close()

    def page(self, url: str) -> CachedPage | None:
        """What the cache has of a page; None if it was never read."""
        query = "SELECT id, base, following, etag, modified, checked + lifetime FROM pages WHERE url = ?"
        row = self._run(lambda database: database.execute(query, (url,)).fetchone())
        if row is None:
            return None
        number, base, following, etag, modified, until = row
        fresh = time.time() < until
        return CachedPage(id=number, base=base, following=following, etag=etag, modified=modified, fresh=fresh)

    def store(
        self,
        url: str,
        *,
        base: str,
        following: str | None,
        etag: str | None,
        modified: str | None,
        lifetime: float,
        groups: Mapping[LinkGroup, Sequence[Link] | bytes],
    ) -> None:
        """Keep a page in place of what was known of it.

        Args:
            url: the URL that it was asked for.
            base: the URL that its links are relative to.
            following: the URL of the page that goes on where it ends.
            etag: of the page, as the server gives it.
            modified: when it was last changed, as the server writes it.
            lifetime: the seconds that it may be used unasked.
            groups: its links, or pages of HTML with nothing but sound links.
        """

        def change(database: sqlite3.Connection) -> None:
            """Replace the page and its groups, in one transaction."""
            database.execute("DELETE FROM pages WHERE url = ?", (url,))
            number = database.execute(
                "INSERT INTO pages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                (url, base, following, etag, modified, time.time(), lifetime),
            ).lastrowid
            database.executemany(
                "INSERT INTO groups VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (number, *group, links if isinstance(links, bytes) else _text_of_links(links))
                    for group, links in groups.items()
                ),
            )

        self._run(change)

    def mark_current(self, url: str, lifetime: float) -> None:
        """Note that the server said that a page has not changed."""
        change = "UPDATE pages SET checked = ?, lifetime = ? WHERE url = ?"
        self._run(lambda database: database.execute(change, (time.time(), lifetime, url)))

    def groups(self, page: int, project: str, *, variants: bool = False) -> Iterator[tuple[int, LinkGroup]]:
        """The groups of one project on a page, with the numbers that `links` takes: plain wheels, or variants."""
        query = (
            "SELECT rowid, project, local, tags, variant FROM groups"
            " WHERE page = ? AND project = ? AND (variant != '') = ? ORDER BY rowid"
        )
        wanted = page, project, variants
        for number, *group in self._run(lambda database: database.execute(query, wanted).fetchall()):
            yield number, LinkGroup(*group)

    def projects_below(self, url: str) -> list[str]:
        """What pages whose URLs begin with this one list wheels of; file names may begin with anything."""
        query = "SELECT DISTINCT project FROM groups JOIN pages ON page = id WHERE substr(url, 1, ?) = ?"
        rows = self._run(lambda database: database.execute(query, (len(url), url)).fetchall())
        return [project for (project,) in rows]

    def lists_wheels(self, page: int, project: str | None = None) -> bool:
        """Whether a page has any wheel that can be read, of one project or of whatever one."""
        query = "SELECT 1 FROM groups WHERE page = ? LIMIT 1"
        wanted: tuple[object, ...] = (page,)
        if project:
            query, wanted = "SELECT 1 FROM groups WHERE page = ? AND project = ? LIMIT 1", (page, project)
        return self._run(lambda database: database.execute(query, wanted).fetchone()) is not None

    def links(self, group: int) -> Iterator[Link]:
        """The links of one group."""
        query = "SELECT links FROM groups WHERE rowid = ?"
        (kept,) = self._run(lambda database: database.execute(query, (group,)).fetchone())
        if isinstance(kept, str):
            return (Link(*row) for row in json.loads(kept))
        from wheelmill.web.pages import parse_html  # noqa: PLC0415 - not for pages in JSON

        return iter(parse_html(kept, "").links)  # which are plain, so that this takes no long time

    def fact(self, key: str) -> str | None:
        """A text that was kept under a key that names its content, such as a hash; None when there is none."""
        query = "SELECT content FROM facts WHERE key = ?"
        row = self._run(lambda database: database.execute(query, (key,)).fetchone())
        return str(row[0]) if row else None

    def keep_fact(self, key: str, content: str) -> None:
        """Keep a text under a key."""
        change = "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)"
        self._run(lambda database: database.execute(change, (key, content, time.time())))

    def _run(self, work: Callable[[sqlite3.Connection], Any]) -> Any:  # noqa: ANN401 - a row, rows, or nothing
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
        """Say that nothing is kept any longer: a folder that is read-only, a full disk, a lock nobody gives up."""
        hint = "give --no-cache, or set XDG_CACHE_HOME to another folder"
        self.warnings.append(f"the cache is left as it is: {error}; {hint}")


def _text_of_links(links: Sequence[Link]) -> str:
    kept = [(link.filename, without_credentials(link.url), *link[2:_KEPT]) for link in links]
    return json.dumps(kept, separators=(",", ":"))


def _open_file(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _open_database(path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # not a database, or not a whole one
        path.unlink()
        return _open_database(path)


def _open_database(path: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(path or ":memory:", timeout=_PATIENCE, check_same_thread=False)
    database.execute("PRAGMA synchronous = OFF")  # a cache that a power cut takes is read again
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        database.execute("PRAGMA secure_delete = ON")  # URLs of earlier versions could have passwords in them
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            database.execute(f'DROP TABLE "{table}"')
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version = {_VERSION}")  # last: else a full disk would leave it without tables
    database.execute("PRAGMA foreign_keys = ON")
    return database


def _copy(path: Path, database: sqlite3.Connection) -> None:
    """Copy what can still be read from a file that cannot be written."""
    with suppress(sqlite3.OperationalError):
        database.execute("ATTACH ? AS disk", (str(path),))
        database.execute("INSERT INTO pages SELECT * FROM disk.pages")
        database.execute("INSERT INTO groups SELECT * FROM disk.groups")
        database.execute("INSERT INTO facts SELECT * FROM disk.facts")
