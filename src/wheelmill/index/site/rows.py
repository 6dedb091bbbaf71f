"""What the pages of packages have most of: rows of wheels. Written by hand, as the rows for installers are."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from markupsafe import Markup

from wheelmill.index.rows import href
from wheelmill.index.site.format import duration, size
from wheelmill.index.site.wheels import SiteWheel


def wheel_rows(wheels: Iterable[SiteWheel]) -> Markup:
    """The rows of a table: Python, which is the link, size, and how long it was compiled."""
    return Markup("\n".join([_wheel_row(wheel) for wheel in wheels]))  # noqa: S704 - escaped


def _wheel_row(wheel: SiteWheel) -> str:
    file = wheel.file
    link = f'<a href="{escape(href(file.url))}">{wheel.pythons}</a>'
    compiled = duration(seconds) if (seconds := wheel.build_seconds) else "&ndash;"
    return f'<tr><th scope="row">{link}</th><td>{size(file.size)}</td><td>{compiled}</td></tr>'
