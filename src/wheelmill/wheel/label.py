"""The local version label: which CUDA and which torch a wheel was built for.

``2.8.3+cu128torch2.8``; without torch ``+cu130``. Local versions are PEP 440's own extension point
(https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers), so every
installer keeps the label, and an exact pin can name it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from packaging.version import Version

from wheelmill.names import CudaVersion, ProjectVersion, TorchVersion


@dataclass(frozen=True, kw_only=True)
class Label:
    """The CUDA, and the torch if it links to torch, of a wheel."""

    cuda: CudaVersion
    torch: TorchVersion | None

    @classmethod
    def parse(cls, local: str) -> Self | None:
        """Read the label from a local version; None when it is not one of ours.

        What an upstream version already had stands before the label, behind a dot: ``git1a2b.cu130torch2.11``.
        """
        head, found, tail = local.rpartition("cu")
        cuda, names_torch, torch = tail.partition("torch")
        if not found or (head and not head.endswith(".")):
            return None
        try:
            label = cls(cuda=CudaVersion.parse(cuda), torch=TorchVersion.parse(torch) if names_torch else None)
        except ValueError:
            return None
        return label if head + str(label) == local else None

    @cached_property
    def trees(self) -> tuple[str, ...]:
        """The parts of an index that its wheels stand in, from wide to narrow: ``cu130``, ``cu130/torch2.11``."""
        wide = (str(self.cuda.tag),)
        return (*wide, f"{self.cuda.tag}/torch{self.torch}") if self.torch else wide

    def on(self, version: ProjectVersion) -> Version:
        """Put the label on an upstream version."""
        joint = "." if Version(version).local else "+"
        return Version(f"{version}{joint}{self}")

    def __str__(self) -> str:
        """``cu128torch2.8`` or ``cu130``."""
        return f"{self.cuda.tag}torch{self.torch}" if self.torch else self.cuda.tag
