"""``packages.yml``: how a package is built, for what, what its wheels must do, and rules across all packages."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from packaging.specifiers import SpecifierSet

from wheelmill.config.fields import (
    After,
    ConfigFile,
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
    UpstreamVersions,
    WholeNumber,
)
from wheelmill.config.model import Expectations, Need
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.package_fields import (
    ISOLATED,
    AllowedCode,
    Arguments,
    BuildArguments,
    Component,
    CxxStandard,
    File,
    Flag,
    Folder,
    Gigabytes,
    Licence,
    Minutes,
    Modules,
    Parts,
    Runner,
    Script,
    Variable,
    VariableText,
)
from wheelmill.config.model.package_parts import (
    DEFAULT_ARCHITECTURES,
    Aliases,
    ArchitecturesOrRules,
    ArchVariable,
    Defaults,
    GitSource,
    ListedArchitectures,
    MatrixRule,
    Part,
    RequiresDist,
    SystemPackages,
    Window,
    faults_of_aliases,
    projects_of,
)
from wheelmill.names import ProjectName, ProjectVersion, StableTorch, TorchVersion
from wheelmill.wheel.metadata import reservation

EVERY_BUILD_NEEDS: Final = ("setuptools", "wheel")
"""Installed for every build: most have no isolation and take them for granted."""

Topic = Literal[
    "attention", "state-space", "graph", "3d", "quantization", "inference", "moe", "communication", "training"
]
"""Subjects of packages. Web pages group packages by them, in this order."""

NameElsewhere = Literal["same", "other", "absent"]
"""Project under a package's name on the package index: the same, from the same home; another; none."""


def _cuda_or_torch(needs: tuple[Need, ...], above: Mapping[str, Any]) -> tuple[Need, ...]:
    if "cuda" in needs and ("torch" in needs or has_torch(above.get("extra_deps", ()))):
        raise ValueError("cuda means CUDA without torch, but the package has torch")
    return needs


def _of_listed_versions(source: object, above: Mapping[str, Any]) -> object:
    if source is not None and isinstance(above.get("versions"), SpecifierSet):
        raise ValueError("a range of versions is looked up in the package index; list the versions instead")
    return source


def _as_its_source(claim: NameElsewhere | None, above: Mapping[str, Any]) -> NameElsewhere | None:
    if claim not in (None, "same") and "source" in above and above["source"] is None:
        raise ValueError(f"expected 'same', not '{claim}': its source distribution is of the package index")
    return claim


def _for_some_system(packages: SystemPackages | None, _above: object) -> SystemPackages | None:
    if packages == SystemPackages():
        raise ValueError("expected names under dnf, apt or both")
    return packages


def _beside_torch(abi: StableTorch | None, above: Mapping[str, Any]) -> StableTorch | None:
    if abi is not None and not has_torch(above.get("extra_deps", ("torch",))):
        raise ValueError("is for packages that link to torch, but extra_deps has no torch")
    return abi


ONLY_PLANNED: Final = {"only_planned": True}
"""Metadata of keys that say what is planned, who builds it or what is allowed, or whose files count instead: they leave
a build's identity as it is. All others change it, so that a new one cannot be forgotten."""


@dataclass(frozen=True, kw_only=True)
class PackageEntry(Entry):
    """One package: what upstream calls it, how it is built and how it is known to work."""

    versions: Annotated[SpecifierSet | tuple[ProjectVersion, ...] | None, Either(str, Range, UpstreamVersions)] = field(
        default=None, metadata=ONLY_PLANNED
    )
    """Upstream versions in quotes, or a range that `wheelmill config lock` resolves: ">=2.7,<3". May be left out where
    the source is a folder whose pyproject.toml says the version."""
    description: Text = field(default="", metadata=ONLY_PLANNED)
    """One line."""
    licence: Licence | None = field(default=None, metadata=ONLY_PLANNED)
    """SPDX expression."""
    tags: Annotated[tuple[Topic, ...], Items()] = field(default=(), metadata=ONLY_PLANNED)
    """Subjects: attention, state-space, graph, 3d, quantization, inference, moe, communication, training."""
    redistributable: Truth = field(default=True, metadata=ONLY_PLANNED)
    """False if the licence does not let others be given the wheels: they are planned as skips."""
    source: Annotated[
        Annotated[Path | GitSource, Either(dict, GitSource, Folder)] | None, After(_of_listed_versions)
    ] = field(default=None, metadata=ONLY_PLANNED)
    """A folder inside the configuration folder, "." for that folder itself, or a git repository, instead of a source
    distribution."""
    pypi: Annotated[NameElsewhere | None, After(_as_its_source)] = field(default=None, metadata=ONLY_PLANNED)
    """Project under this name on the package index: ``same``, this one, from the same home; ``other``, another one;
    ``absent``, none. Required of a git source; a source distribution of the package index is the same."""
    aliases: Aliases | None = field(default=None, metadata=ONLY_PLANNED)
    """Further names for its wheels, by CUDA major: {suffix: true, extras: demo-gpu}."""
    patches: tuple[File, ...] = field(default=(), metadata=ONLY_PLANNED)
    """Patch files inside the configuration folder, applied in this order with one leading path part removed."""
    build_args: Arguments | None = None
    """--no-build-isolation and --config-settings=KEY=VALUE."""
    extra_deps: Requirements = ()
    """Requirements of the build; torch among them makes torch an axis of the matrix."""
    system_packages: Annotated[SystemPackages | None, After(_for_some_system)] = None
    """Development packages of the operating system that the build needs: {dnf: [libaio-devel], apt: [libaio-dev]}."""
    requires: tuple[Name, ...] = ()
    """Packages of this file that are built before it and installed beside it."""
    abi: Literal["cpython", "abi3", "abi3t", "none"] = "cpython"
    """ABI tag of its wheels: cpython gives every Python its own, abi3 and none give all of them one, and abi3t adds to
    abi3 one for all free-threaded Pythons from 3.15 on. The oldest Python that the source and ``python`` allow builds
    it: where a source has ``py_limited_api="cp310"`` and does not say that it requires Python 3.10, ``python:
    ">=3.10"`` says it."""
    needs: Annotated[tuple[Need, ...], Items(or_one=True), After(_cuda_or_torch)] = ()
    """Libraries that its wheels link to or load: torch (also if extra_deps has it), cuda alone, nvrtc, the driver."""
    import_needs: Literal["driver"] | None = None
    """Its modules load libcuda.so.1 when they are imported; where there is none, they are imported beside a stub."""
    requires_dist: RequiresDist | None = None
    """Changes to the requirements that the source gives its wheels."""
    cudart: Literal["shared", "static"] | None = None
    """Linkage of the CUDA runtime; a wheel that differs is refused."""
    allow: Mapping[AllowedCode, Text] = field(default_factory=dict, metadata=ONLY_PLANNED)
    """Codes of docs/smoke.md for which its wheels are not refused, each with the reason why."""
    env: Annotated[
        Mapping[Variable, VariableText], After(lambda variables, _above: dict(sorted(variables.items())))
    ] = field(default_factory=dict)
    """Environment variables of the build. {architectures:dotted}, {architectures:digits} and {architectures:cmake} in
    them stand for the GPU architectures in the forms of ``arch_variable``."""
    cxx_standard: CxxStandard | None = None
    """The C++ standard that a source which asks for an older one is compiled with; by default the one that torch's
    headers need. ``as-is`` leaves it to the source."""
    architectures: ArchitecturesOrRules | None = field(default=None, metadata=ONLY_PLANNED)
    """GPU architectures as TORCH_CUDA_ARCH_LIST writes them, or rules for them of which the first that matches decides:
    [{cuda: ">=12.9", platform: [linux_aarch64], list: ["10.0f"]}, {list: ["9.0"]}]."""
    arch_variable: ArchVariable | None = None
    gencode: Literal["replace"] | None = None
    """``replace`` puts these architectures in the place of those that the source hands to nvcc (-gencode, -arch,
    -code), unless all of them are for one kind of GPU alone, as in sm_90a: such a file is written for it."""
    gpu_probe: Literal["as-is"] | None = None
    """By default torch tells a setup.py that asks that the build machine has a GPU of each of these architectures;
    ``as-is`` leaves torch to say what is there."""
    nvcc_flags: tuple[Flag, ...] = ()
    """Flags that nvcc is given after the source's own: [-lineinfo]."""
    compress: Literal["size", "as-is"] | None = None
    """``size`` makes nvcc compress GPU code as well as it can (from CUDA 12.8 on), also where that takes a newer driver
    than the CUDA itself; by default it does where it takes none. ``as-is`` leaves it to nvcc and the source."""
    python: Range | None = field(default=None, metadata=ONLY_PLANNED)
    """Pythons to build for: ">=3.10"."""
    free_threaded: Truth | None = field(default=None, metadata=ONLY_PLANNED)
    """True builds for free-threaded Pythons, too, as ``abi: abi3t`` does; False never does."""
    cuda: Range | None = field(default=None, metadata=ONLY_PLANNED)
    """CUDA releases to build for: ">=12.4,<14"."""
    torch: Range | None = field(default=None, metadata=ONLY_PLANNED)
    """torch minor releases to build for: ">=2.6"."""
    variants: Truth = False
    """True lets `wheelmill release variants` make variant wheels of its published wheels. Experimental: PEP 825 and 850
    are drafts."""
    toolkit: Annotated[tuple[Component, ...], Items()] = ()
    """Components of CUDA that the build needs besides the compiler, the CUDA runtime and CCCL. torch brings most of
    them."""
    torch_abi: Annotated[StableTorch | None, After(_beside_torch)] = None
    """Set if its wheels link to torch's stable ABI alone, from one torch on: {stable: "2.10"}, or {stable: "2.10",
    below: "2.16"}. Torch is then no axis: one wheel serves every torch of the range."""
    platforms: Platforms | None = field(default=None, metadata=ONLY_PLANNED)
    exclude: tuple[MatrixRule, ...] = field(default=(), metadata=ONLY_PLANNED)
    """Combinations that upstream cannot build, each with its reason."""
    include: tuple[MatrixRule, ...] = field(default=(), metadata=ONLY_PLANNED)
    """Combinations that exist although compatibility.yml does not list them, each with its reason."""
    test_import: Modules | None = None
    """Module, or several, that must be importable after installation."""
    smoke_script: Script | None = None
    """A Python file inside the configuration folder that is run with the wheel where there is a GPU."""
    runner: Runner | None = field(default=None, metadata=ONLY_PLANNED)
    """GitHub-hosted runner that builds it; by default the newest for the platform."""
    seconds: WholeNumber | None = field(default=None, metadata=ONLY_PLANNED)
    """Seconds that a wheel takes to build for each of its GPU architectures, until published wheels tell;
    `wheelmill run --measure` writes it."""
    memory_per_job: Gigabytes | None = None
    """GB that one compiler takes at its peak; `wheelmill run --measure` writes it."""
    shards_per_wheel: Parts | None = field(default=None, metadata=ONLY_PLANNED)
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
    versions: tuple[ProjectVersion, ...] = field(metadata=ONLY_PLANNED)
    build_args: BuildArguments = ISOLATED
    architectures: ListedArchitectures = field(default=DEFAULT_ARCHITECTURES, metadata=ONLY_PLANNED)
    directory: Path = field(default=Path(), compare=False, metadata=ONLY_PLANNED)
    """The configuration folder; no path in it that a build reads may lead out of it."""
    version_range: SpecifierSet | None = field(default=None, metadata=ONLY_PLANNED)
    """The range that the lock resolves to `versions`; None if they are listed."""
    window: Window = field(default_factory=Window, metadata=ONLY_PLANNED)
    """Part of the matrix that is built by default: the file's defaults on the axes that its entry leaves open."""

    @functools.cached_property
    def expectations(self) -> Expectations:
        """Tests that its wheels must pass, and what they need."""
        torch: set[Need] = {"torch"} if has_torch(self.extra_deps) else set()
        driver: set[Need] = {self.import_needs} if self.import_needs else set()
        return Expectations(
            imports=self.test_import or (self.name.replace("-", "_"),),
            script=self.smoke_script,
            requires=self.requires,
            needs=tuple(sorted(torch.union(driver, self.needs))),
            import_needs=self.import_needs,
            cudart=self.cudart,
            allow=self.allow,
        )

    @functools.cached_property
    def scope(self) -> Window:
        """Part of the matrix that it can be built for."""
        return Window(
            python=self.python,
            free_threaded=self.free_threaded is not False,
            cuda=self.cuda,
            torch=self.torch,
            platform=self.platforms,
        )

    @property
    def elsewhere(self) -> NameElsewhere | None:
        """Project under its name on the package index; None if the entry does not say."""
        return "same" if self.source is None else self.pypi

    def place_of(self, key: str) -> str:
        """Name a key of its entry as messages do: ``the entry of demo: source.ref``."""
        return f"the entry of {self.name}: {key}"

    @property
    def needs_torch(self) -> bool:
        """True if the build links to torch."""
        return "torch" in self.expectations.needs

    @property
    def build_requirements(self) -> tuple[str, ...]:
        """Build requirements without torch, whose version the target decides."""
        return without_torch(self.extra_deps)


def without_torch(requirements: Iterable[str]) -> tuple[str, ...]:
    """Return requirements without torch, whose version the target decides."""
    return tuple(text for text in requirements if not has_torch([text]))


def has_torch(requirements: Iterable[str]) -> bool:
    """Return True if torch is among requirements."""
    return "torch" in projects_of(requirements)


_NO_AXIS: Final = "a package with torch_abi has no torch here: torch_abi says which ones it is for"

_NO_TORCH: Final = "holds nothing: extra_deps has no torch, so the package is built without it"

_NAME_UNSAID: Final = (
    "is required of a git source, whose name may be another's: what the package index has under it, 'same', 'other' or "
    "'absent'"
)


@dataclass(frozen=True, kw_only=True)
class Packages(ConfigFile):
    """``packages.yml``."""

    packages: Mapping[Name, PackageEntry]
    defaults: Defaults = field(default_factory=Defaults)

    def window_of(self, entry: PackageEntry) -> Window:
        """Return the part of the matrix that is built by default."""
        defaults = self.defaults
        has_axis = has_torch(entry.extra_deps) and entry.torch_abi is None
        return Window(
            python=defaults.python if entry.python is None else None,
            free_threaded=defaults.free_threaded or bool(entry.free_threaded) or entry.abi == "abi3t",
            cuda=defaults.cuda if entry.cuda is None else None,
            torch=defaults.torch if entry.torch is None and has_axis else None,
            platform=defaults.platforms if entry.platforms is None else None,
        )

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Packages with reserved names, and required packages that are missing or require each other."""
        for name, entry in self.packages.items():
            if reason := reservation(name):
                yield ("packages", name), reason
            if entry.versions is None and not isinstance(entry.source, Path):
                yield ("packages", name, "versions"), "is required"
            if entry.pypi is None and isinstance(entry.source, GitSource):
                yield ("packages", name, "pypi"), _NAME_UNSAID
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
        aliased = {name: entry.aliases for name, entry in self.packages.items() if entry.aliases}
        yield from faults_of_aliases(aliased, self.packages)

    def undated_rules(self, newest: TorchVersion) -> Iterator[tuple[KeyPath, str]]:
        """Rules that exclude the newest torch without saying since when."""
        for name, entry in self.packages.items():
            for place, rule in enumerate(entry.exclude):
                if rule.since is None and rule.torch and rule.torch.contains(str(newest), prereleases=True):
                    message = f"is required where torch {newest} is left out, the newest: a date such as 2026-11-21"
                    yield ("packages", name, "exclude", place, "since"), message

    def empty_ranges(self, facts: Compatibility) -> Iterator[tuple[KeyPath, str]]:
        """Ranges without a value in ``compatibility.yml``, for which no wheel would be built."""
        without_torch = {"python": facts.pythons, "cuda": sorted(facts.cuda)}
        torches = sorted({*facts.torch, *facts.torch.candidates})
        with_torch = without_torch | {"python": facts.torch_pythons, "torch": torches}
        every_python = sorted({*facts.pythons, *facts.torch_pythons})
        yield from _empty_in(("defaults",), self.defaults, with_torch | {"python": every_python})
        for name, entry in self.packages.items():
            if "torch" in entry.needs or has_torch(entry.extra_deps):
                yield from _empty_in(("packages", name), entry, with_torch)
                continue
            yield from _empty_in(("packages", name), entry, without_torch)
            if entry.torch is not None:
                yield ("packages", name, "torch"), _NO_TORCH


def _empty_in(
    place: KeyPath, ranges: Defaults | PackageEntry, known: Mapping[str, Collection[object]]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the ranges of an entry without a known value, on axes that have known values."""
    for bound in Part(python=ranges.python, cuda=ranges.cuda, torch=ranges.torch).bounds:
        values = known.get(bound.axis)
        if values and not any(map(bound.admits, values)):
            there = ", ".join(map(str, values))
            yield (*place, bound.axis), f"holds nothing of what compatibility.yml has: {there}"


def _torch_keys(entry: PackageEntry) -> Iterator[KeyPath]:
    if entry.torch is not None:
        yield ("torch",)
    if entry.include:
        yield ("include",)
    for key, listed in (("exclude", entry.exclude), ("architectures", entry.architectures or ())):
        places = (place for place, rule in enumerate(listed) if isinstance(rule, Part) and rule.torch is not None)
        yield from ((key, place, "torch") for place in places)
