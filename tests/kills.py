"""Processes that are killed: at every step, and at a moment."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EACH_OF_SOME = pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.nightly)])
"""Strides for a test: some of an action's steps are tried, and all of them nightly."""

_STEPS = ("open", "os.", "shutil.", "ctypes.dlsym", "fcntl.")
"""How the names of the events begin before which a process is killed: https://docs.python.org/3/library/audit_events.html"""


def killed_at_every_step(
    place: Path, prepare: Callable[[Path], object], action: Callable[[Path], object], stride: int = 1
) -> Iterator[Path]:
    """Kill an action before each step that touches the disk; yields what it left, and last what a whole one left."""
    rehearsal = place / "rehearsal"
    rehearsal.mkdir()
    prepare(rehearsal)
    action(rehearsal)  # what it imports is not read again, and no step
    step, killed = 1, True
    while killed or stride > 1:
        if not killed:
            step, stride = step - stride + 1, 1
        folder = place / f"{step} of {stride}"
        folder.mkdir()
        prepare(folder)
        killed = _is_killed(lambda folder=folder: action(folder), step)  # type: ignore[misc]  # it is called at once
        yield folder
        step += stride if killed else 0
    assert step > 1


def _is_killed(action: Callable[[], object], step: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads; the child uses none
        child = os.fork()
    if child == 0:
        _kill_before(step)
        try:
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def _kill_before(step: int) -> None:
    left = [step]

    def hook(event: str, _arguments: object) -> None:
        if event.startswith(_STEPS):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
