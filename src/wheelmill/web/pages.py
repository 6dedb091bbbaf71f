"""Pages of the simple API, from HTML (PEP 503) and JSON (PEP 691), and pages of releases.

https://packaging.python.org/en/latest/specifications/simple-repository-api/
Time and memory grow with their length, whatever is on them, up to limits that no list of wheels reaches.

GitHub answers 502 or 504 for a page of releases with too many assets, and then a smaller page is requested.
https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#timeouts
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode, urljoin, urlsplit, urlunsplit

from wheelmill.errors import UnreadableError
from wheelmill.names import is_sha256
from wheelmill.system.files import MAX_FILENAME
from wheelmill.web.credentials import Origin, without_credentials
from wheelmill.web.html_tags import decode_html, read_tags, source_of_anchor, text_of_anchor

HTML_TYPES: Final = ("text/html", "application/vnd.pypi.simple.v1+html")
JSON_TYPE: Final = "application/vnd.pypi.simple.v1+json"
SIDECAR_SUFFIX: Final = ".metadata"
"""PEP 658: a wheel's METADATA lies at the wheel's own URL with this behind it."""
PROVENANCE_SUFFIX: Final = ".provenance"
"""Suffix of our provenance files; PEP 740 lets the page name any place."""
MAX_DIGITS: Final = 18
"""Digits of a number: Python refuses to convert thousands of them, and databases twenty."""
_MAX_TEXT: Final = 4096
"""Characters of a URL, or of another text about a file."""
_FOLDER_AND_NAME: Final = re.compile(r"([^?#;\s]*[^/?#;\s]/|/)?([A-Za-z0-9_](?:[\w.~+-]|%[0-9A-Fa-f]{2})+)", re.ASCII)
"""A URL that ends with the plain name of a file, which ``..`` is not."""
_NAME_BYTES: Final = f"{string.ascii_letters}{string.digits}._-+!".encode()
"""Characters of files' names (PEP 427, PEP 625), with those of versions (PEP 440)."""
_URL_CHARACTERS: Final = "/?:@!$&'()*+,=%"
"""Beside unreserved characters, those of paths and queries (RFC 3986, section 3.3 and 3.4).

``;`` is not among them: pip takes what follows it in a requirement for a marker.
"""


class Form(StrEnum):
    """Format of a page."""

    HTML = "HTML"
    JSON = "JSON"


class Link(NamedTuple):
    """Link of a page, with values as HTML spells them or None; a tuple, since a page may have tens of thousands."""

    filename: str
    """HTML: the last part of the URL's path, decoded. JSON: ``filename``."""
    url: str
    """Absolute, or relative to the page's base."""
    sha256: str | None = None
    size: int | None = None
    """Bytes (PEP 700; ``data-size`` as uv reads it)."""
    requires_python: str | None = None
    core_metadata: str | None = None
    """``true`` or ``sha256=...``: METADATA lies at the URL with ``.metadata`` at its end (PEP 658, 714)."""
    legacy_metadata: str | None = None
    """Value of the older attribute ``data-dist-info-metadata``, if it differs."""
    upload_time: str | None = None
    yanked: str | None = None
    """The reason, which may be empty (PEP 592); None when the file is not yanked."""
    other_hashes: Mapping[str, str] | None = None
    """Hashes beside sha256, by the name of their function."""
    provenance: str | None = None
    signature: str | None = None
    """``data-gpg-sig``: ``true`` or ``false``."""
    text: str | None = None
    """Text of the anchor, or the name in JSON's project list."""

    @property
    def hashes(self) -> dict[str, str]:
        """All hashes by function name."""
        return ({} if self.sha256 is None else {"sha256": self.sha256}) | dict(self.other_hashes or {})


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Value of another type than the simple API gives it."""

    key: str
    """Key in JSON, or ``base`` and ``size`` in HTML; empty for an entry as a whole."""
    problem: str
    """Place and fault: ``files.3.size: expected int, not str``."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Project list or a project's page."""

    form: Form
    base: str
    """The URL that links are relative to."""
    links: Sequence[Link]
    """In the page's order. A JSON entry with a fault has none."""
    faults: Sequence[Fault] = ()
    version: str | None = None
    """Version of the API (PEP 629)."""
    status: str | None = None
    """Status of the project (PEP 792)."""
    status_reason: str | None = None
    name: str | None = None
    """The project, in JSON."""
    versions: tuple[str, ...] | None = None
    """Versions of the project, in JSON (PEP 700)."""
    has_doctype: bool = True
    """True if HTML begins with ``<!DOCTYPE html>``."""


def with_sound_links(page: Page, suffixes: tuple[str, ...]) -> Page:
    """Keep the files with one of the `suffixes` that a program may choose; each of the others becomes a fault."""
    links, faults, misnamed = [], list(page.faults), []
    from_web = _is_web(page.base)
    for link in page.links:
        if not link.filename.endswith(suffixes):
            continue
        if fault := next(_link_faults(link, page.base, from_web=from_web), None):
            key, problem = fault
            faults.append(Fault(key=key, problem=f"{printable(link.filename)} {problem}"))
            check_count(faults)
        else:
            links.append(link)
            if link.text and link.text.endswith(suffixes) and last_part(link.text) != link.filename:
                misnamed.append(link)
    if misnamed:
        first, count = misnamed[0], f"{len(misnamed)} links have" if len(misnamed) > 1 else "a link has"
        problem = f"{count} another name as text than their file, which counts: {printable(first.text or '')}"
        faults.append(Fault(key="text", problem=f"{problem} is {printable(first.filename)}"))
    return replace(page, links=links, faults=faults)


def _link_faults(link: Link, base: str, *, from_web: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults of a link that exclude it: the key of each, and its description."""
    filename, url, sha256, size = link[:4]
    if len(filename) > MAX_FILENAME or not filename.isascii() or filename.encode().translate(None, _NAME_BYTES):
        yield "filename", "has a name that no wheel or sdist can have"
    if filename.count("+") > 1 and filename.partition("-")[2].partition("-")[0].count("+") > 1:
        yield "filename", "has a version with two '+', which no installer reads (PEP 440)"
    if fault := _fault_of_url(url, base, from_web=from_web, has_hash=sha256 is not None):
        yield "url", fault
    if sha256 is not None and not is_sha256(sha256.lower()):
        yield "hashes", f"has the sha256 {sha256!a:.80}, which is not a sha256"
    metadata = link.core_metadata or link.legacy_metadata
    if metadata and metadata.startswith("sha256=") and not is_sha256(metadata.removeprefix("sha256=").lower()):
        yield "core-metadata", f"has METADATA with {metadata!a:.80}, which is not a hash"
    if size is not None and not 0 <= size < 10**MAX_DIGITS:
        yield "size", f"has the size {size}"
    for text in link.requires_python, link.upload_time, link.yanked:
        if text is not None and len(text) > _MAX_TEXT:
            yield "", f"has a text of {len(text)} characters"


def _fault_of_url(url: str, base: str, *, from_web: bool, has_hash: bool) -> str | None:
    """Describe the fault of a link's URL; None if it has none. With `has_hash`, its bytes can be verified."""
    if len(url) > _MAX_TEXT or not url.isprintable() or "\ufffd" in url:
        return f"has the URL {printable(url)}, which is not a URL"
    if from_web and ":" not in url and not url.lstrip().startswith("//"):  # relative to the page's base
        return None
    if url.startswith(("https://", "http://") if has_hash or base.startswith("http:") else "https://") and _is_web(url):
        return None
    goal = absolute(base, url)
    if goal is None or not _is_web(goal):
        return f"leads to {printable(url)}, which is not an http or https URL"
    if not has_hash and urlsplit(base).scheme == "https" != urlsplit(goal).scheme:
        return f"leads from https to {printable(url)}, without a hash that its bytes could be compared with"
    return None


def _is_web(url: str) -> bool:
    """True for a URL of http or https, with a readable host."""
    start = len("https://")
    return _is_origin(url[:start] + url[start:].partition("/")[0])


@functools.lru_cache(maxsize=1024)
def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(Origin.of(text).netloc) and parts.port != 0
    except ValueError:
        return False


def printable(text: str) -> str:
    """Shorten a page's text for a message, and escape what a terminal would act on."""
    return (text if text.isprintable() else ascii(text))[:MAX_FILENAME]


def absolute(base: str, url: str) -> str | None:
    """Resolve a link against its page's base as one word of RFC 3986, without fragment and credentials, or None."""
    folder, name = _FOLDER_AND_NAME.fullmatch(url), ""
    if folder:  # nearly all links of a page are in one folder
        url, name = folder[1] or "./", folder[2]
    address = _absolute(base, url)
    return address + name if address and name else address


@functools.lru_cache(maxsize=1024)
def _absolute(base: str, url: str) -> str | None:
    try:
        parts = urlsplit(without_credentials(urljoin(base, url)))
        netloc = Origin.of(parts.geturl()).netloc if parts.scheme in ("http", "https") else parts.netloc
    except ValueError:
        return None
    return urlunsplit(parts._replace(netloc=netloc, path=_quoted(parts.path), query=_quoted(parts.query), fragment=""))


def _quoted(text: str) -> str:
    """Percent-encode the characters that RFC 3986 has not in paths and queries, and ``%`` without two digits."""
    first, *escapes = quote(text, safe=_URL_CHARACTERS).split("%")
    return first + "".join(
        f"%{escape}" if set(escape[:2]) <= {*string.hexdigits} and len(escape) > 1 else f"%25{escape}"
        for escape in escapes
    )


def last_part(url: str) -> str:
    """Decode the last part of the path of a URL without a fragment."""
    name = url.partition("?")[0].rpartition("/")[2]
    if "%" in name:
        name = name.replace("%2B", "+")  # nearly always the only escape, and unquote() is slow
        name = unquote(name) if "%" in name else name
    return name


MAX_LINKS: Final = 2_000_000
"""Links of a page; so many take 0.7 GB. The longest list has 700,000 projects."""
MAX_FAULTS: Final = 10_000
"""Faults of a page."""
_WANTED: Final = {
    "a": frozenset({"href", "data-requires-python", "data-core-metadata", "data-dist-info-metadata", "data-size"})
    | {"data-upload-time", "data-yanked", "data-provenance", "data-gpg-sig"},
    "base": frozenset({"href"}),
    "meta": frozenset({"name", "content"}),
}
"""The tags that matter, and their attributes."""
_DOCTYPE: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<!doctype", re.IGNORECASE)


def read_html(content: bytes, address: str) -> Page:
    """Read a project list or a project's page from any source; UnreadableError if it exceeds the limits."""
    links: list[Link] = []
    faults: list[Fault] = []

    def add(text: str, attributes: dict[str, str], _start: int, end: int) -> None:
        links.append(_link(attributes, text_of_anchor(text, end), faults))
        check_count(faults)

    page = _read_tags(content, address, _WANTED, add)
    return replace(page, links=links, faults=[*page.faults, *faults])


def cut_html(content: bytes, address: str) -> tuple[Page, list[tuple[str, str]]]:
    """Read a page without its links; returns their file names and sources, which `read_html` reads."""
    anchors: list[tuple[str, str]] = []

    def add(text: str, attributes: dict[str, str], start: int, end: int) -> None:
        anchors.append((last_part(attributes["href"].partition("#")[0]), source_of_anchor(text, start, end)))

    return _read_tags(content, address, _WANTED | {"a": frozenset({"href"})}, add), anchors


def _read_tags(
    content: bytes,
    address: str,
    wanted: Mapping[str, frozenset[str]],
    add: Callable[[str, dict[str, str], int, int], None],
) -> Page:
    """Read what a page says of itself; `add` is called with its text, and an anchor's attributes, start and end."""
    faults: list[Fault] = []
    metas: dict[str, str] = {}
    base = None
    text, count = decode_html(content), 0
    for name, attributes, start, end in read_tags(text, wanted):
        if name == "meta":
            if (key := attributes.get("name", "")).startswith("pypi:"):
                metas.setdefault(key, attributes.get("content", ""))
        elif "href" not in attributes:
            continue
        elif name == "a":
            add(text, attributes, start, end)
            count += 1
            if count > MAX_LINKS:
                raise UnreadableError("page-invalid", f"the page has more than {MAX_LINKS:,} links")
        elif base is None:  # of several bases the first counts
            base = absolute(address, attributes["href"])
            if base is None:
                base = address
                faults.append(Fault(key="base", problem=f"the page's base, {attributes['href']!r:.255}, is no URL"))
    return Page(
        form=Form.HTML,
        base=base or address,
        links=(),
        faults=faults,
        version=metas.get("pypi:repository-version"),
        status=metas.get("pypi:project-status"),
        status_reason=metas.get("pypi:project-status-reason"),
        has_doctype=_DOCTYPE.match(content) is not None,
    )


def check_count(faults: Sequence[Fault]) -> None:
    """Refuse a page that has nearly nothing but faults."""
    if len(faults) > MAX_FAULTS:
        raise UnreadableError("page-invalid", f"the page has more than {MAX_FAULTS:,} faults")


def _link(attributes: Mapping[str, str], text: str, faults: list[Fault]) -> Link:
    url, _, fragment = attributes["href"].partition("#")
    filename = last_part(url)
    sha256 = fragment[7:] if fragment.startswith("sha256=") else None
    function, equals, digest = fragment.partition("=")
    get = attributes.get
    core, legacy = get("data-core-metadata"), get("data-dist-info-metadata")
    return Link(
        filename,
        url,
        sha256,
        _size(filename, get("data-size"), faults),
        get("data-requires-python"),
        core,
        None if legacy == core else legacy,
        get("data-upload-time"),
        get("data-yanked"),
        {function: digest} if equals and sha256 is None else None,
        get("data-provenance"),
        get("data-gpg-sig"),
        text,
    )


def _size(filename: str, text: str | None, faults: list[Fault]) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text)
    faults.append(Fault(key="size", problem=f"{printable(filename)} has the size {text!r:.80}"))
    return None


SIZES: Final = (30, 10, 5, 1)
"""Numbers of releases of a page; each divides the one before, so that a smaller page can begin at the same release."""
LARGEST: Final = SIZES[0]


def smaller_page(url: str) -> str | None:
    """Return the URL of a page with fewer releases and the same first one; None if it cannot be smaller."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    size, number = (asked.get(name, ["1"])[0] for name in ("per_page", "page"))
    smaller = next((after for before, after in pairwise(SIZES) if str(before) == size), None)
    if smaller is None or not number.isdecimal() or len(number) > MAX_DIGITS:
        return None
    first = (int(number) - 1) * int(size)
    return parts._replace(query=urlencode({"per_page": smaller, "page": first // smaller + 1})).geturl()
