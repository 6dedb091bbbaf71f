"""Sizes of a wheel's parts: machine code for each GPU, portable assembly, code of the processor, and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wheelmill.system.progress import size
from wheelmill.system.records import Count

if TYPE_CHECKING:
    import zipfile

    from wheelmill.wheel.shared_objects import SharedObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """The files of a wheel as they are installed, in bytes. The wheel itself is smaller, because it is packed."""

    gpu_code: Mapping[str, Count]
    """GPU code by architecture: ``sm_90``, or ``compute_120`` for portable assembly; as compressed by nvcc."""
    host_code: Count
    """The rest of all shared objects."""
    debug: Count
    """The part of them that is never loaded: symbol names and debug information, most of which ``strip`` removes."""
    other: Count
    """All other files."""

    def __hash__(self) -> int:
        """Hash all but the mapping, which has no hash."""
        return hash((self.host_code, self.debug, self.other))

    @property
    def parts(self) -> Mapping[str, int]:
        """All sizes by name, GPU code first, without zeros."""
        rest = {"host code": self.host_code, "debug information": self.debug, "other files": self.other}
        return {name: number for name, number in {**self.gpu_code, **rest}.items() if number}

    def __str__(self) -> str:
        """``sm_90 8.9 MB, host code 610 kB, other files 20 kB``."""
        return ", ".join(f"{name} {size(number)}" for name, number in self.parts.items())


def sizes_of(members: Iterable[zipfile.ZipInfo], shared_objects: Iterable[SharedObject]) -> Sizes:
    """Add up the files of a wheel, `members`, of which `shared_objects` have been read."""
    gpu_code: Counter[str] = Counter()
    files = {member.filename: member.file_size for member in members}
    host_code = debug = 0
    for code in shared_objects:
        gpu_code.update(code.device_code.sizes)
        debug += code.unloaded
        host_code += max(0, files.pop(code.name) - code.unloaded - sum(code.device_code.sizes.values()))
    return Sizes(gpu_code=dict(gpu_code.most_common()), host_code=host_code, debug=debug, other=sum(files.values()))
