"""A configuration: the content of its files together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.files import Images, Listing, Lock
from wheelmill.config.model.package import Package
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, words_like


@dataclass(frozen=True, kw_only=True)
class Config:
    """Content of a ``config/`` folder, or of the file of one package."""

    file: Path
    """``packages.yml``, or the file that replaces it."""
    packages: Mapping[ProjectName, Package]
    compatibility: Compatibility
    lock: Lock
    images: Images
    listing: Listing

    @property
    def directory(self) -> Path:
        """Folder that relative paths in the file start from."""
        return self.file.parent

    def refuse_unknown(self, projects: Iterable[ProjectName]) -> None:
        """Refuse names that are not packages of this file."""
        if unknown := {name: words_like(name, self.packages) for name in projects if name not in self.packages}:
            near = dict.fromkeys(itertools.chain.from_iterable(unknown.values()))
            listed = f"it has {', '.join(sorted(self.packages))}"
            hint = f"did you mean {' or '.join(near)}?" if near else listed
            if near and not all(unknown.values()):
                hint += f" {listed}"
            raise UsageError("package-unknown", f"{', '.join(unknown)}: not in {self.file.name}", hint=hint)
