"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write one; every text is on one line."""
    lines = [_line(headings), f"|{'---|' * len(headings)}", *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """A text that ends no cell."""
    return " ".join(text.split()).replace("|", "\\|")
