"""Multiplies tensors on a GPU."""

import torch  # the extension is linked to its libraries

from wheelmill_demo_torch._C import multiply

__all__ = ["multiply"]
