"""A project that uv manages: its environment is brought to what its ``pyproject.toml`` says.

https://docs.astral.sh/uv/concepts/projects/sync/
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wheelmill.client.records import Candidate
from wheelmill.errors import IntegrityError
from wheelmill.installers.uv import run_installer
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class UvProject:
    """A folder with a ``pyproject.toml``."""

    directory: Path
    uv: Path
    python: str | None
    """The interpreter to use; None leaves the choice to uv."""
    progress: Progress
    offline: bool = False
    """Whether to do with what uv's own cache has."""

    def sync(self, chosen: Sequence[Candidate]) -> None:
        """Lock the project, compare what was locked with what was chosen, and install it.

        Raises:
            InstallError: uv could not.
            IntegrityError: uv met other bytes than those that were chosen; nothing of them is installed.
        """
        options = ["--directory", str(self.directory)]
        if self.python:
            options += ["--python", self.python]
        if self.offline:
            options.append("--offline")
        # uv may have read a page of their index before they were on it.
        anew = [] if self.offline else [word for each in chosen for word in ("--refresh-package", each.project)]
        run_installer([self.uv, "lock", *options, *anew], self.progress)
        check_lock(self.directory / "uv.lock", chosen)
        run_installer([self.uv, "sync", *options], self.progress)


def check_lock(path: Path, chosen: Iterable[Candidate]) -> None:
    """Compare the hashes in a ``uv.lock`` with those of the wheels that were chosen.

    Raises:
        IntegrityError: one is missing, or has another hash.
    """
    packages = tomllib.loads(path.read_text(encoding="utf-8")).get("package", [])
    for candidate in chosen:
        hashes = {
            str(wheel.get("hash", ""))
            for package in packages
            if package.get("name") == candidate.project
            for wheel in package.get("wheels", ())
        }
        if candidate.sha256 and f"sha256:{candidate.sha256}" not in hashes:
            raise IntegrityError(
                f"{path.name} has no {candidate.filename} with sha256 {candidate.sha256}: "
                f"it has {', '.join(sorted(hashes)) or 'no wheel of that name'}"
            )
