"""Interrupted commands end, with all that they started: nothing they wait for ends by itself meanwhile."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from wheelmill.system.guard import children_of

_PATIENT = """
import signal
from wheelmill.cli import main
from wheelmill.web import budget
from wheelmill.web.transport import TimeLeft
TimeLeft.__index__ = lambda self: 600  # for so long nothing is given up
budget._MOST = budget._STALLED = 20  # of 30 seconds
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and what nohup starts this one
main()
"""


def interrupt(number: signal.Signals, *words: str, cache: Path, when: Callable[[int], bool]) -> None:
    """Start a command, interrupt it as soon as ``when`` says so of its process, and see it end."""
    env = os.environ | {"XDG_CACHE_HOME": str(cache), "no_proxy": "*"}
    argv = [sys.executable, "-c", _PATIENT, *words]
    with subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True) as running:
        try:
            while not when(running.pid):
                assert running.poll() is None
                time.sleep(0.02)
            started = _all_below(running.pid)
            running.send_signal(number)
            _, talk = running.communicate(timeout=120)
        finally:
            running.kill()
    assert running.returncode == 128 + number
    assert "Traceback" not in talk
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]


def _all_below(process: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    children = children_of(process)
    return children + [below for child in children for below in _all_below(child)]
