"""Where torch for a CUDA is, and the commands that install it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import CudaTag, CudaVersion, Platform, TorchVersion
from wheelmill.web.credentials import Origin, keep_credential

_TORCH_INDEX: Final = "WHEELMILL_TORCH_INDEX"
"""The variable that names a mirror of torch's own indexes."""


@dataclass(frozen=True, kw_only=True)
class TorchPlace:
    """A torch, and where it is for a CUDA."""

    torch: TorchVersion
    backend: CudaTag | None
    """uv's name for the CUDA to get it for; None if the usual index has the right one."""
    index: str | None
    """The simple index that has it; None where the usual one does."""

    @classmethod
    def of(cls, torch: TorchVersion, cuda: CudaVersion | None, platform: Platform, facts: Compatibility) -> Self:
        """Look up where it is; for any CUDA, where the usual index has it.

        Raises:
            UsageError: the variable that names a mirror is not a URL.
        """
        backend = facts.torch_backend(torch, cuda, platform) if cuda else None
        return cls(torch=torch, backend=backend, index=_index(backend, torch, facts) if backend else None)

    def commands(
        self, interpreter: Path, uv: str | Path | None, *, beside: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], ...]:
        """The commands that put it in the place of another build, one after the other.

        Args:
            interpreter: that of the environment.
            uv: the program; None leaves it to the environment's pip.
            beside: what is released with torch for one CUDA, and is installed.
        """
        from wheelmill.installers.uv import torch_options  # noqa: PLC0415 - for advice alone

        names = ("torch", *beside)
        wanted = (f"torch{self.torch.pin}", *beside)
        if uv:
            again = [word for name in names for word in ("--reinstall-package", name)]
            install = (str(uv), "pip", "install", "--python", str(interpreter))
            return ((*install, *wanted, *again, *torch_options(self.backend)),)
        pip = (str(interpreter), "-m", "pip")
        index = ("--index-url", self.index) if self.index else ()
        return (*pip, "uninstall", "--yes", *names), (*pip, "install", *wanted, *index)


def _index(backend: CudaTag, torch: TorchVersion, facts: Compatibility) -> str:
    """The simple index of torch for a CUDA, which a project has to name: what uv calls a backend is for `uv pip` only.

    A mirror that the environment names, else the index of ``compatibility.yml``, which has one of its own for release
    candidates. In all of them, ``{cuda}`` is ``130``.
    """
    of_candidates = facts.torch.test_index if torch.is_candidate else None
    template = of_candidates or os.environ.get(_TORCH_INDEX) or facts.torch.index
    try:
        Origin.of(template)
    except ValueError as error:
        raise UsageError(
            "torch-index-invalid", f"{_TORCH_INDEX}: {error}", hint="an example: https://mirror.example/cu{cuda}"
        ) from None
    return keep_credential(template).replace("{cuda}", backend.removeprefix("cu"))
