"""The form of ``packages.yml``, as people write it."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Final, Literal

from packaging.specifiers import SpecifierSet
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Tag,
    ValidationInfo,
    field_validator,
)

from wheelmill.config.document import KeyPath
from wheelmill.config.fields import (
    Architectures,
    Entry,
    Form,
    Name,
    Platforms,
    Range,
    Requirements,
    Text,
    Truth,
    UpstreamVersions,
    WholeNumber,
    distinct,
    list_of_one,
)
from wheelmill.config.model import (
    BuildArguments,
    GitSource,
    Need,
    has_torch,
)
from wheelmill.config.package_fields import (
    Arguments,
    File,
    Folder,
    GitRef,
    GitUrl,
    Licence,
    Modules,
    Runner,
    Script,
    Variable,
)
from wheelmill.names import Architecture

DEFAULT_ARCHITECTURES: Final = tuple(
    Architecture.parse(text) for text in ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")
)
"""Turing to Blackwell, with PTX for what comes later; within a major, machine code runs on later minors."""


class RuleEntry(Entry):
    """A part of the matrix: every axis that is given must match."""

    version: Range | None = None
    python: Range | None = None
    cuda: Range | None = None
    torch: Range | None = None
    platform: Platforms | None = None
    reason: Text
    """Why; people who miss a wheel will read it."""


class ArchVariableEntry(Entry):
    """A package's own variable for GPU architectures, where it does not read TORCH_CUDA_ARCH_LIST."""

    name: Variable
    form: Literal["dotted", "digits"]
    """``dotted`` writes 8.0;9.0, ``digits`` writes 80;90."""


class GitEntry(Entry):
    """A git repository with the source."""

    git: GitUrl
    ref: GitRef
    """A tag, a branch or a commit; {version} stands for the upstream version."""
    submodules: Truth = False

    @property
    def record(self) -> GitSource:
        """The source that it names."""
        return GitSource(url=self.git, ref=self.ref, submodules=self.submodules)


def _kind_of_source(value: Any) -> str:  # noqa: ANN401 - YAML
    return "[git]" if isinstance(value, dict) else "[folder]"


def _kind_of_versions(value: Any) -> str:  # noqa: ANN401 - YAML
    return "[range]" if isinstance(value, str) else "[list]"


class PackageEntry(Entry):
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
    """Packages of this file that are built before it and installed beside it."""
    abi: Literal["cpython", "abi3", "none"] = "cpython"
    """ABI tag of its wheels: cpython gives every Python its own, abi3 and none give all of them one."""
    needs: Annotated[list[Need], BeforeValidator(list_of_one), AfterValidator(distinct)] = []
    """What its wheels are linked to or load: torch (also when extra_deps has it), cuda alone, nvrtc, the driver."""
    cudart: Literal["shared", "static"] | None = None
    """How its wheels hold the CUDA runtime; a wheel that differs is refused."""
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
    smoke_script: Script | None = None
    """A Python file inside the configuration folder that is run with the wheel where there is a GPU."""
    runner: Runner | None = None
    """Which of GitHub's own machines build it; by default the newest for the platform."""
    memory_per_job: WholeNumber | None = None
    """GB that one compiler takes at its peak."""
    timeout: WholeNumber | None = None
    """Minutes after which a build is ended."""

    @field_validator("needs")
    @classmethod
    def _agrees_with_extra_deps(cls, needs: list[Need], info: ValidationInfo) -> list[Need]:
        if "cuda" in needs and ("torch" in needs or has_torch(info.data.get("extra_deps", ()))):
            raise ValueError("cuda means CUDA without torch, but the package has torch")
        return needs

    @field_validator("source")
    @classmethod
    def _has_listed_versions(cls, source: object, info: ValidationInfo) -> object:
        if source is not None and isinstance(info.data.get("versions"), SpecifierSet):
            raise ValueError("a range of versions is looked up in the package index; list the versions instead")
        return source


class PackagesFile(Form):
    """``packages.yml``."""

    packages: dict[Name, PackageEntry]

    def contradictions(self) -> Iterator[tuple[KeyPath, str]]:
        """Required packages that are not there, or that require each other."""
        for name, entry in self.packages.items():
            for place, required in enumerate(entry.requires):
                if required not in self.packages:
                    yield ("packages", name, "requires", place), f"there is no package {required} in this file"
        try:
            TopologicalSorter({name: entry.requires for name, entry in self.packages.items()}).prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))
            yield ("packages", circle[0], "requires"), f"these require each other: {' -> '.join(circle)}"
