"""Guard that runs a program with foreign code and ends all processes it started.

It is a separate program, since it must outlive its parent:

    python -IS guard.py PARENT PROGRAM ARGUMENT...

It adopts processes of the program as soon as their parent has ended, also in a session of their own
(``PR_SET_CHILD_SUBREAPER``). When the program ends, or the guard's parent dies (``PR_SET_PDEATHSIG``), the guard ends
all of them. Inherited locks are held until then; the program itself does not get them.
https://man7.org/linux/man-pages/man2/prctl.2.html
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # typing takes longer to import than all else
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_KEYCTL: Final = {"x86_64": 250, "aarch64": 219}
"""Number of a system call that the C library has no name for; https://man7.org/linux/man-pages/man2/keyctl.2.html."""
_JOIN_SESSION_KEYRING: Final = 1
_NO_SUCH_PROGRAM: Final = 127
"""As shells say it."""


def guarded(words: Sequence[str]) -> Sequence[str]:
    """Command that runs a program under a guard of this process."""
    return [sys.executable, "-IS", __file__, str(os.getpid()), *words]


def main(parent: int, argv: list[str]) -> NoReturn:
    """Run a program to its end and exit as it did; `parent` is the process that started this one."""
    import ctypes  # callers of guarded() do not need it

    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if number := _KEYCTL.get(os.uname().machine):
        libc.syscall(number, _JOIN_SESSION_KEYRING, None)  # a new one: the session's may have a password or a ticket
    signal.signal(signal.SIGTERM, _end)
    if os.getppid() != parent:  # the parent died before PR_SET_PDEATHSIG was set
        sys.exit(1)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - no Path is needed
        if int(name) > sys.stderr.fileno() and os.path.exists(f"/proc/self/fd/{name}"):  # noqa: PTH110
            os.set_inheritable(int(name), False)  # noqa: FBT003 - positional only
    child = os.fork()
    if child == 0:
        _reset_signals()
        try:
            os.execvp(argv[0], argv)  # noqa: S606 - a shell would be in the way
        except OSError as error:
            print(f"cannot start {argv[0]!r}: {error.strerror}", file=sys.stderr, flush=True)  # noqa: T201
            os._exit(_NO_SUCH_PROGRAM)
    while True:
        pid, status = os.wait()
        if pid == child:
            break
    _end_children()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        _reset_signals()
        os.kill(os.getpid(), -code)
    sys.exit(code)


def _reset_signals() -> None:
    """Restore the default actions of signals that Python catches or ignores."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    _end_children()
    os._exit(128 + signal.SIGTERM)


def _end_children() -> None:
    """End every child; children of an ended child become our own."""
    while True:
        for pid in children_of(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def children_of(process: int) -> list[int]:
    """List the children of a process; https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html."""
    children = []
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parent = int(file.read().rpartition(b") ")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == process:
            children.append(int(name))
    return children


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
