"""Scripts with inline metadata (PEP 723), of which all else stays, and whose environments uv keeps in its cache.

https://packaging.python.org/en/latest/specifications/inline-script-metadata/
https://docs.astral.sh/uv/guides/scripts/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Final

from wheelmill.client.environment.detect import declared_request, find_interpreter
from wheelmill.client.project.declared import sources_in
from wheelmill.client.project.pyproject import UvPyproject
from wheelmill.client.project.toml_tables import TomlTables
from wheelmill.client.project.tools import UvProject
from wheelmill.client.records import Resolution, Source
from wheelmill.errors import ProcessError, UsageError
from wheelmill.installers.uv import installer_environment, run_installer
from wheelmill.system import process
from wheelmill.system.progress import Progress

_FIRST: Final = "# /// script"
_LAST: Final = "# ///"
_HEAD: Final = re.compile(r"#!|#.*coding[:=]")
"""Lines that must stay the first two: the interpreter, and the encoding (PEP 263)."""


class ScriptEditor(UvPyproject):
    """The metadata in a script, with tables as in the ``pyproject.toml`` of a uv project."""

    has_project_table = False
    _around: tuple[Sequence[str], Sequence[str]] = (), ()

    def table(self, *keys: str) -> MutableMapping[str, Any] | None:
        """The table under some keys; those of ``project`` are at the top of the metadata."""
        return super().table(*_in_script(keys))

    def make_table(self, *keys: str) -> MutableMapping[str, Any]:
        """Return the table under some keys, creating it if it is missing."""
        return super().make_table(*_in_script(keys))

    def _toml_in(self, text: str) -> str:
        """Return the block in a script; a script without one has empty metadata."""
        lines = text.split("\n")  # not splitlines: TOML may have U+2028
        blocks = [*_blocks_in(lines)]
        if len(blocks) > 1:
            raise UsageError("script-blocks", f"{self.path} has {len(blocks)} blocks '{_FIRST}', of one allowed")
        if blocks:
            start, end = blocks[0]
            self._around = lines[:start], lines[end + 1 :]
            return "\n".join(line[2:] for line in lines[start + 1 : end])
        start = len([*takewhile(_HEAD.match, lines[:2])])
        self._around = lines[:start], lines[start:]
        return ""

    def _wrap(self, text: str) -> str:
        before, after = self._around
        lines = (f"# {line}" if line else "#" for line in text.rstrip().split("\n"))
        return "\n".join((*before, _FIRST, *lines, _LAST, *after))


def _in_script(keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys[1:] if keys[:1] == ("project",) else keys


def _blocks_in(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each block: the last ``# ///`` of the comments below its first line."""
    place = 0
    while place < len(lines):
        first, last = place, 0
        place += 1
        if lines[first] == _FIRST:
            while place < len(lines) and (lines[place] == "#" or lines[place].startswith("# ")):
                last = place if lines[place] == _LAST else last
                place += 1
        if last:
            yield first, last


@dataclass(frozen=True, kw_only=True)
class UvScript(UvProject):
    """Script that ``uv run`` starts; see `Project`."""

    pyproject = ScriptEditor
    group_option = ""

    kind: ClassVar[str] = "script"

    @property
    def lock(self) -> Path:
        """Its lock, which uv makes only if it is told to."""
        return self.path.with_name(f"{self.path.name}.lock")

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources in its metadata, and in a ``uv.toml`` beside it."""
        return sources_in([self._read(), TomlTables.read(self.root / "uv.toml")])

    @property
    def own_python(self) -> Path | None:
        """The interpreter of its environment in uv's cache."""
        python = self.found_python
        return python if python and python.parents[2].name.startswith("environments-v") else None

    @property
    def found_python(self) -> Path | None:
        """The interpreter that uv finds for it."""
        declared_request(self.root)  # uv would start a path
        try:
            with installer_environment() as variables:
                return Path(process.run([self.uv, "python", "find", "--script", self.path], env=variables).strip())
        except ProcessError:  # it has no metadata yet
            return None

    @property
    def environment(self) -> Path:
        """The folder of its environment; until it exists, one that nothing uses, as uv alone knows its name."""
        return self.own_python.parent.parent if self.own_python else self.path.with_suffix(".venv")

    def find_python(self) -> Path | None:
        """The interpreter that uv takes."""
        return self.python or self.found_python or find_interpreter(self.root, None)

    def _lock_and_install(
        self, progress: Progress, resolutions: Sequence[Resolution] = (), *, offline: bool = False
    ) -> None:
        """Install it, and lock it if it has a lock; uv compares the hashes in its URLs."""
        is_locked = self.lock.exists()
        if is_locked:
            self.relock(progress, resolutions, offline=offline)
        self._run(progress, "sync", *self._options(resolutions, offline=offline, locks=not is_locked))

    def _run(self, progress: Progress, *arguments: str | Path) -> None:
        command, *options = arguments
        declared_request(self.root)
        run_installer([self.uv, command, "--script", self.path, *options], progress, cwd=self.root)
