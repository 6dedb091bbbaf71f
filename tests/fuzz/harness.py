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
ROUND = 100
"""Inputs."""
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


def fuzz(*names: str, seconds: float, first: int = 0, size: int = ROUND) -> dict[str, Count]:
    """Feed inputs of formats to their readers, in a process of their own; returns what each was fed.

    Args:
        names: of `FORMATS`.
        seconds: how long for each; the round that is begun is finished.
        first: the number of the first round of inputs; the same number gives the same inputs.
        size: how many inputs a round has.

    Raises:
        FuzzError: something is wrong with a reader.
    """
    command = [sys.executable, "-m", "tests.fuzz.feeding", str(seconds), str(first), str(size), *names]
    root, given_up = Path(__file__).parents[2], len(names) * (seconds + 400)
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=given_up)
    except subprocess.TimeoutExpired as error:
        raise FuzzError(f"a round does not end: {error.stdout!r}") from None
    if done.returncode:
        raise FuzzError(f"{done.stdout}\n{done.stderr}")
    return {name: Count(**count) for name, count in json.loads(done.stdout.splitlines()[-1]).items()}
