"""Kill one Python process of a run, as for want of memory, and shorten waits; read where PYTHONPATH has this folder."""

import os
import signal
import sys
import time

_KILLED_AT = os.environ.get("STAND_IN_KILLED_AT", "")
"""How the name of the file ends, or nothing, before whose opening a process is killed."""
_sleep = time.sleep


def _kill(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _KILLED_AT and str(arguments[0]).endswith(_KILLED_AT):
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(_kill)
time.sleep = lambda seconds: _sleep(min(float(seconds), 0.01))
