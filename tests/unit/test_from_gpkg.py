"""Every flag of gpkg 0.4.3 has a row in docs/compared.md, and what the row names exists here."""

from pathlib import Path
from typing import Any

import pytest
import typer.main

from wheelmill.cli import COMMANDS, application

TABLE = Path(__file__).parents[2] / "docs" / "compared.md"

GPKG = {
    *("gpkg PKG...", "gpkg add PKG...", "gpkg install", "gpkg test"),
    *("--list", "--available", "--explain", "--doctor", "--all", "--lock", "--lockfile", "--update", "--sync"),
    *("--cache-info", "--cache-clean", "--older-than", "--no-cache", "--torch", "--cuda", "--python", "--platform"),
    *("--cxx11-abi", "--project", "-o", "--output", "--registry", "--extra-registry", "--json", "--build-missing"),
    *("-V", "--version"),
}
"""What ``gpkg --help`` lists, and its subcommands."""


def rows() -> list[tuple[str, str]]:
    lines = [line.strip("|").split("|") for line in TABLE.read_text().splitlines() if line.startswith("| `")]
    return [
        (words.strip().strip("`"), ours.strip().strip("`")) for theirs, ours, _ in lines for words in theirs.split(", ")
    ]


def test_every_flag_has_its_row() -> None:
    assert {theirs for theirs, _ in rows()} == GPKG


@pytest.mark.parametrize("ours", sorted({ours for _, ours in rows()}))
def test_what_the_row_names_is_there(ours: str) -> None:
    words = ours.split()
    names = [word for word in words if not word.startswith("--")]
    assert not names or names[0] in COMMANDS
    command: Any = typer.main.get_command(application(names))
    for name in names:
        command = command.commands[name]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options
