"""cibuildwheel: it copies a source into a container of our image, builds and repairs there, and fetches the wheel.

https://cibuildwheel.pypa.io/en/stable/options/
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import tomlkit

from wheelmill.build.compiler_output import unit_in
from wheelmill.build.components import HEADERS
from wheelmill.build.repair import repair_arguments
from wheelmill.config.model import Component
from wheelmill.plan.targets import BuildTarget
from wheelmill.system import process
from wheelmill.system.progress import Progress

PACKAGES: Final = PurePosixPath("/opt/wheelmill/packages")
"""Where torch and the build requirements lie in the container: at one path for every Python."""


PROJECT: Final = PurePosixPath("/project")
"""Where the container has the folder that cibuildwheel is started in."""


@dataclass(frozen=True, kw_only=True)
class ContainerBuild:
    """One Python's build in one container."""

    target: BuildTarget
    image: str
    policy: str | None
    """``auto``, or a platform policy without its machine; None leaves the wheel as it was built."""
    variables: Mapping[str, str]
    """Environment variables of the build."""
    create_args: Sequence[str]
    """Further options of ``docker create``."""


def run_cibuildwheel(build: ContainerBuild, source: Path, workspace: Path, *, log: Path, progress: Progress) -> Path:
    """Build and repair a wheel in a container.

    Args:
        build: the target, the image and the environment of the build.
        source: the folder of the source, alone in its own. It is never the working folder of a program of ours, which
            would import a ``cibuildwheel.py`` of the project.
        workspace: the folder for the settings and the wheel.
        log: the file that gets everything that is printed.
        progress: shows the lines that programs print.

    Raises:
        ProcessError: cibuildwheel failed, or ran out of time.
    """
    settings, output = workspace / "cibuildwheel.toml", workspace / "wheelhouse"
    settings.write_text(tomlkit.dumps(settings_of(build)))
    identifier = f"{build.target.cell.python.abi}-manylinux_{_machine(build.target)}"
    command = [sys.executable, "-I", "-m", "cibuildwheel", "--only", identifier, "--config-file", str(settings)]
    process.run(
        [*command, "--output-dir", str(output), str(PurePosixPath(source.name, build.target.subdirectory))],
        cwd=source.parent,  # which holds nothing else, and which cibuildwheel copies to /project, a fixed path
        env={
            **_docker_environment(),
            **build.variables,
            "TMPDIR": str(workspace),
            "CIBW_CACHE_PATH": str(workspace / "cibuildwheel"),  # it makes one, and a home may be read-only
        },
        timeout=build.target.package.timeout,
        log=log,
        on_line=lambda line: progress.line(unit_in(line)),
        guard=True,  # it starts Docker's clients
    )
    (wheel,) = output.glob("*.whl")
    return wheel


def settings_of(build: ContainerBuild) -> dict[str, object]:
    """The contents of ``cibuildwheel.toml``, which replaces what the project's pyproject.toml says."""
    target = build.target
    options: dict[str, object] = {
        f"manylinux-{_machine(target)}-image": build.image,
        "container-engine": {"name": "docker", "create-args": [*build.create_args], "disable-host-mount": True},
        # What the build needs is in PACKAGES already, as the lock says it.
        "build-frontend": {"name": "pip", "args": ["--no-build-isolation"]},
        "build-verbosity": 1,  # else pip keeps what compilers print until they have failed
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
    """Check that the image has the components, before anything is compiled."""
    header = f"$CUDA_HOME/include/{HEADERS[component]}"
    message = f"'toolkit' of the package names {component}, but the image has no {header}"
    return f'test -e "{header}" || (echo "error: {message}" && exit 1)'


def _repair_command(build: ContainerBuild) -> str:
    """Repair a wheel; auditwheel has a Python of its own, which must not import from PACKAGES."""
    if build.policy is None:
        return ""
    repair = shlex.join(repair_arguments(build.policy, build.target.cell.platform))
    return f"env --unset=PYTHONPATH auditwheel {repair} -w {{dest_dir}} {{wheel}}"


def _machine(target: BuildTarget) -> str:
    return target.cell.platform.machine


def _docker_environment() -> dict[str, str]:
    """The environment of cibuildwheel and Docker's client: none of the user's settings, and no token."""
    docker = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
    return process.environment_for_foreign_code() | docker
