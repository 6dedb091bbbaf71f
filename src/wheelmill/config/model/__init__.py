"""What the files under ``config/`` say, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelmill.config.model.compatibility import Compatibility, CudaRelease, TorchRelease
from wheelmill.config.model.images import CudaImages, ImageReference, Images
from wheelmill.config.model.listing import Listing, ProjectStatus, Status
from wheelmill.config.model.lock import Lock, LockedCommit, LockedRequirement, LockedRequirements, LockedSdist
from wheelmill.config.model.package import (
    EVERY_BUILD_NEEDS,
    ArchVariable,
    BuildArguments,
    Expectations,
    GitSource,
    Need,
    Package,
    Part,
    Rule,
    has_torch,
    without_torch,
)
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName

__all__ = [
    "EVERY_BUILD_NEEDS",
    "ArchVariable",
    "BuildArguments",
    "Compatibility",
    "Config",
    "CudaImages",
    "CudaRelease",
    "Expectations",
    "GitSource",
    "ImageReference",
    "Images",
    "Listing",
    "Lock",
    "LockedCommit",
    "LockedRequirement",
    "LockedRequirements",
    "LockedSdist",
    "Need",
    "Package",
    "Part",
    "ProjectStatus",
    "Rule",
    "Status",
    "TorchRelease",
    "has_torch",
    "without_torch",
]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything under one ``config/`` folder."""

    directory: Path
    packages: Mapping[ProjectName, Package]
    compatibility: Compatibility
    lock: Lock
    images: Images
    listing: Listing

    def refuse_unknown(self, projects: Iterable[ProjectName]) -> None:
        """Refuse names of packages that are none.

        Raises:
            UsageError: one of them is not in ``packages.yml``.
        """
        if unknown := [name for name in projects if name not in self.packages]:
            hint = f"it has {', '.join(sorted(self.packages))}"
            raise UsageError(f"{', '.join(unknown)}: not in packages.yml", hint=hint)
