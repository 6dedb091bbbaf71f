"""The install pages as sections: a block that begins with ``# pyproject.toml`` is that file, one of ``sh`` is run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from myst_parser.mdit_to_docutils.base import default_slugify

from tests.commands import ROOT

FOLDER: Final = ROOT / "docs" / "install"
UNTRIED: Final = "No test runs this:"
"""What a section says that no test follows, with the reason."""
FILE_NAME: Final = re.compile(r"(?:#|//) (\S+)\n")
PROJECT: Final = "projects.md#the-project"
"""Has the beginning of the file that other sections have the rest of."""
PRIVATE: Final = {
    "private-indexes.md#uv-by-variables": ("projects.md#uv", {"HOST": "index.example"}),
    "private-indexes.md#poetry": ("projects.md#poetry", {"HOST": "index.example", '"cu130-torch2.11"': '"ours"'}),
    "private-indexes.md#pdm": ("projects.md#pdm", {"HOST": "${INDEX_USER}:${INDEX_PASSWORD}@index.example"}),
}
"""Sections that are followed in another's project, and what they say to replace there."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Code between fences."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that it is the content of."""
        found = FILE_NAME.match(self.text)
        return found[1] if found and self.language != "sh" else None


@dataclass(frozen=True, kw_only=True)
class Section:
    """What stands below a heading."""

    name: str
    """``pip-and-uv.md#pip``."""
    text: str
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return self.name

    def file(self, name: str) -> str:
        """The content of one of its files."""
        (found,) = (block.text for block in self.blocks if block.file == name)
        return found

    def code(self, language: str) -> list[str]:
        """The blocks of a language that are no files."""
        return [block.text for block in self.blocks if block.language == language and not block.file]

    def script(self, blocks: slice = slice(None)) -> str:
        """What a person who follows it, or some of its blocks, types: files are written where they stand."""
        parts = ["set -euo pipefail"]
        for block in self.blocks[blocks]:
            if block.file:
                parts += [f"mkdir -p $(dirname {block.file})", f"cat >>{block.file} <<'END'\n{block.text}END"]
            elif block.language == "sh":
                parts.append(block.text)
        return "\n".join(parts)


def sections() -> dict[str, Section]:
    """Every section of every page, by its name."""
    found = [each for page in sorted(FOLDER.glob("*.md")) for each in _sections_of(page)]
    return {each.name: each for each in found}


def project_script(section: Section, more: str = "") -> str:
    """What a person types who follows a section in projects.md's project, with ``more`` lines of pyproject.toml."""
    every = sections()
    parts = [every[PROJECT].script(), f"cat >>pyproject.toml <<'END'\n{more}END"]
    if section.name in PRIVATE:
        name, replaced = PRIVATE[section.name]
        tables = every[name].script(slice(1))
        for old, new in replaced.items():
            tables = tables.replace(old, new)
        parts.append(tables)
    return "\n".join((*parts, section.script()))


def _sections_of(page: Path) -> Iterator[Section]:
    text = page.read_text(encoding="utf-8")
    lines, tokens = text.splitlines(), MarkdownIt().parse(text)
    starts = [
        (token.map[0], tokens[at + 1].content)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2" and token.map
    ]
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    for (start, heading), end in zip(starts, ends, strict=True):
        blocks = tuple(
            Block(language=token.info, text=token.content)
            for token in tokens
            if token.type == "fence" and token.map and start < token.map[0] < end
        )
        yield Section(name=f"{page.name}#{default_slugify(heading)}", text="\n".join(lines[start:end]), blocks=blocks)
