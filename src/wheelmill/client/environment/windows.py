"""In which torches installed wheels could load: the libraries of each are read where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from wheelmill.client.install.distributions import Distribution, libraries_of
from wheelmill.errors import UnreadableError, UsageError
from wheelmill.names import ProjectName
from wheelmill.wheel.elf import Budget, SharedObject
from wheelmill.wheel.torch_links import window_of
from wheelmill.wheel.torch_need import torch_requirement
from wheelmill.wheel.torch_window import TorchWindow


def windows_of(interpreter: Path, installed: Iterable[Distribution]) -> Mapping[ProjectName, TorchWindow]:
    """Read the libraries of what needs torch.

    Args:
        interpreter: the one that has them installed.
        installed: the distributions that it can import.

    Returns:
        The window of each project that has one; none of a project whose libraries cannot be read.
    """
    wanted = sorted({each.project for each in installed if _needs_torch(each)})
    if not wanted:
        return {}
    try:
        libraries = libraries_of(interpreter, wanted)
    except UsageError:  # one went meanwhile
        return {}
    windows = {project: _window(paths) for project, paths in libraries.items()}
    return {project: window for project, window in windows.items() if window}


def _needs_torch(installed: Distribution) -> bool:
    needs = installed.torch is not None or torch_requirement(installed.requires_dist) is not None
    return needs and installed.project != "torch"


def _window(paths: Iterable[Path]) -> TorchWindow | None:
    budget = Budget()
    try:
        return window_of([SharedObject.read(path, name=path.name, budget=budget) for path in paths])
    except (UnreadableError, OSError):
        return None
