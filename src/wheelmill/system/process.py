"""Execution of other programs, only here: argument lists, never a shell.

Their output is limited, and escaped before a person or a CI runner sees it. Known causes of failures are found in it.
On PATH, environments that a clone brings are passed over.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, Self

from wheelmill.errors import ProcessError, UsageError, WheelmillError
from wheelmill.system.guard import guarded
from wheelmill.system.locks import inherited_locks

TAIL_LINES: Final = 40
"""Lines of a failed program's output that its error shows."""
MAX_RETURNED: Final = 64 << 20
"""Characters of output that a caller is given."""
MAX_LOGGED: Final = 256 << 20
"""Bytes that one program may add to a log; the rest is counted."""
MAX_LINE: Final = 16 << 10
"""Characters of a line that is only shown."""
MAX_SEARCHED: Final = 1 << 20
"""Characters at the end of a text that are searched for causes; more than an error has of a program's last lines."""

_COMMAND: Final = re.compile(r"^([^!-~\n]*:):", re.MULTILINE)
"""A workflow command of GitHub's runner, which ignores spaces and zero-width characters before it."""


class _Escapes(dict[int, str]):
    """Replacement of each character: itself if visible or white space, else a Python escape."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_seen = character.isprintable() or character in "\t\n" or unicodedata.category(character) == "Zs"
        return self.setdefault(code, character if is_seen else ascii(character)[1:-1])


_escapes: Final = _Escapes()


def printable(text: str) -> str:
    r"""Escape foreign text for a terminal and the log of a GitHub job.

    Control characters, invisible ones, and those that reverse text (U+202E) become escapes such as ``\x1b``
    (https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing). Workflow commands are broken up
    (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs): ``::set-env ...`` with nothing
    visible before it, and ``##[...]`` anywhere. ``std::vector`` stays.
    """
    return _COMMAND.sub(r"\1 :", text.translate(_escapes)).replace("##[", "## [")


def fenced(lines: Sequence[str]) -> list[str]:
    """Put foreign text into a code block of Markdown, which it cannot end."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    return [f"{fence}text", *lines, fence]


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Known cause of a failure."""

    pattern: str
    """A regular expression, in which case does not matter."""
    hint: str
    """Meaning and advice; the pattern's named groups and the caller's facts stand in braces."""
    code: str = ""
    """Its name in JSON; empty if no output has it."""


def find_cause(printed: str, causes: Iterable[Cause], **facts: object) -> Cause | None:
    """First cause whose pattern is in a text, with its hint filled in; None if there is none."""
    for cause in causes:
        if match := re.search(cause.pattern, printed[-MAX_SEARCHED:], re.IGNORECASE):
            groups = {name: value or "" for name, value in match.groupdict().items()}
            return replace(cause, hint=cause.hint.format(**facts, **groups))
    return None


class Output:
    """Output of a program, reduced to the lines that its caller or its error needs.

    `log` gets all output, up to `MAX_LOGGED`; without it, up to `MAX_RETURNED` is kept in memory. `on_line` is called
    with every line, made printable, and with the last one again after each `_SILENCE_S`.
    """

    def __init__(self, words: Sequence[str], log: Path | None, on_line: Callable[[str], None] | None) -> None:
        self._words = words
        self._log = log
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=TAIL_LINES if log else None)
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
        self._unfinished = ""
        self._shown = ""
        self._heard = time.monotonic()
        self._size = 0
        self._file: IO[str] | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Write the beginning of the program to the log."""
        if self._log:
            self._file = self._open.enter_context(self._log.open("a", encoding="utf-8"))
            print("+", shlex.join(self._words), file=self._file, flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the log, with the number of characters that it lacks."""
        if self._file and self._size > MAX_LOGGED:
            print(f"\n[{self._size - MAX_LOGGED} more characters]", file=self._file)
        self._open.close()

    def take(self, content: bytes, *, last: bool = False) -> None:
        """Take the output since the last call; raises ProcessError above `MAX_RETURNED`."""
        self._heard = time.monotonic()
        text = self._decoder.decode(content, last)
        self._write(text)
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        if self._file:
            self._unfinished = self._unfinished[:MAX_LINE]
        for line in lines:
            self._keep(f"{line}\n")
        if last and self._unfinished:
            self._keep(self._unfinished)

    def wait(self) -> None:
        """Show the last line again after a silence."""
        if self._on_line and time.monotonic() - self._heard >= _SILENCE_S:
            self._heard = time.monotonic()
            self._on_line(self._shown)

    @property
    def text(self) -> str:
        """Output; with a log, its last lines."""
        return "".join(self._lines)

    @property
    def tail(self) -> str:
        """Last lines, made printable."""
        return printable("".join(line[:MAX_LINE] for line in list(self._lines)[-TAIL_LINES:])).rstrip()

    def _write(self, text: str) -> None:
        room = max(0, MAX_LOGGED - self._size)
        self._size += len(text)
        if self._file:
            print(text[:room], end="", file=self._file, flush=True)
        elif self._size > MAX_RETURNED:
            message = f"{shlex.join(self._words[:6])} printed more than {MAX_RETURNED >> 20} MiB"
            raise ProcessError("output-too-large", message, returncode=0, tail=message)

    def _keep(self, line: str) -> None:
        self._lines.append(line[:MAX_LINE] if self._file else line)
        if self._on_line:
            self._shown = printable(line[:MAX_LINE].rstrip())
            self._on_line(self._shown)


if sys.platform == "win32":
    from wheelmill.system import windows

_SHOWN_WORDS: Final = 6
"""Words of a failed command that its error shows."""
_CHUNK_BYTES: Final = 1 << 16
_LINGER_S: Final = 2.0
"""Seconds to go on reading, once a program has ended, from what it left running."""
_SILENCE_S: Final = 10.0
"""Seconds without output after which a line is shown again: hosts end silent jobs, and people what seems to hang."""
_INTERVAL_S: Final = 0.05
"""Seconds between checks whether a program has ended."""
_GRACE_S: Final = 5.0
"""Seconds between asking a program to end and killing it."""
_FOREIGN_CODE_SEES: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "LD_LIBRARY_PATH"),
        *("CC", "CXX", "CUDAHOSTCXX", "PYENV_ROOT"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)
_FOREIGN_CODE_SEES_ON_WINDOWS: Final = frozenset(
    {
        "SYSTEMROOT",  # no program starts without it
        *("SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "PROGRAMDATA", "PROGRAMFILES"),
        *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    }
)
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def environment_for_foreign_code() -> dict[str, str]:
    """This process's environment without possible secrets: a setup.py sees no token."""
    seen = _FOREIGN_CODE_SEES | (_FOREIGN_CODE_SEES_ON_WINDOWS if sys.platform == "win32" else frozenset())
    return {name: value for name, value in os.environ.items() if name in seen}


def proxy_variables() -> dict[str, str]:
    """Proxy variables, for programs that need the network; they may hold a password."""
    return {name: os.environ[name] for name in _PROXIES if name in os.environ}


def command_line(words: Sequence[str]) -> str:
    """Quote a command as a person types it: PowerShell and cmd quote differently from POSIX shells."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    log: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    on_end: Callable[[int], None] | None = None,
    guard: bool = False,
) -> str:
    """Run a program and return the output of both streams; with a log, its last lines.

    Processes left in its session are ended with it, after `timeout` seconds at the latest. `env` is the whole
    environment; None if it is this process's own. The log is appended to, and `on_line` called, as `Output` describes.
    `on_end` is called with the peak memory, in bytes, of any one process that the program started and waited for. With
    `guard`, all its processes end with it and with this process, also outside its session.

    Raises UsageError if it cannot be started, which fails with 127 under a guard, and ProcessError if it fails.
    """
    words = [str(word) for word in argv]
    with Output(words, log, on_line) as output, _start(words, cwd=cwd, env=env, guard=guard) as child:
        try:
            late = _read(child, output, time.monotonic() + timeout if timeout else None)
        finally:
            memory = _end(child)
    if on_end:
        on_end(memory)
    if child.returncode != 0 or late:
        shown = command_line(words[:_SHOWN_WORDS]) + " ..." * (len(words) > _SHOWN_WORDS)
        when = f" after its {timeout:.0f} s were over" if late else ""
        message = f"{shown} exited with {child.returncode}{when}"
        raise ProcessError("program-failed", message, returncode=child.returncode, tail=output.tail)
    return output.text


@contextmanager
def raise_on_failure(error: WheelmillError) -> Iterator[None]:
    """Raise an error, with the last lines of the output, if a program fails in the context."""
    try:
        yield
    except ProcessError as failure:
        error.args = (f"{error}:\n{failure.tail}",)
        raise error from None


def _read(child: subprocess.Popen[bytes], output: Output, deadline: float | None) -> bool:
    """Read until a program has ended and nothing more comes; True if the deadline, on the monotonic clock, passed."""
    assert child.stdout is not None  # noqa: S101 - stdout is a pipe
    stream = child.stdout.fileno()
    ended: float | None = None
    while deadline is None or time.monotonic() < deadline:
        output.wait()
        if _is_readable(stream):
            content = os.read(stream, _CHUNK_BYTES)
            if not content and _has_ended(child):
                break
            if content:
                output.take(content)
            else:  # the program closed both streams and goes on
                _pause()
        elif _has_ended(child):
            ended = ended or time.monotonic()
            if time.monotonic() >= ended + _LINGER_S:  # a child of the program keeps the pipe open
                break
    else:
        return True
    output.take(b"", last=True)
    return False


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """True if a program has ended; it is not reaped, so that no other process gets its number."""
    if sys.platform == "win32":
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _is_readable(stream: int) -> bool:
    """True if there is output or its end, after waiting until the next check of the program."""
    if sys.platform == "win32":
        return windows.is_readable(stream, _INTERVAL_S)
    return bool(select.select([stream], [], [], _INTERVAL_S)[0])


def _pause() -> None:
    threading.Event().wait(_INTERVAL_S)


def _start(
    words: list[str], *, cwd: Path | None, env: Mapping[str, str] | None, guard: bool
) -> subprocess.Popen[bytes]:
    try:
        with inherited_locks() as locks:
            child = subprocess.Popen(
                guarded(words) if guard and sys.platform != "win32" else words,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,  # a compiler's children can then be ended with it
                pass_fds=locks,  # held if it outlives this process
            )
            if sys.platform == "win32":
                windows.follow(int(child._handle))  # noqa: SLF001 - it has no public name
            return child
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError) and error.filename in (words[0], None)  # Windows names no file
        hint = "is it installed, and on PATH?" if is_absent else None
        raise UsageError(
            "program-not-started", f"cannot start {words[0]!r}: {error.strerror}: {error.filename}", hint=hint
        ) from None


def _end(child: subprocess.Popen[bytes]) -> int:
    """End a program and the processes left in its session; the result is the peak memory of one process in bytes.

    https://man7.org/linux/man-pages/man2/getrusage.2.html; on Windows, where nothing is built, 0.
    """
    if sys.platform == "win32":
        windows.end_followed(int(child._handle))  # noqa: SLF001
        child.wait()
        return 0
    if not _has_ended(child):
        os.killpg(child.pid, signal.SIGTERM)
        given_up = time.monotonic() + _GRACE_S
        while not _has_ended(child) and time.monotonic() < given_up:
            _pause()
    os.killpg(child.pid, signal.SIGKILL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss << 10


def find_program(name: str) -> str | None:
    """Find a program in `program_folders`."""
    return shutil.which(name, path=os.pathsep.join(map(str, program_folders())))


def program_folders() -> list[Path]:
    """List the folders of PATH, but for relative ones and environments of projects around the current folder."""
    here = Path.cwd().resolve()
    projects = {here, *here.parents} - {Path.home().resolve()}
    own = os.path.realpath(Path(sys.executable).parent)

    def is_foreign(folder: Path) -> bool:
        # Unlike `Path.exists`, this is False in a home of root's that an image leaves on PATH.
        is_environment = any(os.path.exists(folder.parent / name) for name in ("pyvenv.cfg", "conda-meta"))  # noqa: PTH110
        return is_environment and folder.parents[1].resolve() in projects and os.path.realpath(folder) != own

    return [folder for each in os.get_exec_path() if (folder := Path(each)).is_absolute() and not is_foreign(folder)]
