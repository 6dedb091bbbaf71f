"""Averages numbers on a GPU with the sums of wheelmill-demo, which METADATA does not name: many packages do so."""

import wheelmill_demo
from wheelmill_demo_average._kernels import scaled

__all__ = ["average"]


def average(values):
    """The average of the squares of numbers."""
    return scaled(wheelmill_demo.total(values), 1 / len(values))
