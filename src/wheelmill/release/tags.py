"""Date tags of releases: those that we make, and those that look like one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from wheelmill.names import ReleaseTag

_LIKE_A_DAY: Final = re.compile(r"v\d{4}-.*", re.ASCII)


def date_tags(day: date) -> Iterator[ReleaseTag]:
    """Every tag of a day, in order: ``v2026-11-21``, ``v2026-11-21.2`` for the second release, and so on."""
    yield ReleaseTag(f"v{day:%Y-%m-%d}")
    for number in itertools.count(2):
        yield ReleaseTag(f"v{day:%Y-%m-%d}.{number}")


def is_date_tag(text: str) -> bool:
    """Whether a tag is a date tag: a repository may have other releases."""
    try:
        day = date.fromisoformat(text[1:11])
    except ValueError:
        return False
    number = text[12:]
    later = number.isascii() and number.isdigit() and not number.startswith("0") and number != "1"
    return text == f"v{day}" or (later and text == f"v{day}.{number}")


def is_like_date_tag(text: str) -> bool:
    """Whether a tag could be mistaken for a date tag: ``v2026-11-21-hotfix``."""
    return bool(_LIKE_A_DAY.fullmatch(text))
