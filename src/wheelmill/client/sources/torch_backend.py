"""Where torch for a certain CUDA comes from: the usual package index has it for one CUDA only."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import CudaTag

_VARIABLE: Final = "WHEELMILL_TORCH_INDEX"


def torch_backend_of(environment: TargetEnvironment, facts: Compatibility) -> CudaTag | None:
    """The CUDA whose builds have the torch of an environment; None when the usual index gives the right one."""
    release = facts.torch.get(environment.torch) if environment.torch else None
    if release is None or environment.cuda is None or release.default_cuda == environment.cuda:
        return None
    return environment.cuda.tag


def torch_index_of(backend: CudaTag, facts: Compatibility) -> str:
    """The simple index of torch for a CUDA, which a project has to name: what uv calls a backend is for `uv pip` only.

    ``WHEELMILL_TORCH_INDEX`` names a mirror; else it is the one of ``compatibility.yml``. In both, ``{cuda}`` is
    ``130``.

    Raises:
        UsageError: the variable is not a URL.
    """
    template = os.environ.get(_VARIABLE) or facts.torch_index
    if urlsplit(template).scheme not in ("http", "https"):
        raise UsageError(f"{_VARIABLE}: expected a URL such as https://mirror.example/cu{{cuda}}, not {template!r}")
    return template.replace("{cuda}", backend.removeprefix("cu"))
