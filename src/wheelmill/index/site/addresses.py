"""Where the pages for people are, below the root of a site.

``packages/flash-attn/``, of a version ``2.8.3/`` below it, and below that the wheels of one label,
``cu128torch2.8/#cp312-cp312-manylinux_2_28_x86_64``. Further pages of one of them are ``page-2/``: no version and no
label has a hyphen.
"""

from __future__ import annotations

from urllib.parse import quote

from wheelmill.index.tree import IndexFile
from wheelmill.names import ProjectName
from wheelmill.wheel.name import written_parts

UNLABELLED = "wheels"
"""The folder of wheels whose version is all that they have: no label is a word without a number."""


def package_folder(project: ProjectName) -> str:
    """``packages/flash-attn/``."""
    return f"packages/{project}/"


def wheels_folder(version: str, exact_version: str) -> str:
    """Of the wheels with one label, below the folder of their version: ``cu128torch2.8/``."""
    return f"{exact_version.removeprefix(version).lstrip('+.') or UNLABELLED}/"


def wheel_anchor(file: IndexFile) -> str:
    """Its build number and tags, which tell it from others of its version."""
    return written_parts(file.filename)[2]


def page_number(number: int) -> str:
    """The folder of a further page; none for the first."""
    return f"page-{number}/" if number > 1 else ""


def in_url(path: str) -> str:
    """A path as links have it: object stores take ``+`` for a space."""
    return quote(path, safe="/!")
