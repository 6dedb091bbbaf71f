"""What the name of a listed file says."""

from __future__ import annotations

from packaging.utils import NormalizedName, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version


def parsed(filename: str) -> tuple[NormalizedName, Version, *tuple[object, ...]] | None:
    """Read the name of a wheel or a source distribution; None when it is neither."""
    try:
        return parse_wheel_filename(filename) if filename.endswith(".whl") else parse_sdist_filename(filename)
    except ValueError:  # not only packaging's own: Python makes no number of thousands of digits
        return None


def name_and_version(filename: str) -> tuple[NormalizedName, Version] | None:
    """The project and the version of a wheel or a source distribution; None for what is neither."""
    return (whole[0], whole[1]) if (whole := parsed(filename)) else None
