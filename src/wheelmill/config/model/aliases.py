"""Names under which wheels are asked for by their CUDA major: with a suffix, as in ``demo-cu13``, and with extras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from wheelmill.config.annotations import After, Entry, KeyPath
from wheelmill.config.fields import Name, Truth
from wheelmill.names import ProjectName
from wheelmill.wheel.metadata import reservation

_SUFFIX: Final = "-cu"


def _is_wanted(suffix: object, _above: Mapping[str, Any]) -> object:
    if not suffix:
        raise ValueError("expected true: leave aliases out where there are none")
    return suffix


@dataclass(frozen=True, kw_only=True)
class Aliases(Entry):
    """Wheels that hold nothing, and require those of a package."""

    suffix: Annotated[Truth, After(_is_wanted)]
    """``true``: a project for each CUDA major, such as demo-cu13."""
    extras: Name | None = None
    """A project with an extra for each CUDA major: demo-gpu, for demo-gpu[cuda13], which requires demo-cu13."""
    pypi: Literal["absent", "same"] = "absent"
    """What the package index has under all of these names: ``absent``, nothing; ``same``, projects of your own, which
    keep others from taking the names."""

    def names(self, project: ProjectName, majors: Iterable[int]) -> Iterator[ProjectName]:
        """The projects that a package has beside itself when there are wheels for these CUDA majors."""
        yield from (with_suffix(project, major) for major in majors)
        if self.extras:
            yield self.extras


def with_suffix(project: ProjectName, major: int) -> ProjectName:
    """``demo-cu13``."""
    return ProjectName(f"{project}{_SUFFIX}{major}")


def faults_of_aliases(
    aliased: Mapping[ProjectName, Aliases], packages: Collection[ProjectName]
) -> Iterator[tuple[KeyPath, str]]:
    """Aliases with names of others, in this file or everywhere.

    Args:
        aliased: the aliases of each package that has some.
        packages: all packages of the file.
    """
    for name in packages:
        if (owner := _without_suffix(name)) in aliased:
            yield ("packages", name), f"is the name of an alias of {owner}, whose entry has 'aliases'"
    extras = Counter(aliases.extras for aliases in aliased.values())
    for name, aliases in aliased.items():
        place = ("packages", name, "aliases", "extras")
        if aliases.extras is None:
            continue
        if reason := reservation(aliases.extras):
            yield place, reason
        if aliases.extras in packages:
            yield place, f"there is a package {aliases.extras} in this file; take another name"
        if (owner := _without_suffix(aliases.extras)) in aliased:
            yield place, f"{aliases.extras} is an alias of {owner} for a CUDA major; take another name"
        if extras[aliases.extras] > 1:
            yield place, f"another package of this file has the extras {aliases.extras} as well; choose another name"


def _without_suffix(name: ProjectName) -> ProjectName | None:
    """``demo`` of ``demo-cu13``; None for a name that ends otherwise."""
    project, suffix, major = name.rpartition(_SUFFIX)
    return ProjectName(project) if suffix and major.isdecimal() else None
