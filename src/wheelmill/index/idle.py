"""Lines of ``yanked.yml`` and ``removed.yml`` that do nothing, most likely because a name in them is mistyped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from packaging.requirements import Requirement

from wheelmill.config.model import Listing
from wheelmill.names import words_like
from wheelmill.release.manifest import ListedRelease
from wheelmill.wheel.name import WheelName, wheel_behind


def idle_lines(listing: Listing, releases: Sequence[ListedRelease], deployed: Collection[str]) -> Iterator[str]:
    """Name the lines that match no wheel, so that the wheels they were meant for stay listed.

    They are not errors: a line may outlive the release of its wheel.

    Args:
        listing: the lines of both files.
        releases: every release.
        deployed: the file names of the index that people use now.
    """
    yanked, removed = listing.yanked, listing.removed
    if not (removed.wheels or yanked.wheels or yanked.versions or yanked.projects):
        return
    filenames = {*chain.from_iterable((wheel.filename for wheel in each.wheels) for each in releases), *deployed}
    for file, wheels in ("removed.yml", removed.wheels), ("yanked.yml", yanked.wheels):
        for filename in sorted(wheels.keys() - filenames):
            start = filename.partition("-")[0] + "-"
            alike = words_like(filename, (each for each in filenames if each.startswith(start)))
            yield _idle(f"{file}: wheels.{filename}: no release has that wheel", alike)
    if not (yanked.versions or yanked.projects):
        return
    names = [name for name in map(wheel_behind, filenames) if name]
    projects = {name.project for name in names}
    for requirement in yanked.versions:
        if not any(_is_about(requirement, name) for name in names):
            alike = [] if requirement.name in projects else words_like(requirement.name, projects)
            yield _idle(f"yanked.yml: versions.{requirement}: no release has such a wheel", alike)
    for project in sorted(yanked.projects.keys() - projects):
        yield _idle(f"yanked.yml: projects.{project}: no release has a wheel of it", words_like(project, projects))


def _idle(text: str, alike: Sequence[str]) -> str:
    return f"{text}, so the line does nothing{f'; did you mean {alike[0]}?' if alike else ''}"


def _is_about(requirement: Requirement, name: WheelName) -> bool:
    return requirement.name == name.project and requirement.specifier.contains(name.version, prereleases=True)
