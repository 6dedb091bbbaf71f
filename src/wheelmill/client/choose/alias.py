"""Aliases: wheels without files that require another one, under a name that says its CUDA.

docs/what-an-index-has.md says what they can't do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from wheelmill.client.records import Choice, Resolution, Unresolved
from wheelmill.wheel.alias import EVERYWHERE, chosen_by_extras, stands_for

_REASON: Final = "is an alias of {0}: its wheel {1} has no files and requires {2}"
_SUGGESTION: Final = "name {0}, whose wheel is chosen here, or '{1}' for that one"
_BY_EXTRAS: Final = "is an alias of {0} with an extra for each CUDA: its wheel {1} has no files"
_WITHOUT_EXTRAS: Final = "name {0}: its wheel for this CUDA is chosen here"


def without_aliases(resolution: Resolution) -> Resolution:
    """A resolution without aliases: they can be installed only from an index that has what they require."""
    aliases = {name: absence for name, choice in resolution.choices.items() if (absence := _absence_of(choice))}
    return replace(
        resolution,
        choices={name: choice for name, choice in resolution.choices.items() if name not in aliases},
        unresolved={**resolution.unresolved, **aliases},
    )


def _absence_of(choice: Choice) -> Unresolved | None:
    """A warning about an alias; None for any other wheel."""
    wheel, requires_dist = choice.candidate, choice.requires_dist or ()
    if wheel.tags != EVERYWHERE:
        return None
    version = str(wheel.version)
    if project := chosen_by_extras(version, requires_dist):
        reason = _BY_EXTRAS.format(project, wheel.filename)
        return Unresolved(project=choice.project, reason=reason, suggestion=_WITHOUT_EXTRAS.format(project))
    project = stands_for(version, requires_dist)
    if project is None:
        return None
    (required,) = requires_dist
    return Unresolved(
        project=choice.project,
        reason=_REASON.format(project, wheel.filename, required),
        suggestion=_SUGGESTION.format(project, required),
    )
