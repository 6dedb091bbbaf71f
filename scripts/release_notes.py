#!/usr/bin/env python3
"""Prints what CHANGELOG.md says of the version that a tag is for: scripts/release_notes.py wheelmill-1.2.0."""

import argparse
import itertools
import sys
import tomllib
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]


def notes_of(version: str, changelog: str) -> str:
    """The section whose heading begins with a version, ``## [1.2.0] - 2026-12-01``, without that heading.

    Raises:
        ValueError: there is none, or nothing is in it.
    """
    lines = changelog.splitlines()
    tokens = [token for token in MarkdownIt().parse(changelog) if token.type == "heading_open" and token.tag == "h2"]
    headings = [token.map[0] for token in tokens if token.map]
    for heading, end in itertools.pairwise([*headings, len(lines)]):
        named = lines[heading].strip("# ").split(" ")[0].strip("[]")
        if named == version and (notes := "\n".join(lines[heading + 1 : end]).strip()):
            return notes
    raise ValueError(f"CHANGELOG.md says nothing of {version}, below a line such as '## [{version}] - 2026-12-01'")


def notes_of_tag(tag: str) -> str:
    """The notes of a tag.

    Raises:
        ValueError: it is not that of the version in pyproject.toml, or the changelog has no notes.
    """
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"wheelmill-{version}":
        raise ValueError(f"pyproject.toml says {version}, so the tag is wheelmill-{version}, not {tag}")
    return notes_of(version, (ROOT / "CHANGELOG.md").read_text())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag")
    try:
        print(notes_of_tag(parser.parse_args().tag))  # noqa: T201
    except ValueError as error:
        sys.exit(f"error: {error}")
