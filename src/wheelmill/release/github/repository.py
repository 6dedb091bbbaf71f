"""Which repository, on which server, and on whose behalf."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote

from wheelmill.errors import UsageError

_NAME_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "-_.")


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository whose releases hold wheels."""

    full_name: str
    """``OWNER/REPO``."""
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    token: str | None = field(default=None, repr=False)
    """Needed to publish; published releases can be read without one."""

    @classmethod
    def parse(cls, full_name: str, environment: Mapping[str, str]) -> Self:
        """Read a name, and the rest from the variables that GitHub sets in its jobs.

        https://docs.github.com/en/actions/reference/workflows-and-actions/variables

        Raises:
            UsageError: it is no repository's name.
        """
        owner, _, name = full_name.partition("/")
        if {owner, name} & {"", ".", ".."} or not set(owner + name) <= _NAME_CHARACTERS:
            raise UsageError(f"--store: expected github:OWNER/REPO, not 'github:{full_name}'")
        return cls(
            full_name=full_name,
            api_url=environment.get("GITHUB_API_URL") or cls.api_url,
            server_url=environment.get("GITHUB_SERVER_URL") or cls.server_url,
            token=environment.get("GITHUB_TOKEN") or None,
        )

    @property
    def downloads(self) -> str:
        """What lies above the files of each tag, for everybody."""
        return f"{self.server_url.rstrip('/')}/{self.full_name}/releases/download"

    def download(self, tag: str, filename: str) -> str:
        """Where everybody finds a file of a published release."""
        return f"{self.downloads}/{quote(tag)}/{quote(filename)}"
