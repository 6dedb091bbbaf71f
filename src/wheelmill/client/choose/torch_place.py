"""Where torch for a CUDA is, and the command that installs it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import CudaTag, CudaVersion, Platform, TorchVersion
from wheelmill.web.credentials import keep_credential
from wheelmill.web.origin import Origin

_TORCH_INDEX: Final = "WHEELMILL_TORCH_INDEX"
"""The variable that names a mirror of torch's own indexes."""


def torch_index(backend: CudaTag, torch: TorchVersion, facts: Compatibility) -> str:
    """The simple index of torch for a CUDA, which a project has to name: what uv calls a backend is for `uv pip` only.

    A mirror that the environment names, else the index of ``compatibility.yml``, which has one of its own for release
    candidates. In all of them, ``{cuda}`` is ``130``.

    Raises:
        UsageError: the variable is not a URL.
    """
    of_candidates = facts.torch.test_index if torch.is_candidate else None
    template = of_candidates or os.environ.get(_TORCH_INDEX) or facts.torch.index
    try:
        Origin.of(template)
    except ValueError as error:
        raise UsageError(f"{_TORCH_INDEX}: {error}", hint="an example: https://mirror.example/cu{cuda}") from None
    return keep_credential(template).replace("{cuda}", backend.removeprefix("cu"))


def torch_command(
    torch: TorchVersion, cuda: CudaVersion, platform: Platform, facts: Compatibility, *, interpreter: Path
) -> str:
    """The command that puts torch for a CUDA in the place of another build of it, as a shell takes it.

    It is uv's, or pip's where there is no uv.
    """
    from wheelmill.installers.uv import find_uv, torch_options  # noqa: PLC0415 - for advice alone

    backend = facts.torch_backend(torch, cuda, platform)
    wanted = f"torch{torch.pin}"
    if uv := find_uv():
        options = ("--reinstall-package", "torch", *torch_options(backend))
        return shlex.join([str(uv), "pip", "install", "--python", str(interpreter), wanted, *options])
    index = ("--index-url", torch_index(backend, torch, facts)) if backend else ()
    return shlex.join([str(interpreter), "-m", "pip", "install", "--force-reinstall", wanted, *index])
