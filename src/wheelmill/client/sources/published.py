"""The list of sources that the site of an index has: a newer one than the one that ships.

Its hash lies beside it. It shows whether the list has changed, and guards against half of a deployment; who may write
the site may write both, as with everything that is installed from there.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.errors import IntegrityError, WheelmillError
from wheelmill.system.files import sha256_of, sha256_of_bytes, write_bytes
from wheelmill.web.credentials import without_credentials

_LIFETIME: Final = 24 * 60 * 60
"""Seconds for which a list is used without asking whether there is a newer one."""


@dataclass(frozen=True, kw_only=True)
class PublishedSources:
    """The lists of sites, kept in a folder."""

    folder: Path
    offline: bool
    """Whether to do with what the folder has."""
    refresh: bool
    """Whether to ask in any case."""
    warn: Callable[[str], None]
    """Told when a site does not give its list; then the last one stays in use."""

    def newer_at(self, site: str) -> Path | None:
        """The list of a site; None when none was ever read."""
        kept = self.folder / f"sources-{sha256_of_bytes(site.encode())[:16]}.yml"
        if not self.offline and (self.refresh or not _is_fresh(kept)):
            try:
                _update(kept, site)
            except WheelmillError as error:
                which = "last list of sources" if kept.exists() else "list of sources that ships"
                self.warn(f"{without_credentials(site)}: {error}; using the {which}")
        return kept if kept.exists() else None


def _is_fresh(path: Path) -> bool:
    return path.exists() and 0 <= time.time() - path.stat().st_mtime < _LIFETIME


def _update(kept: Path, site: str) -> None:
    """Bring a list up to date, and note that it is.

    Raises:
        WheelmillError: the site does not give it, or it has another hash than promised, or cannot be read.
    """
    from wheelmill.index.tree import SOURCES, SOURCES_HASH  # noqa: PLC0415 - the same
    from wheelmill.web.client import Web  # noqa: PLC0415 - not for what is fresh

    base = f"{site.rstrip('/')}/"
    with Web() as web:
        promised = web.read(f"{base}{SOURCES_HASH}").decode(errors="replace").partition(" ")[0]
        if kept.exists() and sha256_of(kept) == promised:
            os.utime(kept)
            return
        content = web.read(f"{base}{SOURCES}")
    if (found := sha256_of_bytes(content)) != promised:
        raise IntegrityError(f"{SOURCES} has sha256 {found}; {SOURCES_HASH} says {promised or 'nothing'}")
    _check(content)
    write_bytes(kept, content)


def _check(content: bytes) -> None:
    """Refuse a list that this version cannot read.

    Raises:
        ConfigurationError: with every fault.
    """
    from wheelmill.client.sources.sources_file import read_sources_file  # noqa: PLC0415 - reads YAML

    with tempfile.TemporaryDirectory(prefix="wheelmill-") as folder:
        path = Path(folder) / "sources.yml"
        path.write_bytes(content)
        read_sources_file(path)
