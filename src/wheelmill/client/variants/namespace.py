"""Namespaces of properties: what a machine has of each, and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Namespace:
    """What a machine has of the properties in one namespace."""

    values: Mapping[str, tuple[str, ...]]
    """Of each feature the values that fit, the best first; the weightiest feature first."""
    says: str
    """Where that is from, or why there is nothing: ``the driver knows CUDA 12.8 (--driver), and the GPU is sm_90``."""
