"""What the files under ``config/`` say, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelmill.config.model.compatibility import Compatibility, CudaFacts, CudaRelease, TorchFacts, TorchRelease
from wheelmill.config.model.images import (
    CudaImages,
    CudaImagesFacts,
    ImageReference,
    Images,
    ManylinuxImages,
    PlainImage,
)
from wheelmill.config.model.listing import Listing, Removed, Status, StatusEntry, Yanked
from wheelmill.config.model.lock import Lock, LockedCommit, LockedRequirement, LockedRequirements, LockedSdist
from wheelmill.config.model.packages import (
    DEFAULT_ARCHITECTURES,
    EVERY_BUILD_NEEDS,
    ArchVariable,
    Expectations,
    GitSource,
    MatrixRule,
    Need,
    Package,
    Part,
    without_torch,
)
from wheelmill.config.package_fields import BuildArguments
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName

__all__ = [
    "DEFAULT_ARCHITECTURES",
    "EVERY_BUILD_NEEDS",
    "ArchVariable",
    "BuildArguments",
    "Compatibility",
    "Config",
    "CudaFacts",
    "CudaImages",
    "CudaImagesFacts",
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
    "ManylinuxImages",
    "MatrixRule",
    "Need",
    "Package",
    "Part",
    "PlainImage",
    "Removed",
    "Status",
    "StatusEntry",
    "TorchFacts",
    "TorchRelease",
    "Yanked",
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
