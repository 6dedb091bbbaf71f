"""A git repository as the source of a package."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from wheelmill.config.annotations import Entry
from wheelmill.config.fields import Truth
from wheelmill.config.package_fields import GitRef, GitUrl, Subfolder
from wheelmill.names import ProjectVersion


@dataclass(frozen=True, kw_only=True)
class GitSource(Entry):
    """A git repository with the source."""

    git: GitUrl
    """https:// or file://, without a user."""
    ref: GitRef
    """A tag, a branch or a commit; {version} stands for the upstream version."""
    submodules: Truth = False
    subdirectory: Subfolder | None = None
    """The folder in it that is built; patches still apply at the top."""

    def at(self, version: ProjectVersion) -> GitSource:
        """The source of one version."""
        return replace(self, ref=self.ref.replace("{version}", version))

    def folder_in(self, checkout: Path) -> Path:
        """Find what is built in a checkout: all of it, or the subdirectory.

        Raises:
            ValueError: there is no such folder, or a link to it leads out of the checkout.
        """
        folder = checkout / (self.subdirectory or ".")
        try:
            goal = folder.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError is Python 3.12's for a link in a circle
            goal = None
        if goal is None or not goal.is_dir():
            raise ValueError(f"{self.git} has no folder '{self.subdirectory}' at {self.ref}")
        if not goal.is_relative_to(checkout.resolve()):
            raise ValueError(f"'{self.subdirectory}' of {self.git} leads out of the repository")
        return folder
