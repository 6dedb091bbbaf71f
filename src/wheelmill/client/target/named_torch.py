"""A build of torch, as a person or torch itself names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from packaging.version import InvalidVersion, Version

from wheelmill.names import CudaVersion, TorchVersion
from wheelmill.wheel.label import BuiltFor


@dataclass(frozen=True, kw_only=True)
class NamedTorch:
    """A torch, and what it was built for where its name says so."""

    torch: TorchVersion
    cuda: CudaVersion | None = None
    cpu_only: bool = False
    """Whether it is a build without CUDA."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2.8``, or what torch prints: ``2.8.0+cu128``, ``2.8.0+cpu``, ``2.9.0.dev20250801+cu129``.

        Raises:
            ValueError: it is no version of torch.
        """
        release, _, local = text.strip().lower().partition("+")
        if not local:
            return cls(torch=TorchVersion.parse(release))
        try:
            torch = TorchVersion.of_release(Version(release))
        except InvalidVersion:
            raise ValueError(f"expected a torch version such as '2.11' or '2.8.0+cu128', not {text!r}") from None
        build = BuiltFor.parse(local)
        cuda = CudaVersion.parse(str(build.cuda)) if build.cuda else None  # a label may have any numbers
        return cls(torch=torch, cuda=cuda, cpu_only=build.other_accelerator is not None)
