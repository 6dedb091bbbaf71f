"""docs/when-it-does-not-work.md, as tests read it."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "when-it-does-not-work.md"


@dataclass(frozen=True)
class Section:
    said: tuple[str, ...]
    """The lines of programs that it explains; dots stand for what differs."""
    commands: tuple[str, ...]
    """The lines that mend."""
    codes: tuple[str, ...]

    def seen_in(self, printed: str) -> set[str]:
        """The lines that a program has printed."""
        found = " ".join(printed.split())
        return {line for line in self.said if all(" ".join(part.split()) in found for part in line.split("..."))}


@cache
def sections() -> dict[str, Section]:
    """All of them, by their headings."""
    _, *parts = PAGE.read_text().split("\n## ")
    return {title: _section(text) for title, _, text in (part.partition("\n") for part in parts)}


def _section(text: str) -> Section:
    blocks = {kind: re.findall(rf"```{kind}\n(.*?)\n```", text, re.DOTALL) for kind in ("text", "sh")}
    lines = {kind: tuple("\n".join(found).splitlines()) for kind, found in blocks.items()}
    codes = re.findall(r"^Codes: (.*)\.$", text, re.MULTILINE)
    return Section(lines["text"], lines["sh"], tuple(re.findall(r"`([a-z-]+)`", "".join(codes))))
