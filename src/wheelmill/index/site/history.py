"""A picture of how many wheels a package has, and how often they were downloaded, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from itertools import accumulate, pairwise
from typing import Final

from wheelmill.index.site.wheels import WheelGroup
from wheelmill.names import ProjectName
from wheelmill.system.progress import number_of

Points = tuple[tuple[date, int], ...]
"""How many there were from a day on; ascending."""

_WIDTH: Final = 360
_HEIGHT: Final = 70
"""Of one curve, whose title stands above it."""
_TITLE: Final = 22
_STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#5d636b}"
    "polyline{fill:none;stroke:#0d7a66;stroke-width:2;stroke-linejoin:round}line{stroke:#e2dfd9}"
    "@media(prefers-color-scheme:dark){text{fill:#9aa1a9}polyline{stroke:#5ec9b0}line{stroke:#2c3137}}"
)


@dataclass(frozen=True, kw_only=True)
class History:
    """The history of one package."""

    wheels: Points
    downloads: Points
    """The downloads, for every day that they were counted; empty if they never were."""

    @property
    def words(self) -> tuple[str, ...]:
        """``12 wheels``, ``3,456 downloads until 2026-11-23``."""
        day, count = self.downloads[-1] if self.downloads else (None, 0)
        wheels = number_of(self.wheels[-1][1], "wheel")
        return (wheels, *([f"{number_of(count, 'download')} until {day}"] if day else []))

    @property
    def height(self) -> int:
        """Pixels of the picture, which is 360 wide."""
        return len(self.words) * (_TITLE + _HEIGHT) + _TITLE

    @property
    def svg(self) -> bytes:
        """A curve of the wheels, and one of the downloads where they are known, over the same days."""
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


def histories_of(
    groups: Mapping[ProjectName, Sequence[WheelGroup]], downloads: Mapping[date, Mapping[ProjectName, int]]
) -> Mapping[ProjectName, History]:
    """What became of each package that has wheels with a time.

    Args:
        groups: the wheels of each project that are not yanked.
        downloads: of projects until some days, the first day first.
    """
    published = {project: _published(of_project) for project, of_project in groups.items()}
    return {
        project: History(
            wheels=wheels,
            downloads=tuple((day, counts[project]) for day, counts in downloads.items() if project in counts),
        )
        for project, wheels in published.items()
        if wheels
    }


def _published(groups: Iterable[WheelGroup]) -> Points:
    times = (wheel.file.uploaded_at for group in groups for wheel in group.wheels)
    days = Counter(time.date() for time in times if time)
    ascending = sorted(days)
    return tuple(zip(ascending, accumulate(days[day] for day in ascending), strict=True))


def _steps(points: Points, last: date) -> Points:
    """The points of a step function: a number stays the same until it changes."""
    corners = [(day, before) for (_, before), (day, _) in pairwise(points)]
    return tuple(sorted((*points, *corners, (last, points[-1][1]))))


def _places(points: Points, first: date, last: date) -> str:
    """Where the points are: of those on one pixel, the lowest and the highest."""
    days, most = max((last - first).days, 1), max(count for _, count in points) or 1
    places = dict.fromkeys(
        (round((day - first).days / days * _WIDTH), round(_TITLE + (1 - count / most) * (_HEIGHT - 4), 1))
        for day, count in points
    )
    return " ".join(f"{x},{y}" for x, y in places)
