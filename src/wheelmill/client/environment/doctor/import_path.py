"""Where Python looks for modules, and so which of several of one name it imports. No module is imported to find out.

https://docs.python.org/3/library/sys_path_init.html
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.client.install.distributions import ask
from wheelmill.errors import ProcessError, UsageError

_PROBE: Final = """
import json, site, sys
alone = sys.prefix != sys.base_prefix and sys.base_prefix not in site.PREFIXES
user = None if alone else site.getusersitepackages()
print(json.dumps({"path": sys.path, "user": user, "packages": site.getsitepackages(), "prefix": sys.prefix}))
"""


@dataclass(frozen=True, kw_only=True)
class SearchFolder:
    """A folder in which Python looks for modules."""

    path: Path
    origin: str
    """Why it does: ``PYTHONPATH``."""


STARTED_IN: Final = "the folder that Python is started in"
USER_SITE: Final = "the user's site-packages"
PYTHONPATH: Final = "PYTHONPATH"
OWN: Final = "the environment"


@dataclass(frozen=True, kw_only=True)
class ImportPath:
    """The folders of an interpreter, in the order in which it looks."""

    folders: tuple[SearchFolder, ...]
    prefix: Path
    """The environment's own folder."""

    @classmethod
    def of(cls, interpreter: Path, started_in: Path) -> ImportPath:
        """Ask an interpreter, and add what the shell that starts it decides.

        Args:
            interpreter: it is asked without these additions, so that no file in them is run.
            started_in: the folder in which people start it.

        Raises:
            UsageError: it does not run.
        """
        try:
            found = ask(interpreter, _PROBE)
        except ProcessError as error:
            raise UsageError(
                "import-path-unknown", f"{interpreter} cannot say where it looks for modules:\n{error.tail}"
            ) from None
        entries = {Path(entry).resolve(): Path(entry) for entry in reversed(found["path"]) if entry}  # lib64 is lib
        own = [SearchFolder(path=entry, origin=OWN) for entry in reversed(entries.values())]
        packages = set(map(Path, found["packages"]))
        first = next((place for place, each in enumerate(own) if each.path in packages), len(own))
        user = found["user"] if not os.environ.get("PYTHONNOUSERSITE") else None
        added = [SearchFolder(path=Path(user), origin=USER_SITE)] if user else []
        folders = (*_from_shell(started_in), *own[:first], *added, *own[first:])
        return cls(folders=folders, prefix=Path(found["prefix"]))

    @property
    def own(self) -> tuple[Path, ...]:
        """The folders of the environment itself, whoever starts its interpreter from wherever."""
        return tuple(each.path for each in self.folders if each.origin == OWN)

    def find(self, module: str) -> tuple[SearchFolder, Path] | None:
        """The first folder that has a module or a package, and where that is in it."""
        for folder in self.folders:
            if found := next(_modules_in(folder.path, module), None):
                return folder, found
        return None


def _from_shell(started_in: Path) -> Iterator[SearchFolder]:
    yield SearchFolder(path=started_in, origin=STARTED_IN)
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if entry:
            yield SearchFolder(path=Path(entry).absolute(), origin=PYTHONPATH)


def _modules_in(folder: Path, module: str) -> Iterator[Path]:
    """A package comes before a module; a folder without ``__init__.py`` after everything else, so it is passed over."""
    if (folder / module / "__init__.py").is_file():
        yield folder / module
    yield from (path for path in (folder / f"{module}.so", folder / f"{module}.py") if path.is_file())
    yield from sorted(folder.glob(f"{module}.*.so"))
