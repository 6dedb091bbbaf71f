"""Calls of wheelmill's functions on foreign bytes, in an isolated process with limits of time and memory.

A parser in C cannot be interrupted, so the kernel ends it. The process is in the sandbox, where this machine has one.
On Windows, which has neither, the limit is wall-clock time, and memory is unlimited.
It reads pickles of its parent, and answers in JSON. It is this program:

    python -P -m wheelmill.system.isolated_call SECONDS BYTES FOLDER
"""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import site
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wheelmill.errors import ProcessError, UnreadableError
from wheelmill.system.folders import temporary_folder
from wheelmill.system.process import environment_for_foreign_code
from wheelmill.system.sandbox import Sandbox, own_interpreter

if sys.platform == "win32":
    from wheelmill.system import windows
else:
    import resource

MAX_ANSWER: Final = 64 << 20
"""Characters of the JSON that one call may return."""
_MAX_WAITING: Final = 256 << 20
"""Bytes of calls that lie on the disk, and one call more."""
_SHELL: Final = 128
"""Number that shells and bubblewrap add to the signal that ended a program."""

_EXCEPTION: Final = 0xC0000000
"""Lowest exit code of Windows for a fault in machine code: 0xc0000005 is an invalid address."""


@dataclass(frozen=True, kw_only=True)
class CallLimits:
    """Limits of one call."""

    seconds: int = 30
    """CPU time."""
    memory: int = 2 << 30
    """Bytes of address space."""


def call_isolated(calls: Iterable[Callable[[], object]], limits: CallLimits) -> Iterator[Any | UnreadableError]:
    """Make calls, one after the other, in an isolated process, and yield their results in order.

    Calls must be picklable and return JSON values; none is kept in memory. A call that exceeds a limit or crashes its
    process yields an error with the reason. An exception of a call, which is a bug of its function, raises
    RuntimeError.
    """
    with temporary_folder() as folder:
        waiting: list[Path] = []
        size = 0
        for number, call in enumerate(calls):
            waiting.append(folder / f"{number:06}.call")
            size += waiting[-1].write_bytes(pickle.dumps(call))
            if size > _MAX_WAITING:
                yield from _answers(waiting, limits)
                waiting, size = [], 0
        yield from _answers(waiting, limits)


def _answers(calls: Sequence[Path], limits: CallLimits) -> Iterator[Any | UnreadableError]:
    """Make the calls in these files, which are alone in their folder; see `call_isolated`."""
    for call in calls:
        answer = call.with_suffix(".json")
        ended = None if answer.exists() else _run(call.parent, limits)
        if answer.exists():
            returned = json.loads(answer.read_bytes())
            answer.unlink()
            yield returned[0] if isinstance(returned, list) else UnreadableError("content-invalid", returned)
        else:
            call.unlink()
            yield ended


def _run(folder: Path, limits: CallLimits) -> UnreadableError | None:
    """Make the calls in a folder; the result is the error that ended the process early, None if it finished."""
    roots = [Path(__file__).parents[2], *([Path(site.getusersitepackages())] if site.ENABLE_USER_SITE else [])]
    environment = environment_for_foreign_code() | {"PYTHONPATH": os.pathsep.join(map(str, roots))}
    numbers = (str(limits.seconds), str(limits.memory))
    try:
        Sandbox(writable={folder: folder}, readable=[*own_interpreter(), *roots]).run(
            [sys.executable, "-P", "-m", __name__, *numbers, folder],
            cwd=folder,
            env=environment,
            timeout=limits.seconds * len(list(folder.glob("*.call"))) if sys.platform == "win32" else None,
        )
    except ProcessError as error:
        if why := _why_ended(error.returncode, limits):
            return why
        raise RuntimeError(error.tail) from None
    return None


def _why_ended(code: int, limits: CallLimits) -> UnreadableError | None:
    """Error for the exit code of an unfinished process; None if an exception ended it."""
    if sys.platform == "win32":
        if code == windows.ENDED:
            return UnreadableError("reader-too-slow", f"takes more than {limits.seconds} s")
        return (
            UnreadableError("reader-crashed", f"crashes the process that reads it ({code:#x})")
            if code >= _EXCEPTION
            else None
        )
    else:  # noqa: RET505 - mypy reads one branch per platform
        ended_by = -code if code < 0 else code - _SHELL
        if ended_by == signal.SIGXCPU:
            return UnreadableError("reader-too-slow", f"takes more than {limits.seconds} s of CPU time")
        if ended_by in set(signal.Signals):
            return UnreadableError(
                "reader-crashed", f"crashes the process that reads it ({signal.Signals(ended_by).name})"
            )
        return None


def main(limits: CallLimits, folder: Path) -> None:
    """Make the calls in a folder, in the order of their names.

    The folder gets the answers: a list with the returned value, or a text with the exceeded limit.
    """
    if sys.platform != "win32":
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_AS, limits.memory)
    for path in sorted(folder.glob("*.call")):
        if sys.platform != "win32":
            _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + limits.seconds)
        try:
            answer = json.dumps([pickle.loads(path.read_bytes())()])  # noqa: S301 - written by the parent
            if len(answer) > MAX_ANSWER:
                answer = json.dumps(f"has more than {MAX_ANSWER >> 20} MiB to say")
        except MemoryError:
            answer = json.dumps(f"takes more than {limits.memory >> 20} MiB of memory")
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(answer, encoding="ascii")
        unfinished.rename(path.with_suffix(".json"))
        path.unlink()


def _limit(kind: int, amount: int) -> None:
    """Set a limit of this process, or keep a lower hard limit that its parent set."""
    if sys.platform != "win32":
        _, most = resource.getrlimit(kind)
        resource.setrlimit(kind, (amount if most == resource.RLIM_INFINITY else min(amount, most), most))


if __name__ == "__main__":
    main(CallLimits(seconds=int(sys.argv[1]), memory=int(sys.argv[2])), Path(sys.argv[3]))
