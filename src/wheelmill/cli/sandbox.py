"""Where builds and clean rooms run: on this machine, or in containers."""

from __future__ import annotations

from wheelmill.build.builder import Builder
from wheelmill.build.docker import DockerBuilder, Limits
from wheelmill.build.local import LocalBuilder
from wheelmill.cli.options import Sandbox
from wheelmill.config.records import Config
from wheelmill.smoke.docker import DockerRooms
from wheelmill.smoke.local import LocalRooms
from wheelmill.smoke.room import Rooms


def builder_in(sandbox: Sandbox, config: Config, *, memory: float | None, cpus: int | None, network: str) -> Builder:
    """Where builds run.

    Args:
        sandbox: which kind.
        config: has the images.
        memory: GiB that a container may use.
        cpus: processors that a container may use.
        network: Docker's name of the network that a container gets.
    """
    if sandbox is Sandbox.LOCAL:
        return LocalBuilder()
    limits = Limits(memory=int(memory * (1 << 30)) if memory else None, cpus=cpus, network=network)
    return DockerBuilder(images=config.images, compatibility=config.compatibility, limits=limits)


def rooms_in(sandbox: Sandbox, config: Config) -> Rooms:
    """Where wheels are tried.

    Args:
        sandbox: which kind.
        config: has the images.
    """
    if sandbox is Sandbox.LOCAL:
        return LocalRooms()
    return DockerRooms(images=config.images, compatibility=config.compatibility)
