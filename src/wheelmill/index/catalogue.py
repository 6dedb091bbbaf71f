"""What the factory means to build, beside what it has built: pages for people show both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wheelmill.config.model import Package
from wheelmill.names import CudaVersion, ProjectName
from wheelmill.plan.targets import Plan


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Packages that are built, and what becomes of every combination of theirs."""

    packages: Mapping[ProjectName, Package]
    plan: Plan
    """Made as if nothing were published: its targets are what is wanted, its skips what cannot be or failed."""
    drivers: Mapping[CudaVersion, str]
    """The oldest Linux driver that runs each CUDA release."""
