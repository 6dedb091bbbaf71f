"""Can be imported where the operator computes without a GPU what it should."""

import torch

from wheelmill_demo_stable import scale

if (scaled := scale(torch.arange(3.0), 2.0).tolist()) != [0.0, 2.0, 4.0]:
    raise ImportError(f"expected 0, 2 and 4, not {scaled}")
