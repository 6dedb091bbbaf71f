"""The templates of the site."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wheelmill.system import resources


def environment() -> Environment:
    """Where templates are: they escape what they are given, and fail at a name that they are not given."""
    return Environment(
        loader=FileSystemLoader(resources.INDEX / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
