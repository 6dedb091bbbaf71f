"""Building on this machine: a virtual environment, and a toolkit that may come from wheels."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from build import BuildBackendException, BuildException, ProjectBuilder

from wheelmill.build.builder import Compiled, describe
from wheelmill.build.compiler_cache import tell_hits
from wheelmill.build.compiler_output import explain_failure, unit_in
from wheelmill.build.environment import BuildEnvironment, prepare_environment
from wheelmill.build.finish import check_built
from wheelmill.build.identity import BuildPlace, this_machine
from wheelmill.build.parts import BuildPart, CompiledPart, part_in
from wheelmill.build.repair import repair_here
from wheelmill.build.system_packages import check_system_packages
from wheelmill.config.model import Package
from wheelmill.errors import BuildError, ProcessError
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.folders import temporary_files_in, temporary_folder
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class RawWheel:
    """What a build backend made."""

    path: Path
    memory: int
    """The peak memory of its largest process, in bytes: a compiler's, or that of Python with torch."""


class LocalBuilder:
    """Compiles with what this machine has, and with what wheels bring."""

    @functools.cached_property
    def _machine(self) -> BuildPlace:
        return this_machine()

    def place(self, _target: BuildTarget, /) -> BuildPlace:
        """This machine; see `Builder`."""
        return self._machine

    def compile(
        self, target: BuildTarget, source: Path, workspace: Path, *, policy: str, log: Path, progress: Progress
    ) -> Compiled:
        """Compile with the project's own build backend; see `Builder`."""
        environment, raw = self._build(target, source, workspace, None, log=log, progress=progress)
        check_built(raw.path, target)
        repaired = repair_here(raw.path, policy, target.cell.platform, workspace / "repaired", log=log)
        return Compiled(
            wheel=repaired,
            toolkit=target.toolkit,
            packages=environment.packages.distributions(),
            objects=environment.cache.counts(),
            memory=raw.memory,
        )

    def compile_part(
        self, target: BuildTarget, source: Path, workspace: Path, part: BuildPart, *, log: Path, progress: Progress
    ) -> CompiledPart:
        """Compile a part with the project's own build backend; see `Builder`."""
        environment, _ = self._build(target, source, workspace, part, log=log, progress=progress)
        return part_in(environment.cache)

    def _build(
        self,
        target: BuildTarget,
        source: Path,
        workspace: Path,
        part: BuildPart | None,
        *,
        log: Path,
        progress: Progress,
    ) -> tuple[BuildEnvironment, RawWheel]:
        """Have a wheel made, with empty objects in it where only a part is compiled."""
        check_system_packages(target.package, progress)
        progress.step(f"{target.cell.id}: preparing {describe(target, target.toolkit)}")
        environment = prepare_environment(target, self.place(target), workspace, log=log)
        if part:
            variables = part.divide(source, source, environment.cache)
            environment = replace(environment, variables={**environment.variables, **variables})
        progress.step(f"{target.cell.id}: compiling; log in {log}")
        with tell_hits(target, environment.cache, progress):
            project, raw = source / target.subdirectory, workspace / "raw"
            made = build_raw_wheel(target.package, project, raw, environment, log=log, progress=progress)
        return environment, made


def build_raw_wheel(
    package: Package, source: Path, destination: Path, environment: BuildEnvironment, *, log: Path, progress: Progress
) -> RawWheel:
    """Have a wheel made of a source folder by the project's own build backend (PEP 517).

    Args:
        package: whether the project's own build requirements are installed, settings for its backend, and a time limit.
        source: the folder with ``pyproject.toml`` or ``setup.py``.
        destination: the folder for the wheel.
        environment: the environment that the build backend runs in.
        log: the file that gets everything that is printed.
        progress: shows the lines that programs print.

    Raises:
        BuildError: the backend failed; with the last lines it printed.
    """
    memory: list[int] = []

    def run(cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None) -> None:
        """Call a hook of the build backend in the sandbox, as pyproject_hooks would without one."""
        _, hook, *_, exchange = cmd  # as pyproject_hooks calls its script, which finds its task in a folder
        sandbox = replace(
            environment.sandbox,
            writable={**environment.sandbox.writable, Path(exchange): Path(exchange), destination: destination},
            readable=[*environment.sandbox.readable, Path(hook)],
        )
        variables = {**environment.variables, **(extra_environ or {})}
        folder = source / (cwd or "")
        sandbox.run(
            cmd,
            cwd=folder,
            env=variables,
            timeout=package.timeout,
            log=log,
            on_line=lambda line: progress.line(unit_in(line)),
            on_end=memory.append,
        )

    destination.mkdir(exist_ok=True)
    settings = dict(package.build_args.config_settings)
    try:
        with temporary_folder() as exchange, temporary_files_in(exchange):
            builder = ProjectBuilder(source, python_executable=str(environment.python), runner=run)
            if package.build_args.isolation:
                environment.packages.install(sorted(builder.build_system_requires), log=log)
                environment.packages.install(sorted(builder.get_requires_for_build("wheel", settings)), log=log)
            wheel = builder.build("wheel", destination, settings)
            return RawWheel(path=destination / wheel, memory=max(memory))
    except (BuildException, BuildBackendException, ProcessError) as error:
        cause = error.exception if isinstance(error, BuildBackendException) else error
        what = f"{source.name} does not build"
        if not isinstance(cause, ProcessError):
            raise BuildError("build-failed", f"{what}:\n{error}") from None
        seen = environment.sandbox.inside(str(source))
        raise explain_failure(what, cause, log, package=package, source=source, seen=seen) from None
