"""Building a wheel for this machine's own GPUs: it is kept here and never released."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path

from wheelmill.build.builder import Builder, build_wheel
from wheelmill.build.identity import identity_of, inputs_of, this_machine
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.progress import Progress
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.platforms import AUTO_POLICY


def wheel_kept(target: BuildTarget) -> WheelFile | None:
    """The wheel that was built from the same inputs before; None if there is none."""
    wheels = sorted(_folder_of(target).glob("*.whl"))
    return WheelFile.at(wheels[0]) if wheels else None


def build_here(target: BuildTarget, builder: Builder, progress: Progress) -> WheelFile:
    """Build a target and keep its wheel, or take the one that is kept.

    Raises:
        BuildError: it failed; with the first error of the log.
    """
    if kept := wheel_kept(target):
        progress.step(f"{target.cell.id}: built before with the same inputs")
        return kept
    return build_wheel(target, builder, policy=AUTO_POLICY, output=_folder_of(target), progress=progress).file


def _folder_of(target: BuildTarget) -> Path:
    """A folder of its own for everything that decides how a build goes."""
    return user_cache_path("wheelmill") / "built-here" / identity_of(inputs_of(target, this_machine(), AUTO_POLICY))
