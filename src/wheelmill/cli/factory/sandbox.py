"""The options that say where builds and clean environments run: on this machine, or in containers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.factory.filters import read_values
from wheelmill.cli.factory.inputs import CloneOption
from wheelmill.cli.shared.options import of_a_size
from wheelmill.cli.shared.output import say
from wheelmill.config.model import Config
from wheelmill.errors import TimeOverError, UsageError
from wheelmill.names import Architecture
from wheelmill.plan.targets import BuildTarget, Filters
from wheelmill.system.progress import number_of
from wheelmill.system.sandbox import check_confinement
from wheelmill.wheel.platforms import AUTO_POLICY, PUBLISHED_POLICY

if TYPE_CHECKING:
    from wheelmill.build.builder import Builder
    from wheelmill.smoke.environment import SmokeEnvironments


class SandboxKind(StrEnum):
    """Where builds and clean environments run."""

    LOCAL = "local"
    DOCKER = "docker"


SandboxOption = Annotated[
    SandboxKind, typer.Option("--sandbox", help="Where to build and test wheels.", envvar="WHEELMILL_SANDBOX")
]


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Where builds run and for which machines: what affects their result, beside their targets."""

    sandbox: SandboxOption = SandboxKind.LOCAL
    policy: Annotated[
        str | None,
        typer.Option(
            help=f"Platform policy: auto, or a name; {PUBLISHED_POLICY} by default in a container, auto elsewhere.",
            metavar="POLICY",
        ),
    ] = None
    network: Annotated[
        str,
        typer.Option(help="Docker's network for build containers.", metavar="NAME", envvar="WHEELMILL_NETWORK"),
    ] = "none"

    def resolve_policy(self) -> str:
        """Check the platform policy before hours are spent on a build for it.

        In a container the published policy is the default, elsewhere the oldest that auditwheel grants.

        Raises:
            UsageError: there is no such policy.
        """
        if self.policy is None:
            return AUTO_POLICY if self.sandbox is SandboxKind.LOCAL else PUBLISHED_POLICY
        from wheelmill.wheel.policies import policy_names  # noqa: PLC0415 - part of the factory extra

        if self.policy != AUTO_POLICY and self.policy not in (known := policy_names()):
            raise UsageError(
                "policy-unknown",
                f"--policy: expected auto or a name such as {PUBLISHED_POLICY}, not {self.policy!r}",
                hint=f"auditwheel knows {', '.join(sorted(known))}",
            )
        return self.policy

    def builder(self, config: Config, *, memory: int | None = None, cpus: int | None = None) -> Builder:
        """Make the builder of wheels.

        Args:
            config: the configuration, which has the images.
            memory: bytes that a container may use; None sets no limit.
            cpus: processors that a container may use; None sets no limit.
        """
        from wheelmill.build.docker import DockerBuilder, Limits  # noqa: PLC0415 - part of the factory extra
        from wheelmill.build.local import LocalBuilder  # noqa: PLC0415

        if self.sandbox is SandboxKind.LOCAL:
            check_confinement(say)
            return LocalBuilder()
        limits = Limits(memory=memory, cpus=cpus, network=self.network)
        return DockerBuilder(images=config.images, compatibility=config.compatibility, limits=limits)

    def can_build(self, target: BuildTarget, config: Config) -> bool:
        """Whether there is a compiler for a target."""
        from wheelmill.build.toolkit import has_toolkit  # noqa: PLC0415 - part of the factory extra

        cuda = target.cell.cuda
        return has_toolkit(cuda, target.toolkit) if self.sandbox is SandboxKind.LOCAL else cuda in config.images.cuda


@dataclass(frozen=True, kw_only=True)
class BuildOptions(PlaceOptions):
    """Where builds run, for which machines, and what a container may use."""

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
            help="Compile for these GPU architectures only: 9.0, 12.0+PTX. Such a wheel is tried, never released."
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
            help="Folders with compiler caches of other jobs, in which the build looks, too. Repeatable.",
            metavar="DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None

    def narrow(self, wanted: Filters) -> Filters:
        """Leave out other GPU architectures than those that are named.

        Raises:
            UsageError: one of them is none.
        """
        architectures = read_values("--arch", self.arch, Architecture.parse)
        return replace(wanted, sample=bool(architectures), architectures=architectures)

    @property
    def seconds(self) -> float | None:
        """The time for builds; None sets no limit."""
        return None if self.time_limit is None else self.time_limit * 60

    def limited_builder(self, config: Config) -> Builder:
        """Make the builder of wheels, with the given limits and what other jobs compiled.

        Raises:
            IntegrityError: their compiler caches are larger than such may be.
        """
        if self.cache_from:
            from wheelmill.build.compiler_cache import take_up  # noqa: PLC0415 - part of the factory extra

            say(f"{number_of(take_up(self.cache_from), 'object')} of other jobs taken up")
        return self.builder(config, memory=int(self.memory * (1 << 30)) if self.memory else None, cpus=self.cpus)


def check_none_left(targets: Sequence[BuildTarget]) -> None:
    """Fail if the time was not enough for these targets.

    Raises:
        TimeOverError: there are some.
    """
    if targets:
        raise TimeOverError(
            "time-over",
            f"out of time; left: {', '.join(target.cell.id for target in targets)}",
            hint="run the same command again: what was compiled is in the compiler cache",
        )


def environments_in(sandbox: SandboxKind, config: Config) -> SmokeEnvironments:
    """Make the clean environments; the configuration has the images."""
    from wheelmill.smoke.docker import DockerEnvironments  # noqa: PLC0415 - part of the factory extra
    from wheelmill.smoke.environment import LocalEnvironments  # noqa: PLC0415

    if sandbox is SandboxKind.LOCAL:
        check_confinement(say)
        return LocalEnvironments(compatibility=config.compatibility)
    return DockerEnvironments(images=config.images, compatibility=config.compatibility)
