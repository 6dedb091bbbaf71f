"""A project that PDM manages.

https://pdm-project.org/en/stable/usage/lockfile/
https://pdm-project.org/en/stable/usage/config/#configure-the-package-indexes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from wheelmill.client.lock.pins import Pin
from wheelmill.client.project.locked_project import LockedProject
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.client.target.interpreter import python_in
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress


class PdmPyproject(Pyproject):
    """A ``pyproject.toml`` that PDM reads. An index says itself what comes from it."""

    def draw_from(self, project: ProjectName, pins: Sequence[Pin]) -> None:
        """Add the indexes that have a project and nothing else, and take away those that were added for it before."""
        sources = (self.table("tool", "pdm") or {}).get("source", [])
        for place in reversed(range(len(sources))):
            source = sources[place]
            if str(source.get("name")).startswith("wheelmill-") and source.get("include_packages") == [project]:
                del sources[place]
        if not sources:
            self.prune("tool", "pdm", "source")
        for index in dict.fromkeys(pin.index for pin in pins if pin.index):
            added = tomlkit.table()
            added.trivia.indent = "\n"  # else it stands right below what is before it
            added.update(
                {"name": index.name, "url": index.url, "include_packages": [project], "exclude_packages": ["*"]}
            )
            pdm = self.make_table("tool", "pdm")
            if "source" not in pdm:
                pdm["source"] = tomlkit.aot()
            pdm["source"].append(added)

    def has_source_by_hand(self, project: ProjectName) -> bool:
        """Whether somebody else has set where a project comes from."""
        sources = (self.table("tool", "pdm") or {}).get("source", [])
        named = [str(each.get("name")) for each in sources if project in each.get("include_packages", ())]
        return any(not name.startswith("wheelmill-") for name in named)


@dataclass(frozen=True, kw_only=True)
class PdmProject(LockedProject):
    """A folder with a ``pyproject.toml`` and a ``pdm.lock``; see `Project`."""

    pyproject = PdmPyproject
    lock_name = "pdm.lock"
    tool = "pdm"
    lock_arguments = ("lock", "--update-reuse")
    install_arguments = ("sync",)

    @property
    def files(self) -> tuple[Path, ...]:
        """Its own file, the lock, and where PDM keeps which interpreter it uses."""
        return (*super().files, self.root / ".pdm-python")

    @property
    def own_python(self) -> Path | None:
        """What PDM keeps in ``.pdm-python``, else that of the ``.venv``."""
        kept = self.root / ".pdm-python"
        named = Path(kept.read_text(encoding="utf-8").strip()) if kept.exists() else None
        return named if named and named.exists() else python_in(self.root / ".venv")

    def make_environment(self, python: Path, progress: Progress) -> None:
        """Let PDM make the ``.venv``."""
        self._run(progress, "venv", "create", python)
