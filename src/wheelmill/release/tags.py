"""Tags of releases: ``v2026-11-21``, and ``v2026-11-21.2`` for the second one of that day."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import date

from wheelmill.names import ReleaseTag


def date_tags(day: date) -> Iterator[ReleaseTag]:
    """Every tag of a day, in their order."""
    yield ReleaseTag(f"v{day:%Y-%m-%d}")
    for number in itertools.count(2):
        yield ReleaseTag(f"v{day:%Y-%m-%d}.{number}")


def is_date_tag(text: str) -> bool:
    """Whether a tag is one of a day: a repository has other releases too."""
    try:
        day = date.fromisoformat(text[1:11])
    except ValueError:
        return False
    number = text[12:]
    later = number.isascii() and number.isdigit() and not number.startswith("0") and number != "1"
    return text == f"v{day}" or (later and text == f"v{day}.{number}")
