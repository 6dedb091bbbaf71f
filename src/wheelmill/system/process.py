"""The one door to other programs: argument lists, never a shell."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError, UsageError

TAIL_LINES: Final = 40
"""How much of a failed program's output its error shows."""

_SHOWN_WORDS: Final = 6
"""How much of a failed command its error shows."""

_FOREIGN_CODE_SEES: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "LD_LIBRARY_PATH"),
        *("CC", "CXX", "CUDAHOSTCXX", "PYENV_ROOT"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    }
)


def environment_for_foreign_code() -> dict[str, str]:
    """This process's environment without anything that could be a secret: a setup.py sees no token."""
    return {name: value for name, value in os.environ.items() if name in _FOREIGN_CODE_SEES}


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    log: Path | None = None,
    on_line: Callable[[str], None] | None = None,
) -> str:
    """Run a program to its end and return what it printed on both streams; with a log, the last lines of it.

    Args:
        argv: the program and its arguments.
        cwd: the folder to run in.
        env: the whole environment; None passes on this process's own.
        timeout: seconds after which it and all it started are ended; None lets it run.
        log: a file that everything printed is added to, as it comes.
        on_line: called with every line as it comes, to show progress.

    Raises:
        UsageError: the program cannot be started.
        ProcessError: it exited with a failure, or was ended.
    """
    words = [str(word) for word in argv]
    lines: deque[str] = deque(maxlen=TAIL_LINES if log else None)
    with _start(words, cwd=cwd, env=env) as child, _deadline(child, timeout) as late:
        try:
            for line in _lines_of(child, words, log):
                lines.append(line)
                if on_line:
                    on_line(line.rstrip())
            returncode = child.wait()
        except BaseException:
            _end(child)
            raise
    if returncode != 0 or late.is_set():
        shown = shlex.join(words[:_SHOWN_WORDS]) + " ..." * (len(words) > _SHOWN_WORDS)
        when = f" after its {timeout:.0f} s were over" if late.is_set() else ""
        tail = "".join(list(lines)[-TAIL_LINES:]).rstrip()
        raise ProcessError(f"{shown} exited with {returncode}{when}", returncode=returncode, tail=tail)
    return "".join(lines)


def _lines_of(child: subprocess.Popen[str], words: list[str], log: Path | None) -> Iterator[str]:
    """Every line as it comes, once it is in the log."""
    assert child.stdout is not None  # noqa: S101 - it was asked for as a pipe
    if log is None:
        yield from child.stdout
        return
    with log.open("a", encoding="utf-8") as file:
        print("+", shlex.join(words), file=file, flush=True)
        for line in child.stdout:
            print(line, end="", file=file, flush=True)
            yield line


@contextmanager
def _deadline(child: subprocess.Popen[str], timeout: float | None) -> Iterator[threading.Event]:
    """End a program when its time is over; the event says that this happened."""
    late = threading.Event()

    def end() -> None:
        late.set()
        _end(child)

    alarm = threading.Timer(timeout, end) if timeout else None
    if alarm:
        alarm.start()
    try:
        yield late
    finally:
        if alarm:
            alarm.cancel()


def _start(words: list[str], *, cwd: Path | None, env: Mapping[str, str] | None) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            words,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # a compiler's children can then be ended with it
        )
    except OSError as error:
        raise UsageError(f"cannot start {words[0]!r}: {error.strerror}: {error.filename}") from None


def _end(child: subprocess.Popen[str]) -> None:
    """Stop a program and all it started."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, ending)
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=5)
