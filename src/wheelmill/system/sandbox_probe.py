"""Probe that attempts in the sandbox what foreign code must not be able to do, and prints what succeeded as JSON.

It is a separate program; FOLDER, with a file and a listening socket, is hidden from it, and PORT listens on loopback:

    python -IS sandbox_probe.py FOLDER PORT PARENT STARTED
"""

from __future__ import annotations

import json
import os
import socket
import sys

TYPE_CHECKING = False  # typing takes longer to import than all else
if TYPE_CHECKING:
    from collections.abc import Callable


def start_of(process: int) -> str:
    """Return the time at which a process started, in ticks since boot (proc_pid_stat(5)); raises OSError without it."""
    with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[19]


def _find(process: int, started: str) -> None:
    if start_of(process) != started:  # another one that has its number in here
        raise ProcessLookupError


def leaks(folder: str, port: int, parent: int, started: str) -> list[str]:
    """List the attempts that succeed; `parent` is a process outside, which `started` at that time."""
    attempts: dict[str, Callable[[], object]] = {
        "become root": lambda: os.setuid(0),
        "read other files": lambda: open(f"{folder}/secret").close(),  # noqa: PTH123
        "write other files": lambda: open(f"{folder}/secret", "r+").close(),  # noqa: PTH123
        "read passwords": lambda: open("/etc/shadow").close(),  # noqa: PTH123
        "write programs": lambda: open("/usr/bin/env", "r+").close(),  # noqa: PTH123
        "write settings of the kernel": lambda: open("/proc/sys/kernel/core_pattern", "r+").close(),  # noqa: PTH123
        "see other processes": lambda: _find(parent, started),
        "connect to other sockets": lambda: socket.socket(socket.AF_UNIX).connect(f"{folder}/socket"),
        "connect to other ports": lambda: socket.socket().connect(("127.0.0.1", port)),
    }
    return [name for name, attempt in attempts.items() if _succeeds(attempt)]


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    _, _folder, _port, _parent, _started = sys.argv
    print(json.dumps(leaks(_folder, int(_port), int(_parent), _started)))  # noqa: T201
