"""Records of the files under ``config/``; each module is imported when a name of it is first used.

The client uses facts and sources alone, and starts sooner without the other modules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, words_like

if TYPE_CHECKING:
    from wheelmill.config.container_builder import ContainerBuilder, identifier_of
    from wheelmill.config.model.compatibility import Compatibility, CudaFacts, CudaRelease, TorchFacts, TorchRelease
    from wheelmill.config.model.files import (
        CudaImages,
        ImageReference,
        Images,
        Listing,
        Lock,
        LockedCommit,
        LockedRequirement,
        LockedRequirements,
        LockedSdist,
        Removed,
        SourceCode,
        Status,
        StatusEntry,
        Yanked,
    )
    from wheelmill.config.model.package import (
        EVERY_BUILD_NEEDS,
        ONLY_PLANNED,
        Expectations,
        NameElsewhere,
        Need,
        Package,
        Topic,
        without_torch,
    )
    from wheelmill.config.model.package_parts import (
        DEFAULT_ARCHITECTURES,
        Aliases,
        ArchitectureRule,
        ArchVariable,
        GitSource,
        MatrixRule,
        Part,
        RequiresDist,
        SystemPackages,
        Window,
        projects_of,
        with_suffix,
    )
    from wheelmill.config.package_fields import (
        ARCHITECTURES_IN,
        MAX_JOBS,
        ArchForm,
        BuildArguments,
        Component,
        OwnWheel,
    )
else:
    _HOMES = (
        *("model.compatibility", "model.files", "package_fields"),
        *("model.package_parts", "model.package", "container_builder"),
    )

    def __getattr__(name: str) -> object:
        """Return a name of the imports above from the module that has it."""
        for home in () if name.startswith("__") else _HOMES:
            module = import_module(f"wheelmill.config.{home}")
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
