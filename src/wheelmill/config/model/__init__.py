"""Records of the files under ``config/``, and the tests of a package's wheels.

The client uses facts and sources alone, and starts sooner without the other modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wheelmill.names import ProjectName
from wheelmill.wheel.findings import Code

Need = Literal["torch", "cuda", "nvrtc", "driver"]
"""Libraries that a wheel links to or loads: torch, CUDA without torch, CUDA's run-time compiler, libcuda.so.1."""


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """Tests that an installed wheel must pass, and what they need."""

    imports: tuple[str, ...]
    """Modules that must be importable."""
    script: str | None = None
    """Python that is run with it where there is a GPU."""
    requires: tuple[ProjectName, ...] = ()
    """Packages of ours that are installed beside it, and so built before it."""
    needs: tuple[Need, ...] = ()
    import_needs: Literal["driver"] | None = None
    """Library that its modules load on import; a machine without it imports them with a stub."""
    cudart: Literal["shared", "static"] | None = None
    """Linkage of the CUDA runtime; None accepts both."""
    allow: Mapping[Code, str] = field(default_factory=dict)
    """Findings that do not refuse it, each with the reason."""
