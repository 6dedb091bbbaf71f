"""Builds in a container: manylinux with a CUDA toolkit, through cibuildwheel.

It copies a source into the container, builds and repairs there, and fetches the wheel:
https://cibuildwheel.pypa.io/en/stable/options/
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import tomlkit

from wheelmill.build.builder import BuildTask, Compiled, check_built, describe
from wheelmill.build.compiler_cache import BuildPart, CompiledPart, CompilerCache, cache_of, part_in, report_hits
from wheelmill.build.compiler_output import BuildDisplay, explain_failure
from wheelmill.build.environment import HEADERS, install_packages, variables_of
from wheelmill.build.local import repair_arguments
from wheelmill.build.provenance import BuildPlace
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.container_builder import identifier_of
from wheelmill.config.model.files import Images
from wheelmill.config.model.package_fields import Component
from wheelmill.errors import BuildError, CompileError, ProcessError, UsageError
from wheelmill.installers.disk_budget import check_disks
from wheelmill.installers.environments import PackageFolder
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import containers, process
from wheelmill.system.containers import OwnImage, build_image, check_disk_full
from wheelmill.system.hardware import Parallelism, parallelism_for
from wheelmill.system.progress import Progress, number_of

PACKAGES: Final = PurePosixPath("/opt/wheelmill/packages")
"""Path of torch and the build requirements in the container, the same for every Python."""
PROJECT: Final = PurePosixPath("/project")
"""Path in the container of the folder in which cibuildwheel is started."""


@dataclass(frozen=True, kw_only=True)
class ContainerBuild:
    """One Python's build in one container."""

    task: BuildTask
    """Its source is alone in its parent folder, which is never the working folder of our programs: they would import a
    ``cibuildwheel.py`` of the project. Its workspace gets the settings and the wheel."""
    image: str
    policy: str | None
    """``auto``, or a platform policy without its machine; None leaves the wheel as it was built."""
    variables: Mapping[str, str]
    cache: CompilerCache
    create_args: Sequence[str]


def run_cibuildwheel(build: ContainerBuild) -> Path:
    """Build and repair a wheel in a container."""
    target, source, workspace = build.task.target, build.task.source, build.task.workspace
    settings, output = workspace / "cibuildwheel.toml", workspace / "wheelhouse"
    settings.write_text(tomlkit.dumps(settings_of(build)))
    identifier = identifier_of(target.cell.python, target.cell.platform)
    command = [sys.executable, "-I", "-m", "cibuildwheel", "--only", identifier, "--config-file", str(settings)]
    process.run(
        [*command, "--output-dir", str(output), str(PurePosixPath(source.name, target.subdirectory))],
        cwd=source.parent,  # cibuildwheel copies it, and so nothing else, to the fixed path /project
        env={
            **process.environment_for_foreign_code(),
            **{name: value for name, value in os.environ.items() if name.startswith("DOCKER_")},
            **build.variables,
            "TMPDIR": str(workspace),
            "CIBW_CACHE_PATH": str(workspace / "cibuildwheel"),  # else in the home folder, which may be read-only
        },
        timeout=target.package.timeout,
        log=build.task.log,
        on_line=BuildDisplay(progress=build.task.progress, cache=build.cache).show,
        guard=True,  # it starts Docker's clients
    )
    (wheel,) = output.glob("*.whl")
    return wheel


def settings_of(build: ContainerBuild) -> dict[str, object]:
    """Contents of ``cibuildwheel.toml``, which replace the settings in the project's pyproject.toml."""
    target = build.task.target
    options: dict[str, object] = {
        f"manylinux-{target.cell.platform.machine}-image": build.image,
        "container-engine": {"name": "docker", "create-args": [*build.create_args], "disable-host-mount": True},
        # PACKAGES has the locked requirements already.
        "build-frontend": {"name": "pip", "args": ["--no-build-isolation"]},
        "build-verbosity": 1,  # else pip shows the output of compilers only after a failure
        "config-settings": dict(target.package.build_args.config_settings),
        "environment": {"PYTHONPATH": str(PACKAGES), "PATH": f"$PATH:{PACKAGES}/bin"},
        "environment-pass": sorted(build.variables),
        "before-build": [_check_header(name) for name in target.package.toolkit if name in HEADERS],
        "repair-wheel-command": _repair_command(build),
        "test-command": "",
        "audit-command": "",
    }
    return {"tool": {"cibuildwheel": options}}


def _check_header(component: Component) -> str:
    """Command that checks the image for a component before anything is compiled."""
    header = f"$CUDA_HOME/include/{HEADERS[component]}"
    message = f"'toolkit' of the package names {component}, but the image has no {header}"
    return f'test -e "{header}" || (echo "error: {message}" && exit 1)'


def _repair_command(build: ContainerBuild) -> str:
    """Repair command; auditwheel has a Python of its own, which must not import from PACKAGES."""
    if build.policy is None:
        return ""
    repair = shlex.join(repair_arguments(build.policy, build.task.target.cell))
    return f"env --unset=PYTHONPATH auditwheel {repair} -w {{dest_dir}} {{wheel}}"


_REFUSED: Final = (2, 3)
"""Exit codes of cibuildwheel for a build that it does not know or cannot be configured for, and for a source that
excludes its Python. Builds that fail exit with 1.
https://github.com/pypa/cibuildwheel/blob/main/cibuildwheel/errors.py
"""

_LINE_CHARS: Final = 300
"""Characters of a refusal that are shown and remembered: it may list all builds that cibuildwheel knows."""

_CONFINED: Final = (
    *("--cap-drop=ALL", "--cap-add=CHOWN", "--cap-add=DAC_OVERRIDE", "--cap-add=FOWNER"),  # for unpacking
    *("--security-opt=no-new-privileges", "--pids-limit=8192"),
)
_CUDA_HOME: Final = PurePosixPath("/opt/wheelmill/cuda")
_COMPILERS: Final = PurePosixPath("/opt/wheelmill/compilers")
_CACHE: Final = PurePosixPath("/opt/wheelmill/cache")


@dataclass(frozen=True, kw_only=True)
class ContainerLimits:
    """Resources and network of a build's container."""

    memory: int | None = None
    """Bytes; None sets no limit, as for `cpus`."""
    cpus: int | None = None
    network: str = "none"
    """A network of Docker's. Builds need none: what they install is mounted."""


@dataclass(frozen=True, kw_only=True)
class DockerBuilder:
    """Builder in containers of images that ``images.yml`` pins."""

    images: Images
    compatibility: Compatibility
    limits: ContainerLimits

    def place(self, target: BuildTarget, /) -> BuildPlace:
        """Describe the container of the images for the target's CUDA; see `Builder`."""
        cuda, platform = target.cell.cuda, target.cell.platform
        bases = self.images.cuda.get(cuda)
        images = (self.images.manylinux.images.get(platform), bases and bases.devel)
        return BuildPlace(
            sandbox="docker",
            compilers=(f"gcc {self.compatibility.cuda[cuda].host_gcc}",),
            images=tuple(str(image) for image in images if image),
            network=self.limits.network,
        )

    def compile(self, task: BuildTask, policy: str) -> Compiled:
        """Compile through cibuildwheel; see `Builder`."""
        wheel, packages, cache = self._build(task, policy)
        target = task.target
        check_built(wheel, target)
        bases = self.images.of_cuda(target.cell.cuda)
        return Compiled(
            wheel=wheel,
            toolkit=bases.toolkit,
            packages=packages.distributions(),
            images=(str(self.images.manylinux.images[target.cell.platform]), str(bases.devel)),
            objects=cache.counts(),
        )

    def compile_part(self, task: BuildTask, part: BuildPart) -> CompiledPart:
        """Compile a part through cibuildwheel; see `Builder`."""
        _, _, cache = self._build(task, None, part)
        return part_in(cache)

    def _build(
        self, task: BuildTask, policy: str | None, part: BuildPart | None = None
    ) -> tuple[Path, PackageFolder, CompilerCache]:
        """Build a wheel; with a ``part``, the other units are empty objects, and the wheel is not repaired."""
        target, source, workspace, log = task.target, task.source, task.workspace, task.log
        cell, toolkit = target.cell, self.images.of_cuda(target.cell.cuda).toolkit
        with containers.claim_run() as run:
            bases = self.images.manylinux.images[cell.platform], self.images.of_cuda(cell.cuda).devel
            own = build_image(*map(str, (*bases, self.compatibility.cuda[cell.cuda].host_gcc)))
            check_disks([own], task.progress, python=cell.python, torch=target.torch_release)
            image = _with_system_packages(own.make(task.progress), target, task.progress)
            task.progress.step(f"{cell.id}: preparing {describe(target, toolkit)}")
            folder = PackageFolder(directory=workspace / "packages", python=cell.python, platform=cell.platform)
            packages = install_packages(target, folder, workspace, log=log)
            parallelism = parallelism_for(
                len(target.architectures),
                per_compiler=target.package.memory_per_job,
                cores=self.limits.cpus,
                memory=self.limits.memory,
            )
            tags = f"{cell.python.interpreter}-{cell.python.abi}"
            headers = PurePosixPath(f"/opt/python/{tags}/include/python{cell.python}")
            cache = cache_of(target, toolkit, self.place(target), workspace, headers)
            variables = {
                **cache.variables(_CACHE, _COMPILERS),
                **variables_of(target, parallelism, packages=PACKAGES, toolkit=_CUDA_HOME),
            }
            if part:
                variables |= part.divide(source, PROJECT / source.name, cache)
            build = ContainerBuild(
                task=task,
                image=image,
                policy=policy,
                variables=variables,
                cache=cache,
                create_args=self._create_args(run, packages, cache),
            )
            task.progress.step(f"{cell.id}: compiling in a container; log in {log}")
            began = int(time.time())
            try:
                with report_hits(target, cache, task.progress):
                    wheel = run_cibuildwheel(build)
            except ProcessError as error:
                if fault := self._fault_of_machine(error, run, began=began, parallelism=parallelism, log=log):
                    raise fault from None
                raise _fault_of_source(error, task) from None
            finally:
                _restore_owner(cache.folder, image, run)
        return wheel, packages, cache

    def _create_args(self, run: str, packages: PackageFolder, cache: CompilerCache) -> list[str]:
        limits = self.limits
        return [
            f"--label={containers.LABEL}={run}",
            f"--volume={packages.directory}:{PACKAGES}:ro",
            f"--volume={cache.compilers}:{_COMPILERS}:ro",
            f"--volume={cache.folder}:{_CACHE}",
            f"--network={limits.network}",
            *_CONFINED,
            *([f"--memory={limits.memory}", f"--memory-swap={limits.memory}"] if limits.memory else []),
            *([f"--cpus={limits.cpus}"] if limits.cpus else []),
        ]

    def _fault_of_machine(
        self, error: ProcessError, run: str, *, began: int, parallelism: Parallelism, log: Path
    ) -> BuildError | None:
        """Error for the resource that a failed build used up; None if there is no sign of that."""
        containers.check_daemon()
        tail = f"{error.tail}\n{error}\n(the whole log: {log})"
        if containers.ran_out_of_memory(run, since=began):
            limit = f"{self.limits.memory / (1 << 30):.1f} GiB" if self.limits.memory else "this machine's memory"
            return BuildError(
                "out-of-memory",
                f"the build used up {limit} with {number_of(parallelism.jobs, 'compiler')} at once:\n{tail}",
                hint="give the container more (--memory), or let fewer compilers run: raise its memory_per_job",
            )
        check_disk_full(tail)
        return None


def _fault_of_source(error: ProcessError, task: BuildTask) -> BuildError:
    if error.returncode in _REFUSED:
        line = process.printable((error.tail.strip() or str(error)).rpartition("\n")[2])[:_LINE_CHARS]
        message = f"cibuildwheel refuses {task.target.cell.id}: {line}\n(the whole log: {task.log})"
        return CompileError("builder-refused", message, line=line)
    seen = str(PROJECT / task.source.name)
    return explain_failure(error, task.log, package=task.target.package, source=task.source, seen=seen)


def _with_system_packages(image: str, target: BuildTarget, progress: Progress) -> str:
    if (wanted := target.package.system_packages) is None:
        return image
    more = {"BUILD_IMAGE": image, "DNF": " ".join(wanted.dnf or ()), "APT": " ".join(wanted.apt or ())}
    try:
        return OwnImage(name="system-packages", arguments=more).make(progress)
    except UsageError as error:
        raise BuildError("system-packages-failed", f"{target.package.place_of('system_packages')}: {error}") from None


def _restore_owner(folder: Path, image: str, run: str) -> None:
    """Make the current user the owner of files that a container wrote as root."""
    if os.getuid() != 0:
        owner = f"{os.getuid()}:{os.getgid()}"
        with containers.start_container(image, run, ["--network=none", f"--volume={folder}:{_CACHE}"]) as container:
            container.run(["chown", "--recursive", owner, str(_CACHE)])
