"""Virtual environments, made and filled by uv: it finds interpreters and links big wheels instead of copying."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from wheelmill.installers.package_index import configured_index
from wheelmill.names import PythonVersion
from wheelmill.system import process


@dataclass(frozen=True, kw_only=True)
class VirtualEnvironment:
    """A virtual environment on disk."""

    directory: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.directory / "bin" / "python"

    def install(self, requirements: Sequence[str]) -> None:
        """Install wheels from the index that pip or uv is configured with; source distributions are refused.

        Raises:
            ProcessError: uv could not.
        """
        process.run(
            [uv(), "pip", "install", "--only-binary", ":all:", "--python", self.python, *requirements],
            env=installer_environment(),
        )

    def pip_install(self, requirements: Sequence[str], *, extra_index: str) -> None:
        """Install wheels with pip, as a user would: from an extra index, and what they depend on from any.

        Raises:
            ProcessError: pip could not.
        """
        process.run(
            [
                *(self.python, "-m", "pip", "install", "--no-input", "--no-cache-dir"),
                *("--only-binary", ",".join(Requirement(text).name for text in requirements)),
                *("--extra-index-url", extra_index, *requirements),
            ],
            # What is needed beside them may have only a source distribution, whose setup.py shall see no token.
            env=process.environment_for_foreign_code()
            | {name: value for name, value in installer_environment().items() if name.startswith("PIP_")},
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
        directory: where.
        python: which interpreter to look for; None takes the running one, and so does its own version.
        with_pip: whether pip is put into it.

    Raises:
        ProcessError: this machine has no such interpreter and uv cannot get one.
    """
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    wanted = sys.executable if python is None or str(python) == running else str(python)
    process.run(
        [uv(), "venv", "--clear", *(["--seed"] if with_pip else []), "--python", wanted, directory],
        # pyenv's shims answer only for the versions that this variable names.
        env=installer_environment() | ({"PYENV_VERSION": wanted} if wanted == str(python) else {}),
    )
    return VirtualEnvironment(directory=directory)


def resolve(requirements: Sequence[str], *, python: str, without: str) -> str:
    """Find versions that fit together on every platform and every Python from one on; only metadata is downloaded.

    Args:
        requirements: PEP 508.
        python: the oldest Python: ``3.9``.
        without: a project that is left out with all it needs, whatever depends on it.

    Returns:
        A requirements file: every line pins a project and ends with the hashes of that version's files.

    Raises:
        ProcessError: they do not fit together, or the package index does not answer.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted, excluded, resolved = folder / "requirements.in", folder / "excluded.txt", folder / "requirements.txt"
        wanted.write_text("\n".join(requirements))
        excluded.write_text(without)
        process.run(
            [
                *(uv(), "pip", "compile", "--quiet", "--universal", "--python-version", python),
                *("--python", sys.executable),  # else uv looks for the oldest Python and may download it
                *("--only-binary", ":all:", "--generate-hashes", "--excludes", excluded, "--refresh"),
                *("--no-header", "--no-annotate", "--no-emit-index-url", "--output-file", resolved, wanted),
            ],
            cwd=folder,  # a pyproject.toml around here may hold settings of uv
            env=installer_environment(),
        )
        return resolved.read_text()


def uv() -> str:
    """Where the uv that came with the factory extra is."""
    from uv import find_uv_bin  # noqa: PLC0415 - part of the factory extra

    return find_uv_bin()


def installer_environment() -> dict[str, str]:
    """Each installer reads its own configuration; where only one of them was told the index, both use it."""
    index = configured_index()
    return dict(os.environ) | ({"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index} if index else {})
