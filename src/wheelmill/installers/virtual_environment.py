"""Virtual environments, made and filled by uv: it finds interpreters and links big wheels instead of copying."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from wheelmill.installers.index_settings import index_only_variables
from wheelmill.installers.uv import index_only_environment, index_variables, own_uv, torch_options
from wheelmill.names import PythonVersion
from wheelmill.system import process
from wheelmill.system.sandbox import Sandbox
from wheelmill.web.credentials import without_credentials


@dataclass(frozen=True, kw_only=True)
class VirtualEnvironment:
    """A virtual environment on disk."""

    directory: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.directory / "bin" / "python"

    def install(self, requirements: Sequence[str], *, torch_backend: str | None = None) -> None:
        """Install wheels from the index that pip or uv is configured with; source distributions are refused.

        Constraints of this machine are left out; see `index_only_environment`.

        Args:
            requirements: what to install, in the form of PEP 508.
            torch_backend: where torch is, as `torch_options` takes it.

        Raises:
            ProcessError: uv could not.
        """
        argv = (own_uv(), "pip", "install", "--only-binary", ":all:", "--python", self.python)
        with index_only_environment() as variables:
            process.run([*argv, *torch_options(torch_backend), *requirements], env=variables)

    def pip_install(self, requirements: Sequence[str], *, extra_index: str, sandbox: Sandbox) -> None:
        """Install wheels with pip, as a user would: from an extra index, and what they depend on from any.

        Constraints of this machine are left out; see `index_only_variables`.
        Where pip has to know a password, it installs wheels only: a ``setup.py`` would find it.

        Args:
            requirements: what to install, in the form of PEP 508.
            extra_index: the URL of the index that has them.
            sandbox: where pip runs: what is needed beside them may have only a source distribution.

        Raises:
            ProcessError: pip could not.
        """
        variables = {**index_only_variables(), **index_variables()}
        settings = {name: value for name, value in variables.items() if name.startswith("PIP_")}
        settings |= process.proxy_variables()
        wheels_only = any(without_credentials(value) != value for value in settings.values())
        names = ":all:" if wheels_only else ",".join(Requirement(text).name for text in requirements)
        sandbox.run(
            [
                *(self.python, "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir"),
                *("--only-binary", names, "--extra-index-url", extra_index, *requirements),
            ],
            cwd=self.directory,
            env=process.environment_for_foreign_code()
            | settings
            | {"TMPDIR": str(self.directory)},  # pip unpacks gigabytes
        )

    def evaluate(self, code: str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """Run Python code of ours in it and read the JSON it prints last.

        Raises:
            ProcessError: the code failed.
        """
        printed = process.run(
            [self.python, "-I", "-c", code, *arguments],
            cwd=self.directory,
            env=process.environment_for_foreign_code(),
        )
        return json.loads(printed.splitlines()[-1])


def create(directory: Path, *, python: PythonVersion | None = None, with_pip: bool = False) -> VirtualEnvironment:
    """Make an empty virtual environment, replacing what was there.

    Args:
        directory: the folder of the new environment.
        python: which interpreter to look for; None takes the running one, and so does its own version.
        with_pip: whether pip is installed into it.

    Raises:
        ProcessError: this machine has no such interpreter and uv cannot get one.
    """
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    wanted = sys.executable if python is None or str(python) == running else str(python)
    with index_only_environment() as variables:
        process.run(
            [own_uv(), "venv", "--clear", *(["--seed"] if with_pip else []), "--python", wanted, directory],
            # pyenv's shims answer only for the versions that this variable names.
            env=variables | ({"PYENV_VERSION": wanted} if wanted == str(python) else {}),
        )
    return VirtualEnvironment(directory=directory)
