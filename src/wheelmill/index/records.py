"""What an index lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wheelmill.names import ProjectName, Sha256


@dataclass(frozen=True, kw_only=True)
class IndexFile:
    """One wheel of an index."""

    project: ProjectName
    filename: str
    url: str
    """Absolute, or relative to the root of the site."""
    sha256: Sha256
    size: int
    """Bytes."""
    requires_python: str | None
    metadata_sha256: Sha256 | None
    """Of the sidecar beside the wheel; None when there is no sidecar (PEP 658)."""
    uploaded_at: datetime | None
    trees: tuple[str, ...]
    """The narrower trees that it stands in: ``cu130``, ``cu130/torch2.11``."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """One simple index: a choice of the site's wheels, for one CUDA and torch or for all."""

    path: str
    """Of its folder in the site: empty, ``cu130``, ``cu130/torch2.11``."""
    projects: Mapping[ProjectName, tuple[IndexFile, ...]]

    @property
    def folder(self) -> str:
        """Of its project list: ``simple``, ``cu130/torch2.11/simple``."""
        return f"{self.path}/simple" if self.path else "simple"


@dataclass(frozen=True, kw_only=True)
class Site:
    """Every tree of an index, the one with all wheels first."""

    trees: tuple[Tree, ...]
