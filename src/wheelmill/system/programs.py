"""Programs on PATH, without those that a clone brings in an environment of its own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def find_program(name: str) -> str | None:
    """Find a program in `program_folders`."""
    return shutil.which(name, path=os.pathsep.join(map(str, program_folders())))


def program_folders() -> list[Path]:
    """List the folders of PATH, but for relative ones and environments in the current folder or one above.

    The home folder is no project's, and the environment that runs wheelmill is trusted.
    """
    here = Path.cwd().resolve()
    projects = {here, *here.parents} - {Path.home().resolve()}
    own = os.path.realpath(Path(sys.executable).parent)

    def is_foreign(folder: Path) -> bool:
        # Unlike `Path.exists`, this is False in a home of root's that an image leaves on PATH.
        is_environment = any(os.path.exists(folder.parent / name) for name in ("pyvenv.cfg", "conda-meta"))  # noqa: PTH110
        return is_environment and folder.parents[1].resolve() in projects and os.path.realpath(folder) != own

    return [folder for each in os.get_exec_path() if (folder := Path(each)).is_absolute() and not is_foreign(folder)]
