"""``wheelmill index``: a static package index, made or checked against the rules of the simple API."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, assert_never
from urllib.parse import urlsplit

import typer
from rich.markup import escape
from rich.table import Table

from wheelmill.cli.factory.index_build import build
from wheelmill.cli.factory.inputs import needs_botocore
from wheelmill.cli.shared.commands import JsonOption, plain, print_json, say
from wheelmill.cli.shared.options import of_a_size
from wheelmill.cli.shared.terminal import STDOUT, progress
from wheelmill.conformance.report import Finding, findings_of, legible
from wheelmill.conformance.rule import ConformanceReport
from wheelmill.errors import FindingsError, UsageError
from wheelmill.index.serve import project_lists_below, root_of, serve_folder
from wheelmill.names import ProjectName
from wheelmill.names.text import project_name
from wheelmill.system.progress import SYSTEM_CLOCK, number_of

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import IndexCheck, IndexFinding


_SHOWN: Final = 10
"""Findings of one rule that are printed for people; other formats have all."""
_PLACES: Final = 3
"""Of a finding that are printed for people."""


class Format(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


def check(
    target: Annotated[
        str,
        typer.Argument(help="A project list's URL, or a folder with a site.", metavar="URL_OR_DIR", show_default=False),
    ],
    *,
    project: Annotated[
        list[str] | None,
        typer.Option(
            help="Check the page of this project, and no project list; repeatable, also for an index without a list.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    all_files: Annotated[
        bool, typer.Option("--all-files", help="Read all pages and all bytes of all files, not a sample.")
    ] = False,
    rate: Annotated[
        float,
        typer.Option(help="At most this many requests per second.", metavar="N", min=0.1, callback=of_a_size),
    ] = 20,
    connections: Annotated[int, typer.Option(help="At most this many connections.", metavar="N", min=1, max=64)] = 8,
    form: Annotated[
        Format, typer.Option("--format", help="What is printed on stdout; SARIF and JUnit are for CI services.")
    ] = Format.TEXT,
    as_json: JsonOption = False,
) -> None:
    """Check an index, ours or anybody's, by every rule in docs/index-check.md. Exits with 9 on findings."""
    from wheelmill.conformance.fetch import Politeness  # noqa: PLC0415 - its parser and client take time to load
    from wheelmill.conformance.survey import check_folder, check_url  # noqa: PLC0415

    if as_json and form is not Format.TEXT:
        raise UsageError("options-conflict", f"--json and --format {form} are two forms; give one of them")
    projects = _projects(project or [])
    with progress() as shown:
        if urlsplit(target).scheme in ("http", "https"):
            politeness = Politeness(rate=rate, connections=connections)
            report = check_url(
                target,
                projects=projects,
                everything=all_files,
                politeness=politeness,
                progress=shown,
                sleep=time.sleep,
            )
        elif Path(target).is_dir():
            report = check_folder(Path(target), projects=projects, everything=all_files, progress=shown)
        else:
            raise UsageError("target-invalid", f"expected a URL or a folder, not {target!r}")
    _print_report(report, Format.JSON if as_json else form)
    if report.violations:
        raise typer.Exit(FindingsError.exit_code)


def _projects(names: list[str]) -> list[ProjectName]:
    """The projects that a person named, each once.

    Raises:
        UsageError: one is no name of a project.
    """
    try:
        return list(dict.fromkeys(map(project_name, names)))
    except ValueError as error:
        raise UsageError("project-name-invalid", f"--project: {error}") from None


def _print_report(report: ConformanceReport, form: Format) -> None:
    match form:
        case Format.TEXT:
            _print_text(report)
        case Format.JSON:
            _print_json(report)
        case Format.SARIF:
            from importlib.metadata import version  # noqa: PLC0415 - takes long, as what follows does

            from wheelmill.conformance.report import sarif_of  # noqa: PLC0415

            print(json.dumps(sarif_of(report, version=version("wheelmill")), indent=2))  # noqa: T201
        case Format.JUNIT:
            from wheelmill.conformance.report import junit_of  # noqa: PLC0415

            print(junit_of(report))  # noqa: T201
        case _:
            assert_never(form)


def _print_json(report: ConformanceReport) -> None:
    content: IndexCheck = {
        "schema": "wheelmill.index-check/1",
        "findings": [_content(finding) for finding in findings_of(report.violations)],
        "projects": report.projects,
        "pages": report.pages,
        "files": report.files,
        "examined": report.examined,
        "observations": plain(report.observations),
    }
    print_json(content)


def _content(finding: Finding) -> IndexFinding:
    rule = finding.rule
    return {
        "rule": rule.pep,
        "number": rule.number,
        "url": finding.url,
        "severity": rule.severity,
        "message": finding.message,
        "effect": {"pip": str(rule.pip), "uv": str(rule.uv)},
        "count": finding.count,
        "examples": [{"url": place.url, "message": place.message} for place in finding.examples],
    }


def _print_text(report: ConformanceReport) -> None:
    table = Table("rule", "severity", "places", "pip", "uv")
    all_findings = findings_of(report.violations)
    for rule, found in groupby(all_findings, key=lambda finding: finding.rule):
        findings = list(found)
        STDOUT.print(escape(f"{rule.number} {rule.text}"))
        for finding in findings[:_SHOWN]:
            _print_finding(finding)
        if len(findings) > _SHOWN:
            STDOUT.print(f"  and {number_of(len(findings) - _SHOWN, 'other finding')}")
        places = sum(finding.count for finding in findings)
        table.add_row(rule.number, rule.severity, str(places), str(rule.pip), str(rule.uv))
    if report.violations:
        STDOUT.print(table)
    for observation in report.observations:
        say(f"{observation.topic}: {legible(observation.url)}: {legible(observation.message)}")
    more = f" in {len(report.violations)} places" if len(report.violations) > len(all_findings) else ""
    say(
        f"findings: {len(all_findings)}{more}; read: {report.pages} of {number_of(report.projects, 'project page')},"
        f" {report.examined} of {number_of(report.files, 'file')}"
    )


def _print_finding(finding: Finding) -> None:
    for place in finding.places[:_PLACES]:
        STDOUT.print(escape(f"  {legible(place.url)}: {legible(place.message)}"))
    if finding.count > _PLACES:
        STDOUT.print(f"  and {finding.count - _PLACES} more that say the same")


app = typer.Typer(no_args_is_help=True, help="Generate, serve and check static package indexes.")
app.command()(check)
app.command()(build)


@app.command()
def upload(
    site: Annotated[Path, typer.Argument(help="A site, as 'index build' writes it.", metavar="DIR", exists=True)],
    place: Annotated[str, typer.Argument(help="The bucket, and the prefix of its keys.", metavar="s3:BUCKET/PREFIX")],
) -> None:
    """Send a site to a bucket, with the types and cache headers of its files, and remove what it no longer has."""
    kind, _, name = place.partition(":")
    if kind != "s3":
        raise UsageError("place-invalid", f"expected s3:BUCKET/PREFIX, not {place!r}")
    with needs_botocore():
        from wheelmill.hosting.upload import upload_site  # noqa: PLC0415 - needs the s3 extra
        from wheelmill.release.s3 import Bucket  # noqa: PLC0415 - the same
    bucket = Bucket.parse(name, SYSTEM_CLOCK)
    bucket.check_credentials()
    with progress() as shown:
        outcome = upload_site(site, bucket, shown)
    say(f"{bucket}: {outcome}")


@app.command()
def serve(
    directory: Annotated[
        Path,
        typer.Argument(help="A site, or the output folder of 'wheelmill run'.", metavar="DIR", exists=True),
    ],
    *,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", metavar="N", min=0, max=65535)] = 8000,
) -> None:
    """Serve a site on 127.0.0.1 until interrupted: pages as JSON to clients that want it, as HTML to all others."""
    lists = project_lists_below(directory)
    root = root_of(directory)
    with serve_folder(root, port, negotiate=True) as url:
        for path in lists:
            say(f"{url}{path.relative_to(root).as_posix()}/")
        say("stop with Ctrl-C")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
