"""In which torches installed wheels could load: the libraries of each are read where they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from wheelmill.client.install.distributions import Distribution
from wheelmill.errors import ProcessError, UnreadableError
from wheelmill.names import ProjectName
from wheelmill.system import process
from wheelmill.wheel.elf import Budget, SharedObject
from wheelmill.wheel.torch_links import window_of
from wheelmill.wheel.torch_need import torch_requirement
from wheelmill.wheel.torch_window import TorchWindow

_LIBRARIES: Final = """
import importlib.metadata, json, sys
def libraries_of(project):
    files = importlib.metadata.distribution(project).files or ()
    return [str(file.locate()) for file in files if ".so" in file.suffixes]
print(json.dumps({project: libraries_of(project) for project in sys.argv[1:]}))
"""


def windows_of(interpreter: Path, installed: Iterable[Distribution]) -> Mapping[ProjectName, TorchWindow]:
    """Read the libraries of what needs torch.

    Args:
        interpreter: the one that has them installed.
        installed: its distributions.

    Returns:
        The window of each project that has one; none of a project whose libraries cannot be read.
    """
    wanted = sorted({each.project for each in installed if _needs_torch(each)})
    if not wanted:
        return {}
    try:
        printed = process.run(
            [interpreter.absolute(), "-I", "-c", _LIBRARIES, *wanted], env=process.environment_for_foreign_code()
        )
    except ProcessError:
        return {}
    paths: Mapping[ProjectName, list[str]] = json.loads(printed.splitlines()[-1])
    windows = {project: _window(list(map(Path, paths[project]))) for project in wanted}
    return {project: window for project, window in windows.items() if window}


def _needs_torch(installed: Distribution) -> bool:
    needs = installed.torch is not None or torch_requirement(installed.requires_dist) is not None
    return needs and installed.project != "torch"


def _window(paths: list[Path]) -> TorchWindow | None:
    budget = Budget()
    try:
        return window_of([SharedObject.read(path, name=path.name, budget=budget) for path in paths])
    except (UnreadableError, OSError):
        return None
