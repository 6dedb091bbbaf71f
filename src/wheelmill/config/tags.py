"""Versions of git tags, for a package that is built in its own repository."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from wheelmill.names import ProjectVersion, project_version
from wheelmill.system.git import nearest_tag

UNTAGGED: Final = ProjectVersion("0.0.0")
"""Version of a checkout without tags, such as a shallow one of a branch: ``package.yml`` releases none of it."""


def pushed_tag() -> str | None:
    """Return the tag that a workflow runs for; None for a branch, and outside of GitHub.

    https://docs.github.com/en/actions/reference/workflows-and-actions/variables#default-environment-variables
    """
    return os.environ.get("GITHUB_REF_NAME") if os.environ.get("GITHUB_REF_TYPE") == "tag" else None


def versions_of_tag(tag: str | None) -> tuple[ProjectVersion, ...]:
    """Return the version that a tag reads as, if any, and the one before its first hyphen.

    ``v1.2.3-rc1`` may be of 1.2.3rc1 or of 1.2.3; ``v1.2.3-torch2.16`` is of 1.2.3.
    """
    versions = []
    for text in (tag, tag.partition("-")[0]) if tag else ():
        with suppress(ValueError):
            versions.append(project_version(text))
    return tuple(dict.fromkeys(versions))


def tagged_version(folder: Path) -> ProjectVersion | None:
    """Return the version of the pushed tag, else of the nearest one in a checkout; None if that tag has none."""
    tag = pushed_tag() or nearest_tag(folder)
    return next(iter(versions_of_tag(tag)), None) if tag else UNTAGGED
