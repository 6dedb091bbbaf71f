"""Records of the client: the target, sources, the available wheels, their inspections, the choice, and its options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import BuildTag, canonicalize_name
from packaging.version import Version
from typing_extensions import TypedDict

from wheelmill.config.model.sources import SourceDescription
from wheelmill.errors import UsageError
from wheelmill.names import (
    TORCH,
    Architecture,
    CudaTag,
    CudaVersion,
    Gpu,
    Platform,
    ProjectName,
    PythonVersion,
    Sha256,
    TorchNeed,
    TorchVersion,
)
from wheelmill.system.progress import QUIET, Progress, number_of
from wheelmill.web.budget import Budget
from wheelmill.wheel.label import BuiltFor, has_release_of, needed_torch, pinned_torch
from wheelmill.wheel.platforms import Libc, tag_places
from wheelmill.wheel.torch_symbols import TorchWindow


class SourceKind(StrEnum):
    """Kinds of lists in which a source has its wheels."""

    SIMPLE = "simple"
    """A simple index (PEP 503 or PEP 691): the URL above its projects; may have placeholders, too."""
    FIND_LINKS = "find-links"
    """One page of links. ``{cuda}`` and ``{torch}`` in the URL stand for one page each."""
    GITHUB = "github"
    """The assets of a repository's releases: the URL of its REST API."""
    HUGGINGFACE = "huggingface"
    """The files of a repository: the URL of their list."""


@dataclass(frozen=True, kw_only=True)
class Source(SourceDescription):
    """A place that has wheels."""

    name: str
    kind: SourceKind
    url: str
    given: str | None = None
    """The option that named it, without credentials; None if wheels of it need no record of that in their project."""
    is_exclusive: bool = False
    """True if its projects come from nowhere else: their project says so."""

    def serves(self, project: ProjectName) -> bool:
        """True if it may have a project; PDM has patterns of names."""
        return not self.projects or any(fnmatchcase(project, name) for name in self.projects)


@dataclass(frozen=True, kw_only=True)
class SourceList:
    """The content of a file of sources."""

    site: str | None = None
    """The site of an index that has newer versions of the file; None if there is none."""
    sources: tuple[Source, ...]


class LookupOutcome(StrEnum):
    """The outcome of the search for a project in a source. The values are part of the commands' JSON.

    Of several pages of one source, the first outcome in this order counts: the unknown outweighs the known.
    """

    UNREACHABLE = "unreachable"
    """No answer, or an error of the server."""
    LIMITED = "limited"
    """The server answers no more requests for now (429, GitHub's limit)."""
    REFUSED = "refused"
    """A credential is needed, or another one (401, 403)."""
    NOT_AN_INDEX = "not-an-index"
    """An answer that cannot be a list of wheels."""
    NOT_ASKED = "not-asked"
    """``--offline`` was given, and the cache does not have it."""
    FOUND = "found"
    """The source lists wheels of the project, whether they fit or not."""
    HAS_NONE = "has-none"
    ABSENT = "absent"
    """The server has no such page (404, 410)."""

    @property
    def is_open(self) -> bool:
        """True if the source gave no useful answer, so that it may have the project all the same."""
        return self in (self.UNREACHABLE, self.LIMITED, self.REFUSED, self.NOT_AN_INDEX)

    def __str__(self) -> str:
        """The value in words: ``has none``."""
        return self.value.replace("-", " ")


@dataclass(frozen=True, kw_only=True)
class SourceOutcome:
    """The outcome of looking for one project in one source."""

    project: ProjectName
    source: str
    """Its name."""
    outcome: LookupOutcome
    url: str
    """The page that decided."""
    detail: str
    """The server's answer and what to do about it; empty if the outcome says everything."""
    cached: bool
    """True if the answer is an earlier one, from the cache."""

    @property
    def message(self) -> str:
        """The page, and the server's answer."""
        return f"{self.url}: {self.detail}"

    def is_usual_for(self, source: Source) -> bool:
        """False without an answer, page or wheel; an index may lack a project, and a template a page for a target."""
        is_index = source.kind is SourceKind.SIMPLE
        usual = {
            LookupOutcome.FOUND: True,
            LookupOutcome.HAS_NONE: is_index or not self.detail,
            LookupOutcome.ABSENT: is_index or "{" in source.url,
        }
        return usual.get(self.outcome, False)


def messages_of(outcomes: Iterable[SourceOutcome]) -> list[str]:
    """List the messages of outcomes; without a network, sources have the same detail, and one message."""
    alike: dict[str, dict[str, SourceOutcome]] = {}
    for outcome in outcomes:
        alike.setdefault(outcome.detail if outcome.outcome.is_open else outcome.message, {})[outcome.url] = outcome
    return [
        next(iter(pages.values())).message if len(pages) == 1 else f"{number_of(len(pages), 'page')}: {detail}"
        for detail, pages in alike.items()
    ]


_SYSTEMS: Final = {"linux": ("linux", "Linux", "posix"), "win": ("win32", "Windows", "nt")}
"""``sys_platform``, ``platform_system`` and ``os_name``, of each system of a platform."""


class TargetKeys(TypedDict):
    """Python, platform, torch and CUDA of a target, as JSON."""

    python: PythonVersion
    """``3.12``, ``3.13t``"""
    platform: Platform
    torch: TorchVersion | None
    """``2.11``"""
    cuda: CudaVersion | None
    """CUDA of torch: ``13.0``."""


@dataclass(frozen=True, kw_only=True)
class TargetEnvironment:
    """The target of wheels: a Python, its installed packages, and its machine."""

    python: PythonVersion
    python_release: str | None
    """``3.12.4``; None when only the minor release is known."""
    interpreter: Path | None
    """None if the target is described by hand only."""
    platform: Platform
    """``linux_x86_64``, ``linux_aarch64``, ``win_amd64`` ..."""
    libc: Libc | None
    """None where wheels do not depend on it: not on Linux."""
    torch: TorchVersion | None
    """None if torch is not installed, so that any may be chosen."""
    torch_release: str | None = None
    """``2.11.0+cu130`` as it is installed; None when it is not, or was given by hand."""
    cuda: CudaVersion | None
    """The CUDA of the torch, or the requested one; None if any may be chosen."""
    cuda_major: int | None = None
    """The only major release of CUDA that may be chosen, where the CUDA is open; None for any."""
    torch_range: SpecifierSet | None = None
    """The torches that may be chosen, where the torch is open; None for any."""
    preferred_cuda: CudaVersion | None = None
    """The CUDA to choose first, where the CUDA is open: that of the torch that another one replaces."""
    cpu_only: bool = False
    """True if the installed torch is built without CUDA."""
    cxx11_abi: bool | None = None
    """True if torch has the new C++ ABI (``_GLIBCXX_USE_CXX11_ABI``); None if unknown."""
    driver: str | None = None
    """``580.65.06``; None when there is none, or it is not known."""
    driver_cuda: CudaVersion | None = None
    """The newest CUDA that the driver supports, as it reports."""
    gpus: tuple[Gpu, ...] = ()
    other_torch: bool = False
    """Accept a wheel for another torch if this torch defines its symbols, at the user's own risk."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Origin of each fact, by its field: ``--torch``, ``torch/version.py of .venv``, ``nvidia-smi``."""

    @cached_property
    def tag_places(self) -> Mapping[Tag, int]:
        """Tags of wheels that can be installed, the best first, at place 0 (PEP 425, PEP 600, PEP 656)."""
        return tag_places(self.python, self.platform, self.libc)

    def with_torch_in(self, wanted: SpecifierSet) -> TargetEnvironment:
        """Keep the torch that is there if a range admits it, else choose one of the range, for the same CUDA first."""
        if self.torch and has_release_of(self.torch, wanted):
            return self
        pinned = pinned_torch(wanted)
        target = replace(self, torch=pinned, torch_range=None if pinned else wanted)
        if self.torch_release is None:
            return target
        return replace(target, torch_release=None, cuda=None, preferred_cuda=self.cuda, cpu_only=False, cxx11_abi=None)

    @cached_property
    def markers(self) -> Mapping[str, str]:
        """The values of markers (PEP 508)."""
        system, name, os_name = _SYSTEMS.get(self.platform.system, ("darwin", "Darwin", "posix"))
        machine = self.platform.machine
        return {
            "implementation_name": "cpython",
            "implementation_version": str(self.full_python),
            "os_name": os_name,
            "platform_machine": machine.upper() if self.platform.system == "win" else machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": name,
            "platform_version": "",
            "python_full_version": str(self.full_python),
            "python_version": f"{self.python.major}.{self.python.minor}",
            "sys_platform": system,
        }

    def meets(self, marker: Marker | None, extra: str = "") -> bool:
        """True if a marker holds; one of values that are unknown or cannot be compared never does."""
        with suppress(UndefinedComparison, UndefinedEnvironmentName):
            return marker is None or marker.evaluate({**self.markers, "extra": extra})
        return False

    @property
    def in_json(self) -> TargetKeys:
        """The keys that tell targets apart."""
        return {"python": self.python, "platform": self.platform, "torch": self.torch, "cuda": self.cuda}

    def __str__(self) -> str:
        """Describe it: ``Python 3.12, torch 2.11 and CUDA 13.0 on linux_x86_64``; open facts are called any."""
        major = f"{self.cuda_major} " if self.cuda_major else ""
        cuda = "no CUDA" if self.cpu_only else f"CUDA {self.cuda or f'{major}(any)'}"
        return f"Python {self.python}, torch {self.torch or '(any)'} and {cuda} on {self.platform}"

    @cached_property
    def full_python(self) -> Version:
        """The version to compare with ``Requires-Python``."""
        return Version(self.python_release or f"{self.python.major}.{self.python.minor}")


@dataclass(frozen=True, kw_only=True)
class WheelInspection:
    """The facts from the inspection of a wheel."""

    requires_dist: tuple[str, ...]
    requires_python: str | None = None
    glibc: str | None = None
    """The newest glibc that its code needs."""
    cuda_major: int | None = None
    """The major release of the CUDA libraries that its code names."""
    cxx11_abi: bool | None = None
    sass: tuple[str, ...] = ()
    """``9.0a``."""
    ptx: tuple[str, ...] = ()
    torch_window: TorchWindow | None = None
    """The torches that its code could load in; None if it needs none, or if they are unknown."""
    code_read: bool = False
    size: int | None = None
    """Bytes of the wheel, as its server says; None if it did not."""
    driver: str | None = None
    """The oldest driver that loads its code: ``580.65.06``; None if unknown."""
    gone: str | None = None
    """The answer of a server that no longer has its file: ``404 Not Found``; None if it has it, or was not asked."""

    def __str__(self) -> str:
        """Describe it: ``needs glibc 2.28 and CUDA 13; machine code for sm_90, PTX for sm_90; C++11 ABI``."""
        if self.gone:
            return f"its file is gone: {self.gone}"
        needed = {"glibc": self.glibc, "CUDA": self.cuda_major, "driver": self.driver}
        needs = " and ".join(f"{name} {oldest}" for name, oldest in needed.items() if oldest)
        code = ", ".join(
            f"{kind} for {', '.join(each.sm for each in sorted(map(Architecture.parse, architectures)))}"
            for kind, architectures in (("machine code", self.sass), ("PTX", self.ptx))
            if architectures
        )
        known = (
            needs and f"needs {needs}",
            code,
            "" if self.cxx11_abi is None else f"{'C++11' if self.cxx11_abi else 'old C++'} ABI",
            str(self.torch_window or ""),
            "" if self.code_read else "its compiled code was not read",
        )
        return "; ".join(filter(None, known)) or "no compiled code that needs anything"


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedWheel:
    """Wheel to download."""

    filename: str
    url: str
    """Absolute, without a fragment."""
    sha256: Sha256 | None
    """None if it is unknown: the first download decides."""
    size: int | None
    """Bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate(WantedWheel):
    """A candidate wheel for some target."""

    project: ProjectName
    """The name that it is installed under."""
    version: Version
    """With its local label."""
    build: BuildTag
    tags: frozenset[Tag]
    label: BuiltFor
    """Target that its name states."""
    requires_python: str | None
    metadata_sha256: Sha256 | None
    """The hash of the METADATA at its URL + ``.metadata`` (PEP 658); None if there is none, or no hash was given."""
    has_metadata: bool
    """True if the server has that file."""
    yanked: str | None
    """The reason, which may be empty (PEP 592); None when it is not yanked."""
    source: Source
    inside: WheelInspection | None = None
    """Result of the inspection; None if it was not inspected."""

    @property
    def torch(self) -> TorchNeed | None:
        """The torch that it needs, by its name, else by its METADATA if that was read."""
        return self.label.torch or (needed_torch(self.inside.requires_dist) if self.inside else None)


class Aspect(StrEnum):
    """The kinds of reasons against a candidate. The values are part of the commands' JSON."""

    PLATFORM = "platform"
    """Another operating system, C library or processor."""
    GLIBC = "glibc"
    """Needs a newer glibc than the target has."""
    PYTHON = "python"
    CUDA = "cuda"
    TORCH = "torch"
    ABI = "abi"
    """The C++ ABI of torch."""
    DRIVER = "driver"
    GPU = "gpu"
    VERSION = "version"
    """Its version was not requested."""
    YANKED = "yanked"
    VARIANT = "variant"
    """The target lacks a property of its variant, or may lack it."""
    FILE = "file"
    """Its server no longer has its file."""
    METADATA = "metadata"
    """Installers would read another requirement in it, or put a variable of the environment there."""


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """One reason why a candidate does not fit."""

    aspect: Aspect
    reason: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The wheel for one project."""

    project: ProjectName
    """The requested name."""
    candidate: Candidate
    extras: frozenset[str] = frozenset()
    requires_dist: tuple[str, ...] | None = None
    """The requirements in its METADATA; None if that was not read."""
    platforms: frozenset[Platform] = frozenset()
    """The platforms for which its simple index has the same version."""
    notes: tuple[str, ...] = ()
    """Unchecked facts, and remarks: ``its GPU architectures are not known``."""
    required_by: tuple[ProjectName, ...] = ()
    """The projects whose chosen wheels require it."""

    @property
    def name_with_extras(self) -> str:
        """The name that it is installed under, with its extras: ``flash-attn[test]``."""
        extras = f"[{','.join(sorted(self.extras))}]" if self.extras else ""
        return f"{self.candidate.project}{extras}"

    def requirements(self, environment: TargetEnvironment) -> Iterator[Requirement]:
        """Yield what its wheel requires in an environment, without the markers, and for the requested extras."""
        for text in self.requires_dist or ():
            requirement = Requirement(text)
            marker, requirement.marker = requirement.marker, None  # nothing asks uv for an extra
            if any(environment.meets(marker, extra) for extra in ("", *self.extras)):
                yield requirement

    @property
    def needs_torch(self) -> bool:
        """True if it is linked to torch, or may be."""
        names = (canonicalize_name(Requirement(each).name) for each in self.requires_dist or ())
        return bool(self.candidate.label.torch) or self.requires_dist is None or TORCH in names


Links = frozenset[tuple[ProjectName, ProjectName]]
"""A project whose wheel requires another one of sources, and that other one."""


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """A project without a wheel for the target."""

    project: ProjectName
    reason: str
    suggestion: str | None
    """The smallest change with which there is one: ``--torch 2.10``; None when there is none."""


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The chosen wheels for a target, all for one torch and one CUDA."""

    environment: TargetEnvironment
    """The target; where it left torch and CUDA open, with those that were chosen."""
    choices: Mapping[ProjectName, Choice]
    unresolved: Mapping[ProjectName, Unresolved]
    torch_backend: CudaTag | None = None
    """uv's name for the CUDA of torch; None if PyPI has the right one."""
    torch_index: str | None = None
    warnings: tuple[str, ...] = ()
    """Problems of sources, and of wheels that would otherwise have been better choices."""
    sources: tuple[SourceOutcome, ...] = ()
    asks_torch: bool = False
    """True if torch was requested beside the wheels."""

    @property
    def torch_place(self) -> str | None:
        """The place that uv gets torch from; see `wheelmill.installers.uv.torch_options`."""
        torch = self.environment.torch
        return self.torch_index if torch and torch.is_candidate else self.torch_backend

    @property
    def torch(self) -> TorchVersion | None:
        """The torch that was requested, or that the wheels need; None if none of them is linked to it."""
        is_needed = self.asks_torch or any(choice.needs_torch for choice in self.choices.values())
        return self.environment.torch if is_needed else None


@dataclass(frozen=True, kw_only=True)
class Search:
    """Options for finding wheels, of every command that does so."""

    named: Sequence[str] = ()
    """Sources that replace those that ship."""
    extra: Sequence[str] = ()
    """Sources that come before the others."""
    declared: Sequence[Source] = ()
    offline: bool = False
    """Use only what the cache has."""
    refresh: bool = False
    """Ask the server even for pages that are still fresh."""
    use_cache: bool = True
    inspect: bool = True
    """Inspect wheels before choosing."""
    confirm: bool = False
    """Ask servers if they still have the file of each inspected wheel, even if the cache knows its content."""
    other_torch: bool = False
    """Accept a wheel for another torch if the target's torch has its symbols."""
    progress: Progress = QUIET
    budget: Budget = field(default_factory=Budget)
    """Time for asking servers."""

    def target(self, environment: TargetEnvironment) -> TargetEnvironment:
        """Return the target, which accepts wheels for other torches if the options do."""
        if self.other_torch and environment.torch is None:
            raise UsageError(
                "no-torch-to-compare",
                "--allow-other-torch needs a torch to compare with",
                hint="install it, or give --torch",
            )
        return replace(environment, other_torch=self.other_torch)
