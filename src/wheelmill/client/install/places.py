"""Where installers write: all of a virtual environment, or the folders of an interpreter that is in none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.client.install.distributions import ask
from wheelmill.client.target.interpreter import python_of
from wheelmill.errors import ProcessError, UsageError

_FOLDERS: Final = """
import json, os, site, sys, sysconfig
paths = sysconfig.get_paths()
folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
if sys.prefix == sys.base_prefix and not os.access(paths["purelib"], os.W_OK):
    paths = sysconfig.get_paths(os.name + "_user")
    folders = [paths["purelib"], paths["platlib"]]
shared = [os.path.join(paths["data"], name) for name in ("share", "etc", "include")]
print(json.dumps([paths["data"], sys.prefix != sys.base_prefix, [*folders, paths["scripts"], *shared]]))
"""
"""As pip does, an interpreter that a user may not write for has its packages in the user's own folders.

https://docs.python.org/3/library/sysconfig.html#installation-paths
"""


@dataclass(frozen=True, kw_only=True)
class InstallPlace:
    """What an installer changes."""

    base: Path
    """The folder that has all of it."""
    trees: tuple[Path, ...]
    """The folders that are written to: just that one, if it is a virtual environment."""
    interpreter: Path
    """Of that environment; it need not be there yet."""

    @classmethod
    def of_environment(cls, folder: Path) -> InstallPlace:
        """A folder that is an environment, or becomes one.

        Raises:
            UsageError: its interpreter does not run.
        """
        python = python_of(folder)
        if python.exists() and not (folder / "pyvenv.cfg").exists():  # conda's
            return cls.of_interpreter(python)
        return cls(base=folder, trees=(folder,), interpreter=python)

    @classmethod
    def of_interpreter(cls, interpreter: Path) -> InstallPlace:
        """What is written when something is installed for an interpreter.

        Raises:
            UsageError: it does not run.
        """
        try:
            base, virtual, folders = ask(interpreter, _FOLDERS)
        except ProcessError as error:
            raise UsageError(
                "places-unknown", f"{interpreter} cannot say where packages are installed:\n{error.tail}"
            ) from None
        trees = (Path(base),) if virtual else tuple(map(Path, dict.fromkeys(folders)))
        return cls(base=Path(base), trees=trees, interpreter=interpreter)
