"""Badges: the newest version of a package and the torch that it is built for, as a picture and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from pydantic_core import to_json

from wheelmill.index.site.wheels import WheelGroup
from wheelmill.names import CudaVersion, ProjectName, StableTorch, TorchVersion
from wheelmill.wheel.torch_need import age_of, words_for

_LABEL: Final = "CUDA wheels"
_LETTER: Final = 6.8
_NARROW: Final = dict.fromkeys(" .,:il", 3.8)
"""Pixels that a letter takes, about: the width is set in the picture, so that no font changes it."""
_PADDING: Final = 12


@dataclass(frozen=True, kw_only=True)
class Badge:
    """What a badge says."""

    message: str
    colour: str
    """White text can be read on it."""

    @property
    def words(self) -> str:
        """``CUDA wheels: 2.8.3, torch 2.11``."""
        return f"{_LABEL}: {self.message}"

    @property
    def json(self) -> bytes:
        """For an endpoint badge (https://shields.io/badges/endpoint-badge)."""
        colour = self.colour.removeprefix("#")
        return to_json({"schemaVersion": 1, "label": _LABEL, "message": self.message, "color": colour})

    @property
    def svg(self) -> bytes:
        """A picture that needs no other host."""
        texts = (_LABEL, self.message)
        left, right = (round(sum(_NARROW.get(letter, _LETTER) for letter in text)) + _PADDING for text in texts)
        words = "".join(
            f'<text x="{middle}" y="14" textLength="{width - _PADDING}">{escape(text)}</text>'
            for text, middle, width in zip(texts, (left / 2, left + right / 2), (left, right), strict=True)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
            f"<title>{escape(self.words)}</title>"
            f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
            f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3f444b"/>'
            f'<rect x="{left}" width="{right}" height="20" fill="{self.colour}"/></g>'
            '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
            f"{words}</g></svg>\n"
        ).encode()


_GOOD: Final = "#0d7a66"
_OLD: Final = "#a8431f"
_NONE: Final = Badge(message="none yet", colour="#5d636b")


def badge_of(
    project: ProjectName,
    groups: Mapping[ProjectName, Sequence[WheelGroup]],
    torches: Mapping[CudaVersion, Sequence[TorchVersion]],
) -> Badge:
    """What the badge of a project says: green where its newest version is for the newest torch here, or for any.

    Args:
        project: the project that it is for.
        groups: the wheels of each project, the newest version first.
        torches: those that have a tree, by CUDA.
    """
    of_project = groups[project]
    if not of_project:
        return _NONE
    version = of_project[0].kind.version
    best = max((group.kind.torch for group in of_project if group.kind.version == version), key=age_of)
    newest = max((torch for each in torches.values() for torch in each if not torch.is_candidate), default=None)
    fits = newest is None or best is None or (newest in best if isinstance(best, StableTorch) else best >= newest)
    message = f"{version}, {words_for(best)}" if best else version
    return Badge(message=message, colour=_GOOD if fits else _OLD)
