"""Options that several commands of the factory share, and the configuration, store or sandbox that they name."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar, get_args

import typer

from wheelmill.build.compiler_cache import import_caches
from wheelmill.build.environment import has_toolkit
from wheelmill.cli.shared.commands import say, say_warning
from wheelmill.cli.shared.options import CONFIG_VARIABLE, attestation_option, of_a_run, of_a_size
from wheelmill.config.load import OWN, PACKAGES, is_file_of_packages, load_config
from wheelmill.config.model.config import Config
from wheelmill.config.model.container_builder import installed_builder
from wheelmill.config.model.package import Topic
from wheelmill.errors import ReleaseError, TimeOverError, UsageError
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    ProjectName,
    PythonVersion,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.targets import BuildTarget, Channel, Filters
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.store import Publication, RefusedWheel, Store
from wheelmill.system import git, locks, own_installation
from wheelmill.system.own_installation import own_origin
from wheelmill.system.progress import SYSTEM_CLOCK, number_of
from wheelmill.system.sandbox import check_confinement
from wheelmill.wheel.platforms import AUTO_POLICY, PUBLISHED_POLICY, policy_names

if TYPE_CHECKING:
    from wheelmill.build.builder import Builder
    from wheelmill.release.github.download import JobArtifacts
    from wheelmill.smoke.environment import SmokeEnvironments


Value = TypeVar("Value")
Texts = list[str] | None

_TOPICS: Final[Mapping[str, Topic]] = {topic: topic for topic in get_args(Topic)}
_LISTS: Final = ("tag", "version", "python", "cuda", "torch", "platform")


def _list_option(name: str, text: str) -> object:
    return typer.Option(name, help=f"{text} Repeatable, commas allowed.", metavar="X")


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """Filters on the axes of the matrix; an axis without a filter keeps all its values."""

    tag: Annotated[Texts, _list_option("--tag", "What packages are for: attention, graph.")] = None
    version: Annotated[Texts, _list_option("--version", "Upstream versions.")] = None
    python: Annotated[Texts, _list_option("--python", "Pythons: 3.12, 3.13t.")] = None
    cuda: Annotated[Texts, _list_option("--cuda", "CUDA releases: 13.0, cu130.")] = None
    torch: Annotated[Texts, _list_option("--torch", "torch minor releases and candidates: 2.11, 2.16rc1.")] = None
    channel: Annotated[
        Channel, typer.Option("--channel", help="rc: release candidates of torch, unless --torch names others.")
    ] = Channel.STABLE
    platform: Annotated[Texts, _list_option("--platform", "Platforms: linux_x86_64.")] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Build again what was published, passed or failed before.", envvar="WHEELMILL_FORCE"
        ),
    ] = False

    def of(self, projects: Sequence[str]) -> Filters:
        """Read the options."""
        return Filters(
            projects=read_values("project", projects, project_name),
            tags=read_values("--tag", self.tag, _topic),
            versions=read_values("--version", self.version, project_version),
            pythons=read_values("--python", self.python, PythonVersion.parse),
            cudas=read_values("--cuda", self.cuda, CudaVersion.parse),
            torches=read_values("--torch", self.torch, TorchVersion.parse),
            channel=self.channel,
            platforms=read_values("--platform", self.platform, Platform.parse),
            force=self.force,
        )

    def texts(self, projects: Sequence[str]) -> dict[str, str]:
        """Return the given texts by option, so that a later run can be given the same."""
        lists = {"project": projects} | {name: getattr(self, name) for name in _LISTS}
        given = {name: ",".join(values) for name, values in lists.items() if values}
        return given | {"channel": self.channel.value} | ({"force": "true"} if self.force else {})

    @staticmethod
    def of_texts(texts: Mapping[str, str]) -> Filters:
        """Read what `texts` kept."""
        lists = {name: [texts[name]] for name in _LISTS if name in texts}
        options = FilterOptions(**lists, channel=Channel(texts.get("channel", "stable")), force="force" in texts)
        return options.of([texts.get("project", "")])

    def for_this_machine(self, projects: Sequence[str]) -> Filters:
        """Read the options, narrowed to what can be built here; no torch means the newest for each CUDA."""
        filters = self.of(named_projects(projects))
        own = Platform("linux", platform.machine())
        if foreign := [name for name in filters.platforms if name != own]:
            raise UsageError(
                "platform-foreign", f"--platform: this machine builds for {own}, not for {', '.join(map(str, foreign))}"
            )
        return replace(filters, platforms=(own,), newest_torch=True)


def _topic(text: str) -> Topic:
    if topic := _TOPICS.get(text):
        return topic
    raise ValueError(f"expected one of {', '.join(_TOPICS)}, not {text!r}")


def read_values(option: str, texts: Sequence[str] | None, parse: Callable[[str], Value]) -> tuple[Value, ...]:
    """Read the values of an option, each once; an empty text, as of an input that a workflow left out, is none."""
    given = [text for text in texts or () if text]
    words = [word.strip() for text in given for word in text.split(",")]
    if given and not any(words):
        raise UsageError("value-absent", f"{option}: expected a value, not {given[0]!r}")
    try:
        return tuple(dict.fromkeys(parse(word) for word in words if word))
    except ValueError as error:
        raise UsageError("value-invalid", f"{option}: {error}") from None


def named_projects(texts: Sequence[str]) -> tuple[ProjectName, ...]:
    """Read the projects of a command that needs some; an empty text, as of an unset variable, is not all of them."""
    if names := read_values("project", texts, project_name):
        return names
    raise UsageError("value-absent", "project: expected a value, not ''")


CONFIGURATION: Final = (
    f"Configuration: a folder, or a package's own file; by default ./{OWN}, else ./config, else the one that ships"
)
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help=f"{CONFIGURATION}.", metavar="DIR_OR_FILE", envvar=CONFIG_VARIABLE)
]
_STORE: Final = "Where releases are kept: dir:PATH, github:OWNER/REPO or s3:BUCKET/PREFIX"
StoreOption = Annotated[str, typer.Option(help=f"{_STORE}.", metavar="STORE", envvar="WHEELMILL_STORE")]
StoreBesideOption = Annotated[
    str | None, typer.Option(help=f"{_STORE}; DIR/releases by default.", metavar="STORE", envvar="WHEELMILL_STORE")
]

CloneOption = Annotated[
    list[str] | None,
    typer.Option(
        "--clone",
        help="Take a git source, or a submodule of one, from a clone on this disk, at the same commit. Repeatable.",
        metavar="URL=FOLDER",
    ),
]

RequiredSignerOption = Annotated[str | None, attestation_option("WHEELMILL_REQUIRE_ATTESTATION")]

DEFAULT_STORE: Final = "dir:out/releases"

BASE_URL_VARIABLE: Final = "WHEELMILL_BASE_URL"
"""The public URL above the folders of wheels, if a store does not know it."""


def config_at(named: Path | None, *, check_ranges: bool = False) -> Config:
    """Load the configuration; see `load_config`."""
    return load_config(place_at(named), check_ranges=check_ranges)


def config_to_change(named: Path | None, *, check_ranges: bool = False) -> Config:
    """Load a configuration that will be written to; the shipped one only if it is named."""
    return load_config(_place_to_change(named), check_ranges=check_ranges)


@contextmanager
def hold_config(named: Path | None) -> Iterator[Config]:
    """Load a configuration that will be written to, and lock its folder for the context."""
    place = _place_to_change(named)
    if not place.exists():
        raise UsageError("file-absent", f"there is no {place}", hint="--config names a folder, or a package's own file")
    folder = place.parent if is_file_of_packages(place) else place
    with locks.hold(folder / ".lock", wait=lambda holder: say(f"waiting for {holder}")):
        yield load_config(place)


def _place_to_change(named: Path | None) -> Path:
    place = place_at(named)
    if named is None and place == own_installation.CONFIG:
        hint = (
            "change to a clone, begin a package's own file with 'wheelmill init', or name another folder with --config"
        )
        raise UsageError("no-config-folder", "there is no folder ./config", hint=hint)
    return place


def own_config_at(named: Path | None) -> Config | None:
    """Load the configuration of wheels that are built here; None if none is named and only the shipped one is there."""
    place = place_at(named)
    is_own = named is not None or place != own_installation.CONFIG
    return load_config(place) if is_file_of_packages(place) or (is_own and (place / PACKAGES).exists()) else None


def place_at(named: Path | None) -> Path:
    """Return the named configuration, else ``./wheelmill.yml``, else ``./config``, else the shipped one.

    A folder with a package's own file and no ``packages.yml`` stands for that file.
    """
    here = (place for place in (Path(OWN), Path("config")) if place.exists())
    place = named or next(here, own_installation.CONFIG)
    return place / OWN if (place / OWN).is_file() and not (place / PACKAGES).exists() else place


@contextmanager
def use_clones(option: Sequence[str] | None) -> Iterator[None]:
    """Fetch repositories from the named clones; at the end, warn of unused ones."""
    clones: dict[str, Path] = {}
    for text in option or ():
        url, _, folder = text.partition("=")
        if not (url and folder):
            raise UsageError("clone-invalid", f"--clone: expected URL=FOLDER, not {text!r}")
        if not Path(folder).is_dir():
            raise UsageError("clone-absent", f"--clone: there is no folder {folder}")
        if url in clones:
            raise UsageError("clone-twice", f"--clone: {url} has two folders, {clones[url]} and {folder}")
        clones[url] = Path(folder)
    with git.use_clones(clones) as unused:
        try:
            yield
        finally:
            for url in sorted(unused):
                say_warning(f"--clone {url}: no source and no submodule has this address")


def store_at(text: str, *, option: str = "--store", must_exist: bool = False, base_url: str | None = None) -> Store:
    """Open a store; a missing folder has no releases, unless it `must_exist`. `base_url` is above a bucket's wheels."""
    kind, _, place = text.partition(":")
    if kind == "dir" and place:
        directory = Path(place)
        if not directory.is_dir() and (must_exist or directory.exists()):
            raise UsageError("folder-absent", f"{option}: there is no folder {directory}")
        return DirectoryStore(directory=directory, clock=SYSTEM_CLOCK)
    if kind == "github":
        from wheelmill.release.github.api import Pace, Repository
        from wheelmill.release.github.store import GitHubStore

        with suppress(UsageError):  # what was expected is said below
            repository = Repository.parse(place, os.environ)
            commit = os.environ.get("WHEELMILL_LEDGER") or None
            return GitHubStore(repository=repository, pace=Pace(SYSTEM_CLOCK), ledger_commit=commit)
    if kind == "s3":
        with needs_botocore():
            from wheelmill.release.s3.bucket import Bucket
            from wheelmill.release.s3.store import S3Store
        return S3Store(bucket=Bucket.parse(place, SYSTEM_CLOCK), address=base_url)
    raise UsageError(
        "place-invalid", f"{option}: expected dir:PATH, github:OWNER/REPO or s3:BUCKET/PREFIX, not {text!r}"
    )


@contextmanager
def needs_botocore() -> Iterator[None]:
    """Name the missing extra if an import fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "botocore":
            raise
        raise UsageError(
            "s3-not-installed",
            "S3 needs botocore, which is not installed",
            hint=f"pip install 'wheelmill[s3]{own_origin()}'",
        ) from None


def artifacts_of(runs: Sequence[str]) -> JobArtifacts:
    """Open the artifacts of runs, in the repository that this job runs in."""
    from wheelmill.release.github.api import Repository
    from wheelmill.release.github.download import JobArtifacts

    for run in runs:
        of_a_run(run)
    if not (name := os.environ.get("GITHUB_REPOSITORY")):
        raise UsageError(
            "run-without-repository",
            "--run: GITHUB_REPOSITORY does not name the repository of the run",
            hint="GITHUB_REPOSITORY=OWNER/REPO",
        )
    return JobArtifacts(Repository.parse(name, os.environ), runs, SYSTEM_CLOCK)


def report_publication(done: Publication) -> None:
    """Report the outcome for each wheel."""
    for manifest in done.releases:
        say(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    if done.over:
        raise TimeOverError(
            "time-over", "the time was not enough for all wheels; what is published is whole", hint="run this again"
        )
    raise_for(done.refusals, "not released:")
    if not done.releases:
        say("nothing to release: there is no unpublished wheel")


def raise_for(refusals: Iterable[RefusedWheel], heading: str) -> None:
    """Fail with the wheels that were refused, if there are any."""
    if lines := [str(refusal) for refusal in refusals]:
        raise ReleaseError("publication-incomplete", "\n".join((heading, *lines)))


class SandboxKind(StrEnum):
    """Place of builds and clean environments."""

    LOCAL = "local"
    DOCKER = "docker"


SandboxOption = Annotated[
    SandboxKind, typer.Option("--sandbox", help="Where to build and test wheels.", envvar="WHEELMILL_SANDBOX")
]


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Conditions under which wheels are built: the sandbox, its network, and the platform policy of the wheels."""

    sandbox: SandboxOption = SandboxKind.LOCAL
    policy: Annotated[
        str | None,
        typer.Option(
            help=f"Platform policy: auto, or a name; {PUBLISHED_POLICY} by default in a container, auto elsewhere.",
            metavar="POLICY",
        ),
    ] = None
    network: Annotated[
        str, typer.Option(help="Docker's network for build containers.", metavar="NAME", envvar="WHEELMILL_NETWORK")
    ] = "none"

    def narrow(self, wanted: Filters) -> Filters:
        """Restrict a plan to Pythons of the builder in containers; in a local sandbox, a named one may be any."""
        own = self.sandbox is SandboxKind.LOCAL and wanted.pythons
        return wanted if own else replace(wanted, builder=installed_builder())

    def resolve_policy(self) -> str:
        """Check the platform policy before hours are spent; by default, containers build for the published one."""
        if self.policy is None:
            return AUTO_POLICY if self.sandbox is SandboxKind.LOCAL else PUBLISHED_POLICY
        if self.policy != AUTO_POLICY and self.policy not in (known := policy_names()):
            raise UsageError(
                "policy-unknown",
                f"--policy: expected auto or a name such as {PUBLISHED_POLICY}, not {self.policy!r}",
                hint=f"auditwheel knows {', '.join(sorted(known))}",
            )
        return self.policy

    def builder(self, config: Config, *, memory: int | None = None, cpus: int | None = None) -> Builder:
        """Make the builder of wheels; a container gets these bytes of memory and processors, None for no limit."""
        from wheelmill.build.docker import ContainerLimits, DockerBuilder  # needs the factory extra
        from wheelmill.build.local import LocalBuilder

        if self.sandbox is SandboxKind.LOCAL:
            check_confinement(say)
            return LocalBuilder()
        limits = ContainerLimits(memory=memory, cpus=cpus, network=self.network)
        return DockerBuilder(images=config.images, compatibility=config.compatibility, limits=limits)

    def can_build(self, target: BuildTarget, config: Config) -> bool:
        """True if there is a compiler for a target."""
        cuda = target.cell.cuda
        return has_toolkit(cuda, target.toolkit) if self.sandbox is SandboxKind.LOCAL else cuda in config.images.cuda


@dataclass(frozen=True, kw_only=True)
class BuildOptions(PlaceOptions):
    """Conditions of builds that a command runs: limits of time, memory and processors, GPUs, clones and caches."""

    memory: Annotated[
        float | None,
        typer.Option(
            help="GiB that a build's container may use.",
            metavar="N",
            min=0.1,
            callback=of_a_size,
            envvar="WHEELMILL_MEMORY",
        ),
    ] = None
    cpus: Annotated[
        int | None,
        typer.Option(help="Processors that a build's container may use.", metavar="N", min=1, envvar="WHEELMILL_CPUS"),
    ] = None

    arch: Annotated[
        list[str] | None,
        typer.Option(
            help="Compile for these GPU architectures only: 9.0, 12.0+PTX. Such wheels are never released."
            " Repeatable, commas allowed.",
            metavar="X",
        ),
    ] = None
    clone: CloneOption = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Stop builds after these minutes, keep what is done and exit with 3.",
            metavar="N",
            min=0,
            callback=of_a_size,
        ),
    ] = None
    cache_from: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder with the compiler caches of other jobs, which the build also reads. Repeatable.",
            metavar="DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None

    def narrow(self, wanted: Filters) -> Filters:
        """Restrict a build to what can be built in the sandbox, and to the GPU architectures that were named."""
        architectures = read_values("--arch", self.arch, Architecture.parse)
        return replace(super().narrow(wanted), sample=bool(architectures), architectures=architectures)

    @property
    def seconds(self) -> float | None:
        """Time for builds; None if there is no limit."""
        return None if self.time_limit is None else self.time_limit * 60

    def limited_builder(self, config: Config) -> Builder:
        """Make the builder of wheels, with the given limits and what other jobs compiled."""
        if self.cache_from:
            say(f"{number_of(import_caches(self.cache_from), 'object')} of other jobs taken up")
        return self.builder(config, memory=int(self.memory * (1 << 30)) if self.memory else None, cpus=self.cpus)


def check_none_left(targets: Sequence[BuildTarget]) -> None:
    """Fail if the time was not enough for these targets."""
    if targets:
        raise TimeOverError(
            "time-over",
            f"out of time; left: {', '.join(target.cell.id for target in targets)}",
            hint="run the same command again: what was compiled is in the compiler cache",
        )


def environments_in(sandbox: SandboxKind, config: Config) -> SmokeEnvironments:
    """Make the clean environments; the configuration has the images."""
    from wheelmill.smoke.environment import DockerEnvironments, LocalEnvironments  # needs the factory extra

    if sandbox is SandboxKind.LOCAL:
        check_confinement(say)
        return LocalEnvironments(compatibility=config.compatibility)
    return DockerEnvironments(images=config.images, compatibility=config.compatibility)
