"""Scales tensors, on a GPU and without one."""

import torch

from wheelmill_demo_stable import _C  # noqa: F401 - it registers the operator

scale = torch.ops.wheelmill_demo_stable.scale.default

__all__ = ["scale"]
