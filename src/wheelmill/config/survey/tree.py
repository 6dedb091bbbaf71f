"""Files of a source, as they are searched and counted."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from wheelmill.config.model.files import SourceCode
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
"""Folders with bundled projects, tests and other files that are in no wheel."""


@dataclass(frozen=True, kw_only=True)
class SourcePlace:
    """Line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        """Format as ``csrc/ops.cu:12``."""
        return f"{self.file}:{self.line}"


class SourceTree:
    """The files below a folder, without links."""

    def __init__(self, folder: Path, files: Iterable[Path] | None = None, built: str = "") -> None:
        """List a folder, or only `files` in it; `built` is the folder of the build, as that of `Facts`."""
        self.folder = folder
        names = []
        below = (Path(place, name) for place, _, own in os.walk(folder) for name in own)
        plain_files = (path for path in (below if files is None else files) if path.is_file() and not path.is_symlink())
        for count, path in enumerate(plain_files):
            if count == MAX_FILES:
                raise UsageError("too-many-files", f"the source has more than {MAX_FILES} files")
            names.append(path.relative_to(folder).as_posix())
        self.files = frozenset(names)
        # A repository may have several projects; one without kernels of its own may compile those beside it.
        kernels = any(name.startswith(built) and name.endswith(CUDA) for name in names)
        inside = [name for name in names if name.startswith(built)] if kernels else names
        self._own = sorted(name for name in inside if not any(map(_OTHERS.fullmatch, PurePosixPath(name).parts[:-1])))

    def own(self, *suffixes: str) -> tuple[str, ...]:
        """Return the files of the project with these suffixes, without bundled projects, tests and examples."""
        return tuple(name for name in self._own if name.endswith(suffixes))

    def content(self, name: str) -> bytes:
        """Return the bytes of a file; empty if there is no such file."""
        content = self._beginning(name, MAX_FILE + 1) if name in self.files else b""
        if len(content) > MAX_FILE:
            raise UsageError("file-too-large", f"{name} is longer than {MAX_FILE} bytes")
        return content

    def place_of(self, name: str, text: str) -> SourcePlace:
        """Return the first line of a file with a text, or line 1 if no line has it."""
        lines = self.content(name).decode(errors="replace").split("\n")
        return SourcePlace(file=name, line=next((number for number, line in enumerate(lines, 1) if text in line), 1))

    def search(self, pattern: re.Pattern[str], *suffixes: str) -> Iterator[tuple[SourcePlace, re.Match[str]]]:
        """Find a pattern in the source's own files with these suffixes, outside of comments of Python and CMake."""
        left = MAX_SEARCHED
        for name in self.own(*suffixes):
            text = self._beginning(name, min(MAX_FILE, left)).decode(errors="replace")
            left -= len(text)
            for match in pattern.finditer(text):
                before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
                if "#" in before and not name.endswith(NATIVE):
                    continue
                yield SourcePlace(file=name, line=text.count("\n", 0, match.start()) + 1), match

    def _beginning(self, name: str, length: int) -> bytes:
        with (self.folder / name).open("rb") as file:
            return file.read(length)


_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^<>"\n]+)[>"]', re.MULTILINE)

_OF_PYTHON: Final = re.compile(r"Python\.h|torch/(extension|python|torch)\.h|pybind11/.*")
"""Headers that include ``Python.h``, torch/torch.h because torch's BuildExtension defines
``TORCH_API_INCLUDE_EXTENSION_H``."""


def count_code(folder: Path, patches: Collection[Path] = ()) -> SourceCode | None:
    """Count what a source has to compile, without includes that a patch removes; None if it has nothing."""
    changes = "\n".join(patch.read_text("utf-8", "replace") for patch in patches)
    removed = set(re.findall(r'^-[ \t]*(#[ \t]*include[ \t]*[<"][^<>"\n]+[>"])', changes, re.MULTILINE))
    users: dict[str, set[str]] = {}
    bindings = set()
    try:
        tree = SourceTree(folder)
    except UsageError:  # has too many files; an estimate can do without
        return None
    for place, match in tree.search(_INCLUDE, *NATIVE):
        if match[0].strip() not in removed:
            is_python = _OF_PYTHON.fullmatch(match[1])
            users.setdefault("Python.h" if is_python else PurePosixPath(match[1]).name, set()).add(place.file)
            if is_python and not place.file.endswith((*CUDA, ".h", ".hpp")):
                bindings.add(place.file)
    kernels = tree.own(".cu") or [name for name in tree.files if name.endswith(".cu")]
    if not kernels and not bindings:
        return None
    with_python: set[str] = set()
    waiting = ["Python.h"]
    while waiting:
        including = users.pop(waiting.pop(), set())
        with_python |= including
        waiting += [PurePosixPath(name).name for name in including]
    return SourceCode(
        cuda_files=len(kernels) or None,
        bindings=len(bindings) or None,
        includes_python=2 * len(with_python.intersection(kernels)) > len(kernels),
    )
