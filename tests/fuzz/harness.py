"""What a format is, and feeding damaged inputs to its reader in a process that has little memory and little time."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from hypothesis.strategies import SearchStrategy

MAX_MEMORY = 512 << 20
"""Bytes of address space for the process, Python and hypothesis included."""
MAX_SECONDS = 20
"""For one input."""
FORMATS = tuple(sorted(path.stem.replace("_", "-") for path in Path(__file__).with_name("formats").glob("*.py")))
"""Each is a module of ``formats``, which holds it as ``FORMAT``."""

Input = TypeVar("Input")


@dataclass(frozen=True, kw_only=True)
class Format(Generic[Input]):
    """What is fed to which reader."""

    inputs: SearchStrategy[Input]
    read: Callable[[Input], object]
    """May return, or raise a `WheelmillError`; anything else is a fault."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """What was fed while nothing went wrong."""

    inputs: int
    refused: int
    """Of these inputs; the others were read."""
    seconds: float
    slowest: float
    """Seconds for one input."""
    peak: int
    """Mebibytes of memory."""


class FuzzError(AssertionError):
    """A reader let out what is no error of ours, or took too much memory or time; says of which input."""


def fuzz(name: str, *, seconds: float, first: int = 0) -> Count:
    """Feed inputs of a format to its reader, in a process of its own.

    Args:
        name: one of `FORMATS`.
        seconds: how long; the round that is begun is finished.
        first: the number of the first round of inputs; the same number gives the same inputs.

    Raises:
        FuzzError: something is wrong with the reader.
    """
    command = [sys.executable, "-m", "tests.fuzz.feeding", name, str(seconds), str(first)]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=seconds + 400
        )
    except subprocess.TimeoutExpired as error:
        raise FuzzError(f"{name}: a round does not end: {error.stdout!r}") from None
    if done.returncode:
        raise FuzzError(f"{name}: {done.stdout}\n{done.stderr}")
    return Count(**json.loads(done.stdout.splitlines()[-1]))
