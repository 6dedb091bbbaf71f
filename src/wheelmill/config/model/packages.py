"""``packages.yml``: how packages are built, for what, and what their wheels must do."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from wheelmill.config.annotations import After, ConfigFile, Either, Entry, Items, KeyPath
from wheelmill.config.fields import (
    Architectures,
    Name,
    Platforms,
    Range,
    Requirements,
    Text,
    Truth,
    UpstreamVersions,
    WholeNumber,
)
from wheelmill.config.package_fields import (
    ISOLATED,
    AllowedCode,
    Arguments,
    CxxStandard,
    File,
    Folder,
    Gigabytes,
    GitRef,
    GitUrl,
    Licence,
    Minutes,
    Modules,
    Parts,
    Runner,
    Script,
    Variable,
)
from wheelmill.names import Architecture, ProjectName, ProjectVersion, StableTorch, TorchVersion
from wheelmill.wheel.findings import Code
from wheelmill.wheel.reserved import reservation

EVERY_BUILD_NEEDS: Final = ("setuptools", "wheel")
"""Installed for every build: most have no isolation and take them for granted."""

DEFAULT_ARCHITECTURES: Final = tuple(map(Architecture.parse, ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")))
"""Turing to Blackwell, with PTX for what comes later; within a major, machine code runs on later minors."""

_NO_AXIS: Final = "torch is no axis of a package with torch_abi; what it is for stands there"

Need = Literal["torch", "cuda", "nvrtc", "driver"]
"""What a wheel is linked to or loads: torch, CUDA without torch, CUDA's run-time compiler, libcuda.so.1."""


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What a wheel must do once it is installed, and what it may ask for."""

    imports: tuple[str, ...]
    """Modules that must be importable."""
    script: str | None = None
    """Python that is run with it where there is a GPU."""
    requires: tuple[ProjectName, ...] = ()
    """Packages of ours that are installed beside it, and so built before it."""
    needs: tuple[Need, ...] = ()
    cudart: Literal["shared", "static"] | None = None
    """How it holds the CUDA runtime; None does not say."""
    allow: Mapping[Code, str] = field(default_factory=dict)
    """Faults that are no reason to refuse it, each with the reason why."""


@dataclass(frozen=True, kw_only=True)
class Part(Entry):
    """A part of the matrix: every axis that is given must match."""

    version: Range | None = None
    python: Range | None = None
    cuda: Range | None = None
    torch: Range | None = None
    platform: Platforms | None = None


@dataclass(frozen=True, kw_only=True)
class Defaults(Entry):
    """What is built of packages that say nothing of an axis. Whoever asks for a value gets it all the same."""

    python: Range | None = None
    """Pythons: ">=3.10"."""
    cuda: Range | None = None
    """CUDA releases: ">=12.6"."""
    torch: Range | None = None
    """torch minor releases: ">=2.10"."""
    platforms: Platforms | None = None


@dataclass(frozen=True, kw_only=True)
class MatrixRule(Part):
    """A part of the matrix that is treated differently, and why."""

    reason: Text
    """Why; people who miss a wheel will read it."""
    since: dt.date | None = None
    """Since when. Must be there where the newest torch is left out, so that nobody forgets to look again."""

    @property
    def explained(self) -> str:
        """``its code is for torch 2.8 (since 2026-11-21)``."""
        return f"{self.reason} (since {self.since})" if self.since else self.reason


@dataclass(frozen=True, kw_only=True)
class ArchVariable(Entry):
    """A package's own variable for GPU architectures, where it does not read TORCH_CUDA_ARCH_LIST."""

    name: Variable
    form: Literal["dotted", "digits"]
    """``dotted`` writes 8.0;9.0, ``digits`` writes 80;90."""


@dataclass(frozen=True, kw_only=True)
class GitSource(Entry):
    """A git repository with the source."""

    git: GitUrl
    """https:// or file://, without a user."""
    ref: GitRef
    """A tag, a branch or a commit; {version} stands for the upstream version."""
    submodules: Truth = False

    def at(self, version: ProjectVersion) -> GitSource:
        """The source of one version."""
        return replace(self, ref=self.ref.replace("{version}", version))


def _cuda_or_torch(needs: tuple[Need, ...], above: Mapping[str, Any]) -> tuple[Need, ...]:
    if "cuda" in needs and ("torch" in needs or has_torch(above.get("extra_deps", ()))):
        raise ValueError("cuda means CUDA without torch, but the package has torch")
    return needs


def _of_listed_versions(source: object, above: Mapping[str, Any]) -> object:
    if source is not None and isinstance(above.get("versions"), SpecifierSet):
        raise ValueError("a range of versions is looked up in the package index; list the versions instead")
    return source


def _beside_torch(abi: StableTorch | None, above: Mapping[str, Any]) -> StableTorch | None:
    if abi is not None and not has_torch(above.get("extra_deps", ("torch",))):
        raise ValueError("says what wheels link to of torch, but extra_deps has no torch")
    return abi


def _sorted(variables: Mapping[str, str], _above: object) -> Mapping[str, str]:
    return dict(sorted(variables.items()))


@dataclass(frozen=True, kw_only=True)
class PackageEntry(Entry):
    """One package: what upstream calls it, how it is built and how it is known to work."""

    versions: Annotated[SpecifierSet | tuple[ProjectVersion, ...] | None, Either(str, Range, UpstreamVersions)] = None
    """Upstream versions in quotes, or a range that `wheelmill config lock` resolves: ">=2.7,<3". May be left out where
    the source is a folder whose pyproject.toml says the version."""
    description: Text = ""
    """One line."""
    licence: Licence | None = None
    """SPDX expression."""
    redistributable: Truth = True
    """Whether the licence lets others be given the wheels; if not, they are planned as skips."""
    source: Annotated[
        Annotated[Path | GitSource, Either(dict, GitSource, Folder)] | None, After(_of_listed_versions)
    ] = None
    """A folder inside the configuration folder, "." for that folder itself, or a git repository, instead of a source
    distribution."""
    patches: tuple[File, ...] = ()
    """Patch files inside the configuration folder, applied in this order with one leading path part removed."""
    build_args: Arguments = ISOLATED
    """--no-build-isolation and --config-settings=KEY=VALUE."""
    extra_deps: Requirements = ()
    """Requirements of the build; torch among them makes torch an axis of the matrix."""
    requires: tuple[Name, ...] = ()
    """Packages of this file that are built before it and installed beside it."""
    abi: Literal["cpython", "abi3", "none"] = "cpython"
    """ABI tag of its wheels: cpython gives every Python its own, abi3 and none give all of them one. The oldest Python
    that the source and ``python`` allow builds it: where a source has ``py_limited_api="cp310"`` and does not say that
    it requires Python 3.10, ``python: ">=3.10"`` says it."""
    needs: Annotated[tuple[Need, ...], Items(or_one=True), After(_cuda_or_torch)] = ()
    """What its wheels are linked to or load: torch (also when extra_deps has it), cuda alone, nvrtc, the driver."""
    cudart: Literal["shared", "static"] | None = None
    """How its wheels hold the CUDA runtime; a wheel that differs is refused."""
    allow: Mapping[AllowedCode, Text] = field(default_factory=dict)
    """Codes of docs/smoke.md for which its wheels are not refused, each with the reason why."""
    env: Annotated[Mapping[Variable, Text], After(_sorted)] = field(default_factory=dict)
    """Environment variables of the build."""
    cxx_standard: CxxStandard | None = None
    """The C++ standard that a source which asks for an older one is compiled with; by default the one that torch's
    headers need. ``as-is`` leaves it to the source."""
    architectures: Architectures = DEFAULT_ARCHITECTURES
    """GPU architectures as TORCH_CUDA_ARCH_LIST writes them."""
    arch_variable: ArchVariable | None = None
    python: Range | None = None
    """Pythons to build for: ">=3.10"."""
    cuda: Range | None = None
    """CUDA releases to build for: ">=12.4,<14"."""
    torch: Range | None = None
    """torch minor releases to build for: ">=2.6"."""
    torch_abi: Annotated[StableTorch | None, After(_beside_torch)] = None
    """What its wheels link to is torch's stable ABI alone, as it is from one torch on: {stable: "2.10"}, or
    {stable: "2.10", below: "2.16"}. Torch is then no axis: one wheel serves every torch of the range."""
    platforms: Platforms | None = None
    exclude: tuple[MatrixRule, ...] = ()
    """Combinations that upstream cannot build, each with its reason."""
    include: tuple[MatrixRule, ...] = ()
    """Combinations that exist although compatibility.yml does not list them, each with its reason."""
    test_import: Modules | None = None
    """What must be importable after installation: a module, or several."""
    smoke_script: Script | None = None
    """A Python file inside the configuration folder that is run with the wheel where there is a GPU."""
    runner: Runner | None = None
    """Which of GitHub's own machines build it; by default the newest for the platform."""
    seconds: WholeNumber | None = None
    """Seconds that a wheel takes to build for each of its GPU architectures, until published wheels tell;
    `wheelmill run --measure` writes it."""
    memory_per_job: Gigabytes | None = None
    """GB that one compiler takes at its peak."""
    shards_per_wheel: Parts | None = None
    """Jobs that compile a part of its source each, before one links them; by default as many as ``seconds`` asks for,
    which is none where one job has the time."""
    timeout: Minutes | None = None
    """Minutes after which a build is ended."""


@dataclass(frozen=True, kw_only=True)
class Package(PackageEntry):
    """An entry of ``packages.yml`` by its name, and with the versions that a range has in the lock.

    Its paths begin with the configuration folder, `smoke_script` is the script itself, `memory_per_job` is in bytes and
    `timeout` in seconds.
    """

    name: ProjectName
    versions: tuple[ProjectVersion, ...]
    directory: Path = field(default=Path(), compare=False)
    """The configuration folder: nothing that a build reads of it may lead out of it."""
    version_range: SpecifierSet | None = None
    """What the lock resolves `versions` from; None where they are listed."""
    window: Part = field(default_factory=Part)
    """What it is built for unless somebody asks for more: the defaults of the file where its entry says nothing."""

    @functools.cached_property
    def expectations(self) -> Expectations:
        """What its wheels must do."""
        torch: set[Need] = {"torch"} if has_torch(self.extra_deps) else set()
        return Expectations(
            imports=self.test_import or (self.name.replace("-", "_"),),
            script=self.smoke_script,
            requires=self.requires,
            needs=tuple(sorted(torch.union(self.needs))),
            cudart=self.cudart,
            allow=self.allow,
        )

    @functools.cached_property
    def scope(self) -> Part:
        """What it is built for."""
        return Part(python=self.python, cuda=self.cuda, torch=self.torch, platform=self.platforms)

    @property
    def needs_torch(self) -> bool:
        """Whether the build links to torch."""
        return "torch" in self.expectations.needs

    @property
    def build_requirements(self) -> tuple[str, ...]:
        """What the build needs beside torch, whose version the target decides."""
        return without_torch(self.extra_deps)


@dataclass(frozen=True, kw_only=True)
class Packages(ConfigFile):
    """``packages.yml``."""

    packages: Mapping[Name, PackageEntry]
    defaults: Defaults = field(default_factory=Defaults)

    def window_of(self, entry: PackageEntry) -> Part:
        """What a package is built for unless somebody asks for more."""
        defaults = self.defaults
        has_axis = has_torch(entry.extra_deps) and entry.torch_abi is None
        return Part(
            python=defaults.python if entry.python is None else None,
            cuda=defaults.cuda if entry.cuda is None else None,
            torch=defaults.torch if entry.torch is None and has_axis else None,
            platform=defaults.platforms if entry.platforms is None else None,
        )

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Packages with names of others, and required ones that are not there or require each other."""
        for name, entry in self.packages.items():
            if reason := reservation(name):
                yield ("packages", name), reason
            if entry.versions is None and not isinstance(entry.source, Path):
                yield ("packages", name, "versions"), "is required"
            for place, required in enumerate(entry.requires):
                if required not in self.packages:
                    yield ("packages", name, "requires", place), f"there is no package {required} in this file"
            if entry.torch_abi:
                yield from ((("packages", name, *key), _NO_AXIS) for key in _torch_keys(entry))
        try:
            TopologicalSorter({name: entry.requires for name, entry in self.packages.items()}).prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))
            yield ("packages", circle[0], "requires"), f"these require each other: {' -> '.join(circle)}"

    def undated_rules(self, newest: TorchVersion) -> Iterator[tuple[KeyPath, str]]:
        """Rules that leave out the newest torch, and do not say since when."""
        for name, entry in self.packages.items():
            for place, rule in enumerate(entry.exclude):
                if rule.since is None and rule.torch and rule.torch.contains(str(newest), prereleases=True):
                    message = f"is required where torch {newest} is left out, the newest: a date such as 2026-11-21"
                    yield ("packages", name, "exclude", place, "since"), message


def _torch_keys(entry: PackageEntry) -> Iterator[KeyPath]:
    """The keys of an entry that take torch for an axis."""
    if entry.torch is not None:
        yield ("torch",)
    if entry.include:
        yield ("include",)
    yield from (("exclude", place, "torch") for place, rule in enumerate(entry.exclude) if rule.torch is not None)


def without_torch(requirements: Iterable[str]) -> tuple[str, ...]:
    """Leave out torch: the target decides its version."""
    return tuple(text for text in requirements if _project_of(text) != "torch")


def has_torch(requirements: Iterable[str]) -> bool:
    """Whether torch is among requirements."""
    return any(_project_of(text) == "torch" for text in requirements)


def _project_of(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)
