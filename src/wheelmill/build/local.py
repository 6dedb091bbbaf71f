"""Building on this machine: a virtual environment, and a toolkit that may come from wheels."""

from __future__ import annotations

from pathlib import Path

from wheelmill.build.backend import build_raw_wheel
from wheelmill.build.builder import Compiled, describe
from wheelmill.build.compiler_cache import counted
from wheelmill.build.environment import prepare_environment
from wheelmill.build.finish import check_built
from wheelmill.build.repair import repair_here
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.progress import Progress


class LocalBuilder:
    """Compiles with what this machine has, and with what wheels bring."""

    def compile(
        self, target: BuildTarget, source: Path, workspace: Path, *, policy: str, log: Path, progress: Progress
    ) -> Compiled:
        """Compile with the project's own build backend; see `Builder`."""
        progress.step(f"{target.cell.id}: preparing {describe(target, target.toolkit)}")
        environment = prepare_environment(target, workspace, log=log)
        progress.step(f"{target.cell.id}: compiling; log in {log}")
        with counted(target, environment.cache, progress):
            raw = build_raw_wheel(
                source,
                workspace / "raw",
                environment,
                target.package.build_arguments,
                timeout=target.package.timeout,
                log=log,
                progress=progress,
            )
        check_built(raw, target)
        repaired = repair_here(raw, policy, target.cell.platform, workspace / "repaired", log=log)
        return Compiled(wheel=repaired, toolkit=target.toolkit, packages=environment.packages.distributions())
