"""Tables inside a package's entry: aliases, git source, requirements, system packages, matrix rules and GPUs."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from wheelmill.config.fields import (
    After,
    Architectures,
    Either,
    Entry,
    Items,
    KeyPath,
    Name,
    Platforms,
    Range,
    Requirements,
    Text,
    Truth,
    text_that,
)
from wheelmill.config.model.package_fields import ArchForm, Arguments, GitRef, GitUrl, Subfolder, Variable
from wheelmill.names import Architecture, Platform, ProjectName, ProjectVersion, PythonVersion, StableTorch
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
    """Projects under all of these names on the package index: ``absent``, none; ``same``, projects of your own, which
    keep others from taking the names."""

    def names(self, project: ProjectName, majors: Iterable[int]) -> Iterator[ProjectName]:
        """Further projects of a package that has wheels for these CUDA majors."""
        yield from (with_suffix(project, major) for major in majors)
        if self.extras:
            yield self.extras


def with_suffix(project: ProjectName, major: int) -> ProjectName:
    """Return the alias of a project for a CUDA major: ``demo-cu13``."""
    return ProjectName(f"{project}{_SUFFIX}{major}")


def faults_of_aliases(
    aliased: Mapping[ProjectName, Aliases], packages: Collection[ProjectName]
) -> Iterator[tuple[KeyPath, str]]:
    """Aliases with the names of other projects, in this file or everywhere."""
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
    """Return ``demo`` of ``demo-cu13``; None for a name without such a suffix."""
    project, suffix, major = name.rpartition(_SUFFIX)
    return ProjectName(project) if suffix and major.isdecimal() else None


@dataclass(frozen=True, kw_only=True)
class GitSource(Entry):
    """A git repository with the source."""

    git: GitUrl
    """https:// or file://, without a user."""
    ref: GitRef
    """A tag, a branch or a commit; {version} stands for the upstream version."""
    submodules: Truth = False
    subdirectory: Subfolder | None = None
    """The folder in it that is built; patches still apply at the top."""

    def at(self, version: ProjectVersion) -> GitSource:
        """Return the source of one version."""
        return replace(self, ref=self.ref.replace("{version}", version))

    def folder_in(self, checkout: Path) -> Path:
        """Return the folder of a checkout that is built; raises ValueError if it is absent or outside."""
        folder = checkout / (self.subdirectory or ".")
        try:
            goal = folder.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError is Python 3.12's for a link in a circle
            goal = None
        if goal is None or not goal.is_dir():
            raise ValueError(f"{self.git} has no folder '{self.subdirectory}' at {self.ref}")
        if not goal.is_relative_to(checkout.resolve()):
            raise ValueError(f"'{self.subdirectory}' of {self.git} leads out of the repository")
        return folder


def _each_once(requirements: tuple[str, ...], above: Mapping[str, Any]) -> tuple[str, ...]:
    names = projects_of(requirements)
    if "torch" in names:
        raise ValueError("what wheels require of torch comes from the torch that they are built for")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{twice[0]} is here more than once")
    for key, others in above.items():
        if both := [name for name in names if name in projects_of(others)]:
            raise ValueError(f"{both[0]} is also under '{key}'")
    return requirements


@dataclass(frozen=True, kw_only=True)
class RequiresDist(Entry):
    """Changes to the requirements in a wheel's METADATA, each of another project."""

    remove: Annotated[tuple[Name, ...], Items(), After(_each_once)] = ()
    """Projects that are no longer required, whatever the extra or the environment that they were required for."""
    replace: Annotated[Requirements, After(_each_once)] = ()
    """Requirements that take the place of all that is required of the same project."""
    add: Annotated[Requirements, After(_each_once)] = ()
    """Requirements on projects that were not required."""

    def kept_of(self, requirements: Iterable[str]) -> Iterator[str]:
        """Yield the requirements of projects that are neither removed nor replaced."""
        changed = {*self.remove, *projects_of(self.replace)}
        return (text for text in requirements if changed.isdisjoint(projects_of([text])))


def projects_of(requirements: Iterable[str]) -> tuple[str, ...]:
    """Return the normalized names of required projects."""
    return tuple(canonicalize_name(Requirement(text).name) for text in requirements)


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*[A-Za-z0-9+]")
"""Name of a system package without a version. apt-get removes a package whose name ends with a hyphen.
https://www.debian.org/doc/debian-policy/ch-controlfields.html#source
https://docs.fedoraproject.org/en-US/packaging-guidelines/Naming/
"""

SystemPackageNames = Annotated[
    tuple[Annotated[str, text_that(_NAME.fullmatch, "the name of a package such as 'sparsehash-devel'")], ...],
    Items(at_least=1),
]


@dataclass(frozen=True, kw_only=True)
class SystemPackages(Entry):
    """Packages of the operating system, by their names for each package manager."""

    dnf: SystemPackageNames | None = None
    """For AlmaLinux, which the images of Docker builds are made of, with EPEL; and for Fedora."""
    apt: SystemPackageNames | None = None
    """For Debian and Ubuntu."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The range of a part of the matrix on one axis."""

    axis: str
    """The name of the axis in a cell."""
    text: str
    """The axis and its range for people: ``Python >=3.11``."""
    admits: Callable[[Any], bool]
    """Test of a value of the axis, cached, since a plan asks for 100,000 cells."""


@dataclass(frozen=True, kw_only=True)
class Part(Entry):
    """A part of the matrix: every axis that is given must match."""

    version: Range | None = None
    python: Range | None = None
    cuda: Range | None = None
    torch: Range | None = None
    platform: Platforms | None = None

    @functools.cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The axes that are given."""
        ranges = (("Python", self.python), ("CUDA", self.cuda), ("torch", self.torch))
        bounds = [
            Bound(axis=word.lower(), text=f"{word} {values}", admits=functools.cache(functools.partial(_is_in, values)))
            for word, values in (("version", self.version), *ranges)
            if values is not None
        ]
        if (platforms := self.platform) is not None:
            bounds.append(
                Bound(axis="platform", text=", ".join(map(str, platforms)), admits=frozenset(platforms).__contains__)
            )
        return tuple(bounds)


def _is_in(values: SpecifierSet, value: object) -> bool:
    """Return True if a range has a version; None and a range of torches are in no range."""
    match value:
        case None | StableTorch():
            return False
        case PythonVersion(major=major, minor=minor):
            return values.contains(f"{major}.{minor}", prereleases=True)
        case version:
            return values.contains(str(version), prereleases=True)


@dataclass(frozen=True, kw_only=True)
class Window(Part):
    """Part of the matrix that may have to do without free-threaded Pythons."""

    free_threaded: Truth = True
    """False leaves them out."""

    @functools.cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The axes that are given, and the Pythons with a GIL."""
        with_gil = Bound(axis="python", text="Pythons with a GIL", admits=lambda python: not python.free_threaded)
        return super().bounds if self.free_threaded else (*super().bounds, with_gil)


@dataclass(frozen=True, kw_only=True)
class Defaults(Entry):
    """Values for packages that leave a key out. What is outside of a range is built if it is asked for."""

    python: Range | None = None
    """Pythons: ">=3.10"."""
    cuda: Range | None = None
    """CUDA releases: ">=12.6"."""
    torch: Range | None = None
    """torch minor releases: ">=2.10"."""
    platforms: Platforms | None = None
    free_threaded: Truth = True
    """False leaves free-threaded Pythons out."""
    build_args: Arguments | None = None
    """Options of the build: --no-build-isolation."""
    architectures: Architectures | None = None
    """GPU architectures as TORCH_CUDA_ARCH_LIST writes them."""


BUILD_DEFAULTS: Final = ("build_args", "architectures")
"""Keys whose defaults decide how a package is built; the others decide what is planned."""


@dataclass(frozen=True, kw_only=True)
class MatrixRule(Part):
    """A part of the matrix that is treated differently, and why."""

    reason: Text
    """Reason for people who miss a wheel."""
    since: dt.date | None = None
    """Date of the rule; required if it excludes the newest torch, so that it is reviewed."""

    @property
    def explained(self) -> str:
        """``its code is for torch 2.8 (since 2026-11-21)``."""
        return f"{self.reason} (since {self.since})" if self.since else self.reason


@dataclass(frozen=True, kw_only=True)
class ArchitectureRule(Part):
    """The GPU architectures of a part of the matrix."""

    list: Architectures
    """As TORCH_CUDA_ARCH_LIST writes them."""


@dataclass(frozen=True, kw_only=True)
class ArchVariable(Entry):
    """A package's own variable for GPU architectures, where it does not read TORCH_CUDA_ARCH_LIST."""

    name: Variable
    form: ArchForm
    """``dotted`` writes 8.0;9.0, ``digits`` writes 80;90, ``cmake`` writes 80-real;90, whose 90 has PTX."""


ListedArchitectures = tuple[Architecture | ArchitectureRule, ...]
"""Architectures, or rules for them of which the first that matches decides; never both."""


def _of_one_kind(items: ListedArchitectures, _above: Mapping[str, Any]) -> ListedArchitectures:
    if len({type(item) for item in items}) > 1:
        raise ValueError("expected either GPU architectures or rules with a 'list' of them, not both")
    return items


ArchitecturesOrRules = Annotated[
    tuple[Annotated[Architecture | ArchitectureRule, Either(dict, ArchitectureRule, Architecture)], ...],
    Items(at_least=1),
    After(_of_one_kind),
]

DEFAULT_ARCHITECTURES: Final = (
    ArchitectureRule(
        platform=(Platform("linux", "aarch64"),),
        list=tuple(map(Architecture.parse, ("8.0", "9.0", "10.0", "11.0", "12.0+PTX"))),
    ),
    ArchitectureRule(list=tuple(map(Architecture.parse, ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")))),
)
"""Those of torch's own wheels (https://github.com/pytorch/pytorch/issues/172663), with PTX for what comes later.

Within a major, machine code runs on later minors, 12.1 among them. On Jetson it does not: 11.0 is Thor, and for 8.7,
Orin, torch has no wheels.
"""
