"""What a server answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from wheelmill.names import Sha256


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a request, after redirects."""

    url: str
    """Of the server and the page that answered, without credentials: what relative links are relative to."""
    status: int
    """The status code (RFC 9110, section 15)."""
    reason: str
    """The reason phrase, such as ``Not Found``."""
    headers: Mapping[str, str]
    """Their names are not case-sensitive."""
    following: str | None = None
    """URL of the next page of a list (RFC 8288)."""
    content: bytes = b""
    """Unpacked; empty if the request failed, or if the server ignored a requested span."""

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def outcome(self) -> str:
        """The status as messages show it: ``404 Not Found``."""
        return f"{self.status} {self.reason}".rstrip()

    @property
    def content_type(self) -> str:
        """In lower case, without parameters; empty where the server does not say."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def size(self) -> int | None:
        """Bytes of the whole file, even if only a span of it came (RFC 9110, 14.4); None if the server does not say."""
        whole = self.headers.get("Content-Length", "")
        if self.status == HTTPStatus.PARTIAL_CONTENT:
            whole = self.headers.get("Content-Range", "").rpartition("/")[2]
        encoded = self.headers.get("Content-Encoding", "identity") != "identity"
        try:
            return int(whole) if whole.isascii() and whole.isdigit() and not encoded else None
        except ValueError:  # thousands of digits
            return None


@dataclass(frozen=True, kw_only=True)
class Download:
    """The bytes that were written into a file."""

    size: int
    sha256: Sha256
