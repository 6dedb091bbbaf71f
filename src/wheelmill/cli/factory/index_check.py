"""``wheelmill index check``: whether an index keeps the rules of the simple API."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
from rich.markup import escape
from rich.table import Table

from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.cli.shared.terminal import STDERR, STDOUT, progress
from wheelmill.conformance.violation import ConformanceReport, Violation
from wheelmill.errors import FindingsError, UsageError

_SHOWN: Final = 10
"""Findings of one rule that are printed; the JSON has all."""
_LONGEST: Final = 500
"""Characters of a URL or a message that are printed."""


def check(
    target: Annotated[
        str,
        typer.Argument(help="A project list's URL, or a folder with a site.", metavar="URL_OR_DIR", show_default=False),
    ],
    *,
    all_files: Annotated[
        bool, typer.Option("--all-files", help="Read all pages and all bytes of all files, not a sample.")
    ] = False,
    rate: Annotated[float, typer.Option(help="Requests per second, at most.", metavar="N", min=0.1)] = 20,
    connections: Annotated[int, typer.Option(help="Connections, at most.", metavar="N", min=1, max=64)] = 8,
    as_json: JsonOption = False,
) -> None:
    """Check an index, ours or anybody's, by every rule in docs/index-check.md. Exits with 9 on findings."""
    from wheelmill.conformance.fetch import Politeness  # noqa: PLC0415 - its parser and client take time to load
    from wheelmill.conformance.run import check_folder, check_url  # noqa: PLC0415

    with progress() as shown:
        if urlsplit(target).scheme in ("http", "https"):
            politeness = Politeness(rate=rate, connections=connections)
            report = check_url(target, everything=all_files, politeness=politeness, progress=shown)
        elif Path(target).is_dir():
            report = check_folder(Path(target), everything=all_files, progress=shown)
        else:
            raise UsageError(f"expected a URL or a folder, not {target!r}")
    if as_json:
        print_json(
            "wheelmill.index-check/1",
            findings=[_content(violation) for violation in report.violations],
            **_extent(report),
        )
    else:
        _print(report)
    if report.violations:
        raise typer.Exit(FindingsError.exit_code)


def _content(violation: Violation) -> dict[str, object]:
    rule = violation.rule
    return {
        "rule": rule.pep,
        "number": rule.number,
        "url": violation.url,
        "severity": rule.severity.value,
        "message": violation.message,
        "effect": {"pip": str(rule.pip), "uv": str(rule.uv)},
    }


def _extent(report: ConformanceReport) -> dict[str, int]:
    """How much of the index the findings are about."""
    return {
        "projects": report.projects,
        "pages": report.pages,
        "files": report.files,
        "examined": report.examined,
    }


def _print(report: ConformanceReport) -> None:
    table = Table("rule", "severity", "findings", "pip", "uv")
    for rule, found in groupby(report.violations, key=lambda violation: violation.rule):
        findings = list(found)
        STDOUT.print(escape(f"{rule.number} {rule.text}"))
        for finding in findings[:_SHOWN]:
            STDOUT.print(escape(f"  {_printable(finding.url)}: {_printable(finding.message)}"))
        if len(findings) > _SHOWN:
            STDOUT.print(f"  and {len(findings) - _SHOWN} more")
        table.add_row(rule.number, rule.severity, str(len(findings)), str(rule.pip), str(rule.uv))
    if report.violations:
        STDOUT.print(table)
    STDERR.print(
        f"findings: {len(report.violations)}; read: {report.pages} of {report.projects} project pages,"
        f" {report.examined} of {report.files} files"
    )


def _printable(text: str) -> str:
    """Cut short, and without what would move a terminal's cursor: an index is anybody's text."""
    cut = f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in cut)
