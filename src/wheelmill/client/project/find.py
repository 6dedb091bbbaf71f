"""Which project a command is about, and of which kind it is."""

from __future__ import annotations

from pathlib import Path

from wheelmill.client.project.project import Project
from wheelmill.client.project.uv_project import UvProject
from wheelmill.installers.uv import find_uv


def find_project(given: Path | None, python: Path | None = None) -> Project:
    """Find the project that was named, or that this folder or the nearest above it is; else a new one here.

    Args:
        given: its file or its folder; None looks for it.
        python: the interpreter that was named by hand; None takes the project's own.
    """
    return UvProject(path=project_file(given), uv=find_uv(), python=python)


def project_file(given: Path | None) -> Path:
    """The ``pyproject.toml`` that was named, or is in this folder or the nearest above it, or could be made here."""
    if given:
        return given / "pyproject.toml" if given.is_dir() else given
    here = Path.cwd()
    found = next((path for folder in (here, *here.parents) if (path := folder / "pyproject.toml").exists()), None)
    return found or here / "pyproject.toml"
