"""Pages that were read, kept in a form that need not be read again."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from wheelmill.client.sources.links import LinkGroup
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.web.origin import without_credentials
from wheelmill.web.pages import Link

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE NOT NULL, base TEXT NOT NULL, following TEXT,
    etag TEXT, modified TEXT, checked REAL NOT NULL, lifetime REAL NOT NULL);
CREATE TABLE IF NOT EXISTS groups (
    page INTEGER NOT NULL REFERENCES pages ON DELETE CASCADE,
    project TEXT NOT NULL, local TEXT NOT NULL, tags TEXT NOT NULL, links BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS groups_of_page ON groups (page, project, local, tags);
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, content TEXT NOT NULL, stored REAL NOT NULL);
"""
ABSENT: Final = ""
"""In the place of the base of a page that there is not."""
_KEPT: Final = Link._fields.index("yanked") + 1
"""Fields of a link; the later ones nobody chooses by."""
_VERSION: Final = 4
"""Of the schema and of what its rows mean; a database of another version is begun anew."""


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
    """The pages of one cache folder. A context manager: what was read is kept when it is left without an error."""

    def __init__(self, folder: Path | None) -> None:
        """Open the cache in a folder; None keeps it in memory for this process.

        Raises:
            UsageError: the folder cannot be used.
        """
        path = folder / "pages.sqlite3" if folder else None
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._database = _open_database(path)
        except (OSError, sqlite3.OperationalError) as error:
            raise _unusable(error) from None
        except sqlite3.DatabaseError:  # not a database, or not a whole one
            if path is None:
                raise
            path.unlink()
            self._database = _open_database(path)

    def __enter__(self) -> Self:
        """Give the cache itself."""
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        """Keep what was read, or not after an error.

        Raises:
            UsageError: it could not be kept.
        """
        try:
            with closing(self._database) as database:
                if error is None:
                    database.commit()
        except sqlite3.OperationalError as failed:
            raise _unusable(failed) from None
        if isinstance(error, sqlite3.OperationalError):
            raise _unusable(error) from None

    def page(self, url: str) -> CachedPage | None:
        """What is known of a page; None when it was never read."""
        row = self._database.execute(
            "SELECT id, base, following, etag, modified, checked + lifetime FROM pages WHERE url = ?", (url,)
        ).fetchone()
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
        self._database.execute("DELETE FROM pages WHERE url = ?", (url,))
        number = self._database.execute(
            "INSERT INTO pages (url, base, following, etag, modified, checked, lifetime) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (url, base, following, etag, modified, time.time(), lifetime),
        ).lastrowid
        self._database.executemany(
            "INSERT INTO groups VALUES (?, ?, ?, ?, ?)",
            (
                (number, *group, links if isinstance(links, bytes) else _written(links))
                for group, links in groups.items()
            ),
        )

    def mark_current(self, url: str, lifetime: float) -> None:
        """Note that the server said that a page has not changed."""
        self._database.execute("UPDATE pages SET checked = ?, lifetime = ? WHERE url = ?", (time.time(), lifetime, url))

    def groups(self, page: int, project: str) -> Iterator[tuple[int, LinkGroup]]:
        """The groups of one project on a page, with the numbers that `links` takes."""
        for number, *group in self._database.execute(
            "SELECT rowid, project, local, tags FROM groups WHERE page = ? AND project = ? ORDER BY rowid",
            (page, project),
        ):
            yield number, LinkGroup(*group)

    def projects_below(self, url: str) -> set[ProjectName]:
        """The projects that pages list whose URLs begin with this one."""
        query = "SELECT DISTINCT project FROM groups JOIN pages ON page = id WHERE substr(url, 1, ?) = ?"
        return {ProjectName(project) for (project,) in self._database.execute(query, (len(url), url))}

    def lists_wheels(self, page: int) -> bool:
        """Whether a page has any wheel that can be read, of whatever project."""
        return self._database.execute("SELECT 1 FROM groups WHERE page = ? LIMIT 1", (page,)).fetchone() is not None

    def links(self, group: int) -> Iterator[Link]:
        """The links of one group."""
        (kept,) = self._database.execute("SELECT links FROM groups WHERE rowid = ?", (group,)).fetchone()
        if isinstance(kept, str):
            return (Link(*row) for row in json.loads(kept))
        from wheelmill.web.html_pages import read_html  # noqa: PLC0415 - not for pages in JSON

        return iter(read_html(kept, "").links)

    def fact(self, key: str) -> str | None:
        """A text that was kept under a key that names its content, such as a hash; None when there is none."""
        row = self._database.execute("SELECT content FROM facts WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def keep_fact(self, key: str, content: str) -> None:
        """Keep a text under a key."""
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (key, content, time.time()))


def _written(links: Sequence[Link]) -> str:
    kept = [(link.filename, without_credentials(link.url), *link[2:_KEPT]) for link in links]
    return json.dumps(kept, separators=(",", ":"))


def _unusable(error: OSError | sqlite3.OperationalError) -> UsageError:
    """A folder that is read-only, a full disk, a lock that nobody gives up."""
    return UsageError(
        f"the cache cannot be used: {error}", hint="give --no-cache, or set XDG_CACHE_HOME to another folder"
    )


def _open_database(path: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(path or ":memory:", timeout=30, check_same_thread=False)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        database.execute("PRAGMA secure_delete = ON")  # URLs of earlier versions could have passwords in them
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            database.execute(f'DROP TABLE "{table}"')
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version = {_VERSION}")  # last: else a full disk would leave it without tables
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("PRAGMA synchronous = OFF")  # a cache that a power cut takes is read again
    return database
