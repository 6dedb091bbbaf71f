"""GPUs that ``torch.cuda`` reports in a build: one of each kind that is compiled for.

Many a setup.py asks before it compiles for CUDA, and without a GPU compiles for the CPU or gives up. The torch of a
build gets a copy of this file, so nothing of ours is imported here. What needs a driver fails as it does without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace


class PlannedGpu(SimpleNamespace):
    """GPU to compile for; only its compute capability is known."""


def answers(capabilities: Sequence[tuple[int, int]]) -> tuple[Callable[..., object], ...]:
    """Functions of ``torch.cuda`` on which all its others depend, for GPUs with these capabilities, ``(9, 0)``."""
    gpus = [PlannedGpu(name=f"NVIDIA sm_{major}{minor}", major=major, minor=minor) for major, minor in capabilities]

    def is_available() -> bool:
        return True

    def device_count() -> int:
        return len(gpus)

    def current_device() -> int:
        return 0

    def get_device_properties(device: object = None) -> PlannedGpu:
        """Describe a GPU by its number, as ``cuda:1`` or as a torch.device; None is the first one."""
        number = device.partition(":")[2] if isinstance(device, str) else getattr(device, "index", device)
        index = int(str(number or 0))
        if not 0 <= index < len(gpus):
            raise AssertionError("Invalid device id")
        return gpus[index]

    return is_available, device_count, current_device, get_device_properties
