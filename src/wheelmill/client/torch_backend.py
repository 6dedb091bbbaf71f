"""Where torch for a certain CUDA comes from: the usual package index has it for one CUDA only."""

from __future__ import annotations

from typing import Final

from wheelmill.client.records import TargetEnvironment
from wheelmill.config.records.compatibility import Compatibility
from wheelmill.names import CudaTag

_PYTORCH: Final = "https://download.pytorch.org/whl/"
"""torch's own index, a tree for each CUDA (https://pytorch.org/get-started/locally/). For `uv pip` uv knows it under
the name of a torch backend; a project has to name it."""


def torch_backend_of(environment: TargetEnvironment, facts: Compatibility) -> CudaTag | None:
    """The CUDA whose tree has the torch of an environment; None when the usual index gives the right one."""
    release = facts.torch.get(environment.torch) if environment.torch else None
    if release is None or environment.cuda is None or release.default_cuda == environment.cuda:
        return None
    return environment.cuda.tag


def url_of_backend(backend: CudaTag) -> str:
    """The simple index of torch for a CUDA."""
    return f"{_PYTORCH}{backend}"
