"""What documents show: the commands of their shell blocks, and what stands below as printed by them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
_FAILS = re.compile(r"# ends with (\d+)")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A line of a shell block."""

    command: str
    exit_code: int
    """Zero, unless its comment says "ends with 4"."""
    printed: str
    """What the page shows below the block, for the last line of one; empty where it shows nothing."""


def shown_in(document: Path) -> list[Shown]:
    """The lines of every shell block of a page, without their comments."""
    found = []
    for block, printed in _BLOCK.findall(document.read_text()):
        lines = [line for line in block.splitlines() if line.strip()]
        for line in lines:
            code = _FAILS.search(line)
            found.append(
                Shown(
                    command=line.partition(" #")[0].strip(),
                    exit_code=int(code[1]) if code else 0,
                    printed=printed if line is lines[-1] else "",
                )
            )
    return found


def missing_in(output: str, printed: str) -> Sequence[str]:
    """The lines that a page shows and a command did not print, in this order; ``...`` stands for anything."""
    rest, missing = " ".join(output.split()), []
    for line in filter(None, map(str.strip, printed.splitlines())):
        pattern = ".*?".join(re.escape(" ".join(part.split())) for part in re.split(r" ?\.\.\. ?", line))
        if found := re.search(pattern, rest):
            rest = rest[found.end() :]
        else:
            missing.append(line)
    return missing
