"""Sums numbers on a GPU. Importing needs no GPU; summing does."""

from wheelmill_demo._kernels import device_count, total

__all__ = ["device_count", "total"]
