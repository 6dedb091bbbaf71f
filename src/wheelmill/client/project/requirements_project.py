"""A folder with a ``requirements.txt``, or an environment of no project: pip or uv install what the file says.

Nothing that stands in neither is ever uninstalled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.install.chosen import interpreter_of
from wheelmill.client.install.installer import installer_for
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.pins import pins_of
from wheelmill.client.project.change import check_depends, check_torch
from wheelmill.client.project.project import Edit
from wheelmill.client.project.requirements_file import RequirementsFile, block
from wheelmill.client.records import Resolution
from wheelmill.client.target.interpreter import find_interpreter, python_in
from wheelmill.errors import UsageError
from wheelmill.names import TORCH, ProjectName
from wheelmill.system.process import command_line
from wheelmill.system.progress import Progress


@dataclass(frozen=True, kw_only=True)
class RequirementsProject:
    """A requirements file and an environment; see `Project`."""

    kind: str
    path: Path
    environment: Path | None
    """None where there is none: then only the file is changed."""
    python: Path | None
    """The interpreter that was named by hand."""

    @property
    def root(self) -> Path:
        """The folder of the file."""
        return self.path.parent

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """What the lines between the marks say."""
        return RequirementsFile.read(self.path).asked

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All lines of the file that name a project."""
        file = RequirementsFile.read(self.path)
        return (*(each for _, each in file.by_hand), *map(Requirement, file.pinned))

    def find_python(self) -> Path | None:
        """The interpreter of its environment."""
        own = python_in(self.environment) if self.environment else None
        return self.python or own or find_interpreter(self.root)

    def check_install(self) -> None:
        """There is nothing to refuse: without an environment, only the file is changed."""

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels between the marks; see `Project`."""
        file = RequirementsFile.read(self.path)
        self._check(file, asked, resolutions)
        new = {canonicalize_name(each.name): each for each in asked}
        kept = {canonicalize_name(each.name): each for each in file.asked}
        pins = pins_of(resolutions, named_indexes=False)
        others = [text for text in file.pinned if canonicalize_name(Requirement(text).name) not in pins]
        lines = [*others, *(pin.dependency for each in pins.values() for pin in each)]
        indexes = {pin.index.url for pin in pins.get(TORCH, ()) if pin.index} if TORCH in pins else set(file.indexes)
        chosen = [choice for each in resolutions for choice in each.choices.values()]
        torch_for = file.torch_for | {each.candidate.project for each in chosen if each.needs_torch}
        ours = block((kept | new).values(), torch_for, sorted(indexes), sorted(lines))
        notes = (
            []
            if self.environment or self.python
            else [f"nothing was installed: there is no environment beside {self.path.name}, and none is active"]
        )
        return Edit.of(self.path, file.with_ours(list(ours)), notes)

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Take wheels out from between the marks, and torch with the last that needs it; see `Project`."""
        file = RequirementsFile.read(self.path)
        check_depends(self.path, map(Requirement, file.pinned), projects)
        torch_for = file.torch_for - set(projects)
        gone = {*projects, *([] if torch_for else [TORCH])}
        pins = [text for text in file.pinned if canonicalize_name(Requirement(text).name) not in gone]
        asked = [each for each in file.asked if canonicalize_name(each.name) not in gone]
        ours = block(asked, torch_for, file.indexes if torch_for else (), pins)
        return Edit.of(self.path, file.with_ours(list(ours)))

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache, progress: Progress) -> None:
        """Install what the file says; see `Project`."""
        if self.environment or self.python:
            python = interpreter_of(resolutions[0].environment)
            installer_for(python, progress, offline=cache.offline).install_file(self.path)

    def uninstall(self, projects: Sequence[ProjectName], progress: Progress) -> None:
        """Uninstall them; see `Project`."""
        if (self.environment or self.python) and (python := self.find_python()):
            installer_for(python, progress).uninstall(projects)

    def _check(self, file: RequirementsFile, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> None:
        """Refuse what pip would refuse when it reads the file.

        Raises:
            UsageError: names the line that is in the way.
        """
        chosen = {each.candidate.project: each.candidate for one in resolutions for each in one.choices.values()}
        if file.has_hashes:
            lock = ["wheelmill", "lock", *map(str, asked), "--format", "requirements", "--output", str(self.path)]
            command = command_line(lock)
            raise UsageError(
                "hashes-needed",
                f"{self.path} has hashes, so pip wants one on every line",
                hint=f"write lines with hashes for these packages in place of the last lock's: {command}",
            )
        check_torch(self.path, [each for _, each in file.by_hand], resolutions)
        for number, requirement in file.by_hand:
            candidate = chosen.get(canonicalize_name(requirement.name))
            if candidate and (
                requirement.url or not requirement.specifier.contains(candidate.version, prereleases=True)
            ):
                raise UsageError(
                    "wheel-not-allowed",
                    f"{self.path}:{number}: {requirement} does not allow {candidate.filename}, which was chosen",
                    hint="remove that line, or ask for what it says",
                )
