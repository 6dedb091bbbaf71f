"""Windows calls for renaming open files, locking, and ending a program with all its processes.

https://learn.microsoft.com/en-us/windows/win32/api/
"""

from __future__ import annotations

import ctypes
import errno
import msvcrt
import os
import sys
import time
from ctypes import wintypes
from pathlib import Path
from typing import Final

assert sys.platform == "win32"  # noqa: S101 - on other platforms mypy skips the rest

_READ_AND_WRITE: Final = 0xC0000000
"""``GENERIC_READ | GENERIC_WRITE``."""
_SHARED: Final = 7
"""``FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE``: others may open, rename and remove the file meanwhile."""
_OPEN_ALWAYS: Final = 4
_ORDINARY: Final = 0x80
_ACCESS_DENIED: Final = 5
_LOCKED: Final = 33
"""``ERROR_LOCK_VIOLATION``."""
_FAR: Final = 1 << 30
"""Locked byte of a file, beyond its content: a locked byte can be read only by its holder."""
ENDED: Final = 258
"""Exit code of programs that `end_followed` had to end: ``WAIT_TIMEOUT``."""
_INTERVAL_S: Final = 0.02
_CLOSED_WITHIN_S: Final = 5.0
"""Seconds for which others may have a file open that is to be replaced, or that was removed and keeps its name."""

_jobs: Final[dict[int, int]] = {}
"""The job of each program that is followed; both are handles."""

_kernel: Final = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateFileW.restype = wintypes.HANDLE
_kernel.CreateFileW.argtypes = (
    *(wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, wintypes.LPVOID),
    *(wintypes.DWORD, wintypes.DWORD, wintypes.HANDLE),
)
_kernel.LockFile.argtypes = (wintypes.HANDLE, *[wintypes.DWORD] * 4)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
_kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
_kernel.PeekNamedPipe.argtypes = (
    *(wintypes.HANDLE, wintypes.LPVOID, wintypes.DWORD),
    *(wintypes.LPDWORD, wintypes.LPDWORD, wintypes.LPDWORD),
)


def open_shared(path: Path) -> int:
    """Open a file for reading and writing, creating it if missing, and return its descriptor."""
    until = time.monotonic() + _CLOSED_WITHIN_S
    while True:
        handle = _kernel.CreateFileW(str(path), _READ_AND_WRITE, _SHARED, None, _OPEN_ALWAYS, _ORDINARY, None)
        if handle != wintypes.HANDLE(-1).value:
            return msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY | os.O_NOINHERIT)
        error = ctypes.get_last_error()
        if error != _ACCESS_DENIED or time.monotonic() > until:
            raise OSError(None, ctypes.FormatError(error), str(path), error)
        time.sleep(_INTERVAL_S)


def replace(source: Path, target: Path) -> None:
    """Rename a file over another one, once no program has that open."""
    until = time.monotonic() + _CLOSED_WITHIN_S
    while True:
        try:
            source.replace(target)
        except PermissionError:
            if target.is_dir() or time.monotonic() > until:
                raise
            time.sleep(_INTERVAL_S)
        else:
            return


def lock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file until its descriptor is closed; raises BlockingIOError if it is locked and `wait` is false."""
    while not _kernel.LockFile(msvcrt.get_osfhandle(descriptor), _FAR, 0, 1, 0):
        error = ctypes.get_last_error()
        if error != _LOCKED:
            raise OSError(None, ctypes.FormatError(error), None, error)
        if not wait:
            raise BlockingIOError(errno.EAGAIN, ctypes.FormatError(error))
        time.sleep(_INTERVAL_S)


def is_readable(pipe: int, seconds: float) -> bool:
    """True if a pipe has data or has ended, after waiting at most `seconds`."""
    until = time.monotonic() + seconds
    size = wintypes.DWORD()
    handle = msvcrt.get_osfhandle(pipe)
    while _kernel.PeekNamedPipe(handle, None, 0, None, ctypes.byref(size), None) and not size.value:
        if time.monotonic() > until:
            return False
        time.sleep(_INTERVAL_S / 10)
    return True


def follow(process: int) -> None:
    """Assign the process with this handle to a job object, so that `end_followed` ends its children too.

    https://learn.microsoft.com/en-us/windows/win32/procthread/job-objects
    """
    _jobs[process] = _kernel.CreateJobObjectW(None, None)
    _kernel.AssignProcessToJobObject(_jobs[process], process)


def end_followed(process: int) -> None:
    """End a program and the processes it started, if they still run."""
    job = _jobs.pop(process)
    _kernel.TerminateJobObject(job, ENDED)
    _kernel.CloseHandle(job)
