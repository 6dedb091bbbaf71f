"""Text from outside on a terminal."""

import io

import pytest
from rich.table import Column, Table

from wheelmill.cli.shared import terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("safe\u202etxt.exe", r"safe\u202etxt.exe"),
        ("a\u200bb\u2066c\ufeffd\u00ade", r"a\u200bb\u2066c\ufeffd\xade"),
        ("tags\U000e0041", r"tags\U000e0041"),
        ("::set-output name=x::y", ": :set-output name=x::y"),
        ("Größe 大小 std::vector é", "Größe 大小 std::vector é"),
    ],
)
def test_a_text_that_reads_backwards_in_a_table(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(terminal.STDOUT, "_file", printed)
    monkeypatch.setattr(terminal.STDOUT, "_width", 100)
    table = Table("heading", box=None)
    table.add_row(text)
    terminal.STDOUT.print(table)
    terminal.STDOUT.print(text)
    assert [line.strip() for line in printed.getvalue().splitlines()] == ["heading", shown, shown]


def test_colours_stay_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    printed = io.StringIO()
    coloured = terminal._Console(file=printed, force_terminal=True, color_system="standard", highlight=False)  # noqa: SLF001
    coloured.print("[red]fault\x1b[2J\u202e[/red]")
    assert printed.getvalue() == "\x1b[31mfault\\x1b[2J\\u202e\x1b[0m\n"


@pytest.mark.parametrize(("width", "lines"), [(40, 2), (80, 2), (120, 1)])
def test_a_narrow_terminal_cuts_no_cell(width: int, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(terminal.STDOUT, "_file", printed)
    monkeypatch.setattr(terminal.STDOUT, "_width", width)
    table = Table("package", Column("hours", no_wrap=True), "why", box=None, show_header=False)
    table.add_row("p" * 30, "h" * 12, "w" * 20 + " " + "w" * 20)
    terminal.STDOUT.print(table)
    assert "\u2026" not in printed.getvalue()
    assert len(printed.getvalue().splitlines()) == lines
