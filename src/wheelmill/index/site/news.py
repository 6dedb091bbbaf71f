"""What is new: wheels of one version of a package that were published together, the newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

from packaging.version import Version

from wheelmill.index.site.addresses import in_url, package_folder
from wheelmill.index.site.packages import Wheels
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.names import ProjectName
from wheelmill.system.progress import number_of

SHOWN: Final = 50
"""Of a page or a feed: readers look more often than that many releases are made."""


@dataclass(frozen=True, kw_only=True)
class News:
    """Wheels that were published together."""

    published: datetime
    project: ProjectName
    version: str
    wheels: int
    url: str
    """Of the first of them by its name; absolute, or relative to the root of the site."""
    facts: tuple[str, ...]
    """What they are for: ``torch 2.8 to 2.11``, ``CUDA 12.8, 13.0``, ``Linux x86_64``."""

    @property
    def day(self) -> str:
        """``2026-11-21``."""
        return f"{self.published:%Y-%m-%d}"

    @property
    def page(self) -> str:
        """The page of the version, below the root of the site."""
        return in_url(f"{package_folder(self.project)}{self.version}/")

    @property
    def title(self) -> str:
        """``flash-attn 2.8.3: 12 wheels``."""
        return f"{self.project} {self.version}: {number_of(self.wheels, 'wheel')}"

    @property
    def summary(self) -> str:
        """``For torch 2.11, CUDA 13.0, Linux x86_64``, as a sentence."""
        return f"For {', '.join(self.facts)}."


def news_of(groups: Mapping[ProjectName, Sequence[WheelGroup]], limit: int = SHOWN) -> tuple[News, ...]:
    """What was published last; wheels of a folder have no time and are no news.

    Args:
        groups: the wheels of each project that are not yanked.
        limit: how much of it is wanted.
    """
    of_each = (_news_of_project(project, of_project, limit) for project, of_project in groups.items())
    return newest_of(chain.from_iterable(of_each), limit)


def newest_of(news: Iterable[News], limit: int = SHOWN) -> tuple[News, ...]:
    """What of some news was published last; of one project at one time, in the order that it has."""
    return tuple(sorted(news, key=lambda each: (-each.published.timestamp(), each.project))[:limit])


def _news_of_project(project: ProjectName, groups: Sequence[WheelGroup], limit: int) -> Iterator[News]:
    """The newest first, and of one time the newest version."""
    together: dict[tuple[datetime, str], list[WheelGroup]] = defaultdict(list)
    for group in groups:
        for published in {wheel.file.uploaded_at for wheel in group.wheels if wheel.file.uploaded_at}:
            together[published, group.kind.version].append(group)
    ages = {version: Version(version) for version in {version for _, version in together}}
    newest = sorted(together, key=lambda key: (key[0], ages[key[1]]), reverse=True)[:limit]
    return (_news(published, project, version, together[published, version]) for published, version in newest)


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
