"""What other programs print: kept within limits, and escaped before a person or a CI runner sees it."""

from __future__ import annotations

import codecs
import io
import re
import shlex
import unicodedata
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final, Self

from wheelmill.errors import ProcessError

TAIL_LINES: Final = 40
"""How much of a failed program's output its error shows."""
MAX_RETURNED: Final = 64 << 20
"""Characters of output that a caller is given."""
MAX_LOGGED: Final = 256 << 20
"""Bytes that one program may add to a log; the rest is counted."""
MAX_LINE: Final = 16 << 10
"""Characters of a line that is only shown."""

_COMMAND: Final = re.compile(r"^([^!-~\n]*:):", re.MULTILINE)
"""A workflow command of GitHub's runner, which ignores spaces and zero-width characters before it."""


class _Escapes(dict[int, str]):
    """What stands for each character: itself, if it can be seen or is white space; else an escape, as in Python."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_seen = character.isprintable() or character in "\t\n" or unicodedata.category(character) == "Zs"
        return self.setdefault(code, character if is_seen else ascii(character)[1:-1])


_escapes: Final = _Escapes()


def printable(text: str) -> str:
    r"""Foreign text as it may stand on a terminal and in the log of a GitHub job.

    Control characters, and those that cannot be seen or turn what follows around (U+202E), become escapes such as
    ``\x1b`` (https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing). What the runner would take for a
    command of a workflow is broken up: ``::set-env ...`` where nothing that can be seen stands before it, and
    ``##[...]`` anywhere
    (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs). ``std::vector`` stays.
    """
    return _COMMAND.sub(r"\1 :", text.translate(_escapes)).replace("##[", "## [")


class Output:
    """Takes the bytes that a program prints, and keeps the lines that its caller or its error needs.

    Args:
        words: the program and its arguments, for the log.
        log: a file that gets all of it, up to `MAX_LOGGED`; without one all of it is kept, up to `MAX_RETURNED`.
        on_line: is called with every line, made printable.
    """

    def __init__(self, words: Sequence[str], log: Path | None, on_line: Callable[[str], None] | None) -> None:
        self._words = words
        self._log = log
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=TAIL_LINES if log else None)
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
        self._unfinished = ""
        self._size = 0
        self._file: IO[str] | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Write to the log that this program begins."""
        if self._log:
            self._file = self._open.enter_context(self._log.open("a", encoding="utf-8"))
            print("+", shlex.join(self._words), file=self._file, flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Write to the log how it ended."""
        if self._file and self._size > MAX_LOGGED:
            print(f"\n[{self._size - MAX_LOGGED} more characters]", file=self._file)
        self._open.close()

    def take(self, content: bytes, *, last: bool = False) -> None:
        """Take what was printed since the last call.

        Raises:
            ProcessError: it is more than a caller can be given.
        """
        text = self._decoder.decode(content, last)
        self._write(text)
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        if self._file:
            self._unfinished = self._unfinished[:MAX_LINE]
        for line in lines:
            self._keep(f"{line}\n")
        if last and self._unfinished:
            self._keep(self._unfinished)

    @property
    def text(self) -> str:
        """What was printed; with a log, the last lines of it."""
        return "".join(self._lines)

    @property
    def tail(self) -> str:
        """The last lines, made printable."""
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
            self._on_line(printable(line[:MAX_LINE].rstrip()))
