"""News of a package: its latest wheels, Atom feeds, a picture of its history, and badges.

https://www.rfc-editor.org/rfc/rfc4287
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from html import escape
from itertools import accumulate, pairwise
from typing import Final
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from packaging.version import Version
from pydantic_core import to_json

from wheelmill.index.render import in_utc
from wheelmill.index.site.packages import Wheels
from wheelmill.index.site.wheels import Groups, Trees, WheelGroup, in_url, package_folder
from wheelmill.names import ProjectName, StableTorch
from wheelmill.system.progress import number_of
from wheelmill.wheel.label import age_of, words_for

SHOWN: Final = 50
"""Entries of a page or a feed: readers look more often than that many releases are made."""


@dataclass(frozen=True, kw_only=True)
class News:
    """Wheels that were published together."""

    published: datetime
    project: ProjectName
    version: str
    wheels: int
    url: str
    """URL of the first of them by name; absolute, or relative to the root of the site."""
    facts: tuple[str, ...]
    """Targets: ``torch 2.8 to 2.11``, ``CUDA 12.8, 13.0``, ``Linux x86_64``."""

    @property
    def day(self) -> str:
        """Day of publication: ``2026-11-21``."""
        return f"{self.published:%Y-%m-%d}"

    @property
    def page(self) -> str:
        """Page of the version, below the root of the site."""
        return in_url(f"{package_folder(self.project)}{self.version}/")

    @property
    def title(self) -> str:
        """Title such as ``flash-attn 2.8.3: 12 wheels``."""
        return f"{self.project} {self.version}: {number_of(self.wheels, 'wheel')}"

    @property
    def summary(self) -> str:
        """Sentence such as ``For torch 2.11, CUDA 13.0, Linux x86_64``."""
        return f"For {', '.join(self.facts)}."


def news_of(project: ProjectName, groups: Sequence[WheelGroup], limit: int = SHOWN) -> tuple[News, ...]:
    """Return the latest publications of a project, the newest first, and for equal times the newest version first.

    `groups` excludes yanked wheels. Wheels of a folder have no time and are no news.
    """
    together: dict[tuple[datetime, str], list[WheelGroup]] = defaultdict(list)
    for group in groups:
        for published in {wheel.file.uploaded_at for wheel in group.wheels if wheel.file.uploaded_at}:
            together[published, group.kind.version].append(group)
    ages = {version: Version(version) for version in {version for _, version in together}}
    newest = sorted(together, key=lambda key: (key[0], ages[key[1]]), reverse=True)[:limit]
    return tuple(_news(published, project, version, together[published, version]) for published, version in newest)


def newest_of(news: Iterable[News]) -> tuple[News, ...]:
    """Return the latest of some news; those of one project at one time keep their order."""
    return tuple(sorted(news, key=lambda each: (-each.published.timestamp(), each.project))[:SHOWN])


def _news(published: datetime, project: ProjectName, version: str, groups: Sequence[WheelGroup]) -> News:
    files = [wheel.file for group in groups for wheel in group.wheels if wheel.file.uploaded_at == published]
    together = Wheels(groups=tuple(groups))
    cudas = (f"CUDA {', '.join(map(str, together.cudas))}",) if together.cudas else ()
    return News(
        published=published,
        project=project,
        version=version,
        wheels=len(files),
        url=min(files, key=lambda file: file.filename).url,
        facts=(*together.torches, *cudas, *together.platforms),
    )


FEED: Final = "feed.xml"
_NEVER: Final = "1970-01-01T00:00:00Z"
"""Update time of an empty feed, since Atom requires one."""


def feed_of(news: Sequence[News], *, title: str, page: str, root: str, site_url: str) -> bytes:
    """Write a feed: the same news give the same bytes.

    `news` has the newest first. `page` is the folder of the feed's page, below the root of the site; `root` is the path
    from the feed to that root. Without `site_url`, links are relative to the feed.
    """
    above = site_url or root
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    _text(feed, "id", _identity(news, page))
    _text(feed, "title", title)
    _text(feed, "updated", in_utc(news[0].published) if news else _NEVER)
    _text(SubElement(feed, "author"), "name", "wheelmill")
    SubElement(feed, "link", rel="alternate", type="text/html", href=above + page)
    if site_url:
        SubElement(feed, "link", rel="self", type="application/atom+xml", href=f"{site_url}{page}{FEED}")
    for item in news:
        entry = SubElement(feed, "entry")
        _text(entry, "id", _identity([item], f"{item.project}/{item.version}/{in_utc(item.published)}"))
        _text(entry, "title", item.title)
        _text(entry, "updated", in_utc(item.published))
        SubElement(entry, "link", rel="alternate", type="text/html", href=above + item.page)
        _text(entry, "summary", item.summary)
    indent(feed)
    written: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _identity(news: Sequence[News], name: str) -> str:
    """Return the permanent ID of a feed or an entry: its name and the place of the releases, as the site may move."""
    store = posixpath.dirname(posixpath.dirname(news[0].url)) if news else ""
    return uuid5(NAMESPACE_URL, f"{store}/{name}").urn


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = text


Points = tuple[tuple[date, int], ...]
"""Counts, each from a day on; ascending."""

_WIDTH: Final = 360
_HEIGHT: Final = 70
"""Height of one curve, whose title stands above it."""
_TITLE: Final = 22
_STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#5d636b}"
    "polyline{fill:none;stroke:#0d7a66;stroke-width:2;stroke-linejoin:round}line{stroke:#e2dfd9}"
    "@media(prefers-color-scheme:dark){text{fill:#9aa1a9}polyline{stroke:#5ec9b0}line{stroke:#2c3137}}"
)


@dataclass(frozen=True, kw_only=True)
class History:
    """History of one package."""

    wheels: Points
    downloads: Points
    """The downloads, for every day that they were counted; empty if they never were."""

    @property
    def words(self) -> tuple[str, ...]:
        """Captions such as ``12 wheels`` and ``3,456 downloads until 2026-11-23``."""
        day, count = self.downloads[-1] if self.downloads else (None, 0)
        wheels = number_of(self.wheels[-1][1], "wheel")
        return (wheels, *([f"{number_of(count, 'download')} until {day}"] if day else []))

    @property
    def height(self) -> int:
        """Pixels of the picture, which is 360 wide."""
        return len(self.words) * (_TITLE + _HEIGHT) + _TITLE

    @property
    def svg(self) -> bytes:
        """Curve of the wheels, and one of the downloads if they are known, over the same days."""
        said = escape("; ".join(self.words))
        days = [day for day, _ in (*self.wheels, *self.downloads)]
        first, last = min(days) - timedelta(days=1), max(days)
        curves = (_steps(((first, 0), *self.wheels), last), self.downloads)
        drawn = "".join(
            f'<g transform="translate(0 {number * (_TITLE + _HEIGHT)})"><text x="0" y="15">{escape(words)}</text>'
            f'<line x1="0" x2="{_WIDTH}" y1="{_TITLE + _HEIGHT - 2}" y2="{_TITLE + _HEIGHT - 2}"/>'
            f'<polyline points="{_places(curve, first, last)}"/></g>'
            for number, (words, curve) in enumerate(zip(self.words, curves, strict=False))
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {self.height}" width="{_WIDTH}"'
            f' height="{self.height}" role="img"><title>{said}</title><style>{_STYLE}</style>{drawn}'
            f'<text x="0" y="{self.height - 5}">{first}</text>'
            f'<text x="{_WIDTH}" y="{self.height - 5}" text-anchor="end">{last}</text></svg>\n'
        ).encode()


def histories_of(groups: Groups, downloads: Mapping[date, Mapping[ProjectName, int]]) -> Mapping[ProjectName, History]:
    """Return the history of each package; `groups` excludes yanked wheels, `downloads` are totals by day."""
    histories = {}
    for project, of_project in groups.items():
        times = (wheel.file.uploaded_at for group in of_project for wheel in group.wheels)
        published = Counter(time.date() for time in times if time)
        if days := sorted(published):
            wheels = tuple(zip(days, accumulate(published[day] for day in days), strict=True))
            counted = tuple((day, counts[project]) for day, counts in downloads.items() if project in counts)
            histories[project] = History(wheels=wheels, downloads=counted)
    return histories


def _steps(points: Points, last: date) -> Points:
    """Return the points of a step function: a number stays the same until it changes."""
    corners = [(day, before) for (_, before), (day, _) in pairwise(points)]
    return tuple(sorted((*points, *corners, (last, points[-1][1]))))


def _places(points: Points, first: date, last: date) -> str:
    """Return the positions of the points: of those on one pixel, the lowest and the highest."""
    days, most = max((last - first).days, 1), max(count for _, count in points) or 1
    places = dict.fromkeys(
        (round((day - first).days / days * _WIDTH), round(_TITLE + (1 - count / most) * (_HEIGHT - 4), 1))
        for day, count in points
    )
    return " ".join(f"{x},{y}" for x, y in places)


_LABEL: Final = "CUDA wheels"
_LETTER: Final = 6.8
_NARROW: Final = dict.fromkeys(" .,:il", 3.8)
"""Pixels that a letter takes, about: the width is set in the picture, so that no font changes it."""
_PADDING: Final = 12


@dataclass(frozen=True, kw_only=True)
class Badge:
    """Content of a badge."""

    message: str
    colour: str
    """White text can be read on it."""

    @property
    def words(self) -> str:
        """Text such as ``CUDA wheels: 2.8.3, torch 2.11``."""
        return f"{_LABEL}: {self.message}"

    @property
    def json(self) -> bytes:
        """JSON for an endpoint badge (https://shields.io/badges/endpoint-badge)."""
        colour = self.colour.removeprefix("#")
        return to_json({"schemaVersion": 1, "label": _LABEL, "message": self.message, "color": colour})

    @property
    def svg(self) -> bytes:
        """Picture that needs no other host."""
        texts = (_LABEL, self.message)
        left, right = (round(sum(_NARROW.get(letter, _LETTER) for letter in text)) + _PADDING for text in texts)
        words = "".join(
            f'<text x="{middle}" y="14" textLength="{width - _PADDING}">{escape(text)}</text>'
            for text, middle, width in zip(texts, (left / 2, left + right / 2), (left, right), strict=True)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
            f"<title>{escape(self.words)}</title>"
            f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
            f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3f444b"/>'
            f'<rect x="{left}" width="{right}" height="20" fill="{self.colour}"/></g>'
            '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
            f"{words}</g></svg>\n"
        ).encode()


_GOOD: Final = "#0d7a66"
_OLD: Final = "#a8431f"
_NONE: Final = Badge(message="none yet", colour="#5d636b")


def badge_of(groups: Sequence[WheelGroup], torches: Trees) -> Badge:
    """Return a project's badge, green if its newest version is for the newest torch of this index, or for any.

    `groups` has the newest version first; `torches` are those with a tree, by CUDA.
    """
    if not groups:
        return _NONE
    version = groups[0].kind.version
    best = max((group.kind.torch for group in groups if group.kind.version == version), key=age_of)
    newest = max((torch for each in torches.values() for torch in each if not torch.is_candidate), default=None)
    fits = newest is None or best is None or (newest in best if isinstance(best, StableTorch) else best >= newest)
    message = f"{version}, {words_for(best)}" if best else version
    return Badge(message=message, colour=_GOOD if fits else _OLD)
