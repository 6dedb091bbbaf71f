"""The form of the files under ``config/``, as they are written; ``load`` makes records of them."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Final, Literal

from packaging.specifiers import SpecifierSet
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo, field_validator

from wheelmill.config.fields import (
    Architectures,
    Arguments,
    Commit,
    EachKeyOnce,
    File,
    Folder,
    GitRef,
    GitUrl,
    Hash,
    Hashes,
    KnownPlatform,
    Licence,
    Modules,
    Name,
    Pin,
    Platforms,
    Range,
    Requirements,
    SdistName,
    Text,
    Truth,
    UpstreamVersion,
    UpstreamVersions,
    Variable,
    WholeNumber,
)
from wheelmill.config.records import BuildArguments
from wheelmill.names import Architecture, CudaVersion, PythonVersion, TorchVersion

DEFAULT_ARCHITECTURES: Final = tuple(
    Architecture.parse(text) for text in ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")
)
"""Turing to Blackwell, with PTX for what comes later; within a major, machine code runs on later minors."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)


class RuleEntry(_Entry):
    """A part of the matrix: every axis that is given must match."""

    version: Range | None = None
    python: Range | None = None
    cuda: Range | None = None
    torch: Range | None = None
    platform: Platforms | None = None
    reason: Text
    """Why; people who miss a wheel will read it."""


class ArchVariableEntry(_Entry):
    """A package's own variable for GPU architectures, where it does not read TORCH_CUDA_ARCH_LIST."""

    name: Variable
    form: Literal["dotted", "digits"]
    """``dotted`` writes 8.0;9.0, ``digits`` writes 80;90."""


class GitEntry(_Entry):
    """A git repository with the source."""

    git: GitUrl
    ref: GitRef
    """A tag, a branch or a commit; {version} stands for the upstream version."""
    submodules: Truth = False


def _kind_of_source(value: Any) -> str:  # noqa: ANN401 - YAML
    return "[git]" if isinstance(value, dict) else "[folder]"


def _kind_of_versions(value: Any) -> str:  # noqa: ANN401 - YAML
    return "[range]" if isinstance(value, str) else "[list]"


class PackageEntry(_Entry):
    """One package: what upstream calls it, how it is built and how it is known to work."""

    versions: Annotated[
        Annotated[UpstreamVersions, Tag("[list]")] | Annotated[Range, Tag("[range]")], Discriminator(_kind_of_versions)
    ]
    """Upstream versions in quotes, or a range that `wheelmill config lock` resolves: ">=2.7,<3"."""
    description: Text = ""
    """One line."""
    licence: Licence | None = None
    """SPDX expression."""
    redistributable: Truth = True
    """Whether the licence lets others be given the wheels; if not, they are planned as skips."""
    source: (
        Annotated[
            Annotated[Folder, Tag("[folder]")] | Annotated[GitEntry, Tag("[git]")], Discriminator(_kind_of_source)
        ]
        | None
    ) = None
    """A folder inside the configuration folder, or a git repository, instead of a source distribution."""
    patches: list[File] = []
    """Patch files inside the configuration folder, applied in this order with one leading path part removed."""
    build_args: Arguments = BuildArguments(isolation=True, config_settings=())
    """--no-build-isolation and --config-settings=KEY=VALUE."""
    extra_deps: Requirements = []
    """Requirements of the build; torch among them makes torch an axis of the matrix."""
    requires: list[Name] = []
    """Packages of this file that must be built before."""
    env: dict[Variable, Text] = {}
    """Environment variables of the build."""
    architectures: Architectures = list(DEFAULT_ARCHITECTURES)
    """GPU architectures as TORCH_CUDA_ARCH_LIST writes them."""
    arch_variable: ArchVariableEntry | None = None
    python: Range | None = None
    """Pythons to build for: ">=3.10"."""
    cuda: Range | None = None
    """CUDA releases to build for: ">=12.4,<14"."""
    torch: Range | None = None
    """torch minor releases to build for: ">=2.6"."""
    platforms: Platforms | None = None
    exclude: list[RuleEntry] = []
    """Combinations that upstream cannot build, each with its reason."""
    include: list[RuleEntry] = []
    """Combinations that exist although compatibility.yml does not list them, each with its reason."""
    test_import: Modules | None = None
    """What must be importable after installation: a module, or several."""
    memory_per_job: WholeNumber | None = None
    """GB that one compiler takes at its peak."""
    timeout: WholeNumber | None = None
    """Minutes after which a build is ended."""

    @field_validator("source")
    @classmethod
    def _has_listed_versions(cls, source: object, info: ValidationInfo) -> object:
        if source is not None and isinstance(info.data.get("versions"), SpecifierSet):
            raise ValueError("a range of versions is looked up in the package index; list the versions instead")
        return source


class PackagesFile(_Entry):
    """``packages.yml``."""

    packages: dict[Name, PackageEntry]


class CudaEntry(_Entry):
    """One CUDA release."""

    toolkit: UpstreamVersion
    minimum_driver: Text
    """The oldest Linux driver that runs it."""
    host_gcc: WholeNumber
    """The newest major release of GCC that its nvcc takes."""
    architectures: Architectures


class TorchEntry(_Entry):
    """One torch minor release."""

    release: UpstreamVersion
    """The patch release that is built against."""
    cuda: dict[KnownPlatform, list[CudaVersion]]
    """CUDA releases that it is published for, by platform."""
    python: Annotated[list[PythonVersion], Field(min_length=1)]
    default_cuda: CudaVersion
    """The CUDA of its wheel on PyPI for linux_x86_64."""
    glibc: Text
    """The oldest glibc that its wheels run on."""


class _Facts(_Entry):
    checked: dt.date
    source: Text


class CudaFacts(_Facts):
    """CUDA releases, with where and when they were looked up."""

    releases: Annotated[dict[CudaVersion, CudaEntry], EachKeyOnce]


class TorchFacts(_Facts):
    """torch releases, with where and when they were looked up."""

    releases: Annotated[dict[TorchVersion, TorchEntry], EachKeyOnce]


class CompatibilityFile(_Entry):
    """``compatibility.yml``."""

    cuda: CudaFacts
    torch: TorchFacts
    pythons: Annotated[list[PythonVersion], Field(min_length=1)]
    """Pythons that packages without torch are built for."""
    platforms: Platforms


class SdistEntry(_Entry):
    """One locked source distribution."""

    sdist: SdistName
    sha256: Hash
    requires: Requirements | None = None
    """What its pyproject.toml asks for, where build isolation wants to know."""


class CommitEntry(GitEntry):
    """One locked commit, and where it was found."""

    commit: Commit
    requires: Requirements | None = None


class PinEntry(_Entry):
    """One locked build requirement: any file of that version with one of these hashes."""

    requirement: Pin
    sha256: Hashes


class RequirementsEntry(_Entry):
    """The locked build requirements of one package."""

    inputs: Requirements
    """What they were resolved from."""
    pinned: list[PinEntry]


class LockFile(_Entry):
    """``packages.lock``."""

    sdists: dict[Name, Annotated[dict[UpstreamVersion, SdistEntry], EachKeyOnce]]
    commits: dict[Name, Annotated[dict[UpstreamVersion, CommitEntry], EachKeyOnce]] = {}
    requirements: dict[Name, RequirementsEntry] = {}
