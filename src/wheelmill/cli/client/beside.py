"""Two wheels side by side: what makes each of them large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from wheelmill.client.choose.contents import WheelContents
from wheelmill.system.progress import size

_PACKED: Final = "wheel, packed"


def lines_beside(wheel: WheelContents, other: WheelContents) -> Iterator[str]:
    """A line for each part that one of them has: the wheels as they are packed, then what is in them, unpacked."""
    yield wheel.filename
    yield f"beside {other.filename}"
    parts, of_other = _parts(wheel), _parts(other)
    for name in dict.fromkeys((_PACKED, *_gpu_code(wheel), *_gpu_code(other), *parts, *of_other)):
        yield f"  {name:<18}{_said(name, parts, wheel):>10}{_said(name, of_other, other):>12}"


def _gpu_code(contents: WheelContents) -> Iterable[str]:
    return contents.sizes.gpu_code if contents.sizes else ()


def _parts(contents: WheelContents) -> Mapping[str, int]:
    return {_PACKED: contents.size, **(contents.sizes.parts if contents.sizes else {})}


def _said(name: str, parts: Mapping[str, int], contents: WheelContents) -> str:
    if name in parts:
        return size(parts[name])
    return "-" if contents.sizes else "not read"
