"""The files of a source that is only looked at: how many, and how much of them, has limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from wheelmill.errors import UsageError

MAX_FILES: Final = 100_000
MAX_FILE: Final = 1 << 20
"""Bytes of one file; of a longer one the beginning is searched, and a longer build script is refused."""
MAX_SEARCHED: Final = 64 << 20
"""Bytes of all files that one search goes through."""

CUDA: Final = (".cu", ".cuh")
NATIVE: Final = (*CUDA, ".cpp", ".cc", ".cxx", ".c", ".hpp", ".h")

_OTHERS: Final = re.compile(
    r"third[_-]?party|3rd[_-]?party|extern(al)?|submodules?|vendor|cutlass|pybind11|eigen|googletest"
    r"|tests?|bench(mark)?s?|examples?|docs?|build|dist|\..*|.*\.egg-info",
    re.IGNORECASE,
)
"""Folders with code of others, and with what no wheel is made of."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A line of a source."""

    file: str
    line: int

    def __str__(self) -> str:
        """``csrc/ops.cu:12``."""
        return f"{self.file}:{self.line}"


class SourceTree:
    """The files below a folder; links are left out."""

    def __init__(self, folder: Path) -> None:
        """List a folder.

        Raises:
            UsageError: it has more files than any real source.
        """
        self.folder = folder
        names = []
        for count, path in enumerate(_files_below(folder)):
            if count == MAX_FILES:
                raise UsageError("too-many-files", f"the source has more than {MAX_FILES} files")
            names.append(path.relative_to(folder).as_posix())
        self.files = frozenset(names)
        self._own = sorted(name for name in names if not any(map(_OTHERS.fullmatch, PurePosixPath(name).parts[:-1])))

    def own(self, *suffixes: str) -> tuple[str, ...]:
        """The files with these endings, without those of projects that are kept beside it, tests and examples."""
        return tuple(name for name in self._own if name.endswith(suffixes))

    def content(self, name: str) -> bytes:
        """The bytes of a file; none where there is no such file.

        Raises:
            UsageError: it is too long.
        """
        content = self._beginning(name, MAX_FILE + 1) if name in self.files else b""
        if len(content) > MAX_FILE:
            raise UsageError("file-too-large", f"{name} is longer than {MAX_FILE} bytes")
        return content

    def search(self, pattern: re.Pattern[str], *suffixes: str) -> Iterator[tuple[Place, re.Match[str]]]:
        """Find a pattern in its own files with these endings."""
        left = MAX_SEARCHED
        for name in self.own(*suffixes):
            text = self._beginning(name, min(MAX_FILE, left)).decode(errors="replace")
            left -= len(text)
            for match in pattern.finditer(text):
                yield Place(file=name, line=text.count("\n", 0, match.start()) + 1), match

    def _beginning(self, name: str, length: int) -> bytes:
        with (self.folder / name).open("rb") as file:
            return file.read(length)


def _files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path
