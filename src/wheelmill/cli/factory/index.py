"""``wheelmill index``: generate, serve, check and upload static package indexes."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer
from rich.markup import escape
from rich.table import Table

from wheelmill.cli.factory.inputs import (
    BASE_URL_VARIABLE,
    ConfigOption,
    RequiredSignerOption,
    StoreOption,
    needs_botocore,
    own_config_at,
    place_at,
    store_at,
)
from wheelmill.cli.shared.commands import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.options import of_a_size, projects_of, signer_of, with_groups
from wheelmill.cli.shared.terminal import STDOUT, progress
from wheelmill.config.load import load_compatibility, load_listing
from wheelmill.conformance.report import ReportedFinding, findings_of, junit_of, legible, sarif_of
from wheelmill.conformance.rule import ConformanceReport
from wheelmill.errors import FindingsError, UsageError
from wheelmill.index.serve import project_lists_below, root_of, serve_folder
from wheelmill.index.tree import SOURCES
from wheelmill.names import ProjectName
from wheelmill.system.progress import SYSTEM_CLOCK, number_of
from wheelmill.web.credentials import Origin

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import IndexCheck, IndexFinding
    from wheelmill.index.deployed import ReadDeployed
    from wheelmill.pipeline.site import Mirror


@dataclass(frozen=True, kw_only=True)
class WheelPlaces:
    """Places of a site's wheels: the URL of its store, and further stores."""

    base_url: Annotated[
        str | None,
        typer.Option(
            help="The URL above the releases' folders, or a path relative to the site; that of the store by default.",
            metavar="URL",
            envvar=BASE_URL_VARIABLE,
        ),
    ] = None
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            help="A store with copies of the wheels, and the URL above their folders if that differs. Links lead to the"
            " first store that has a copy. Repeatable.",
            metavar="STORE[=URL]",
            envvar="WHEELMILL_MIRROR",
        ),
    ] = None
    variants: Annotated[
        str | None,
        typer.Option(
            help="The store that 'release variants' fills, and the URL above its folders if that differs."
            " Experimental: PEP 825 and PEP 850 are drafts.",
            metavar="STORE[=URL]",
            envvar="WHEELMILL_VARIANTS",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SiteOptions:
    """The current site, and the address and documents of the new one."""

    previous: Annotated[
        str | None,
        typer.Option(
            help="The current site: a folder, a URL or the Pages of github:OWNER/REPO. Its links must not change or"
            " vanish without a reason.",
            metavar="SITE",
            envvar="WHEELMILL_PREVIOUS",
        ),
    ] = None
    site_url: Annotated[
        str | None,
        typer.Option(
            help="Where people will read the site, for its feeds and its list of pages; that of --previous by default.",
            metavar="URL",
            envvar="WHEELMILL_SITE_URL",
        ),
    ] = None
    documents: Annotated[
        Path | None,
        typer.Option(
            "--docs",
            help="Folder with wheelmill's documents, rendered by Sphinx; the site gets them below docs/.",
            metavar="DIR",
            envvar="WHEELMILL_DOCS",
        ),
    ] = None

    def check(self) -> None:
        """Check the options before a store is read and pages are made."""
        if self.site_url:
            _check_url("--site-url", self.site_url)
        if self.previous and "://" in self.previous:
            _check_url("--previous", self.previous)
        if self.documents:
            from wheelmill.index.site.pages import pages_of_documents  # needs the factory extra

            next(pages_of_documents(self.documents))  # checks the folder first


def _check_url(option: str, url: str) -> None:
    try:
        Origin.of(url)
    except ValueError as error:
        raise UsageError("site-url-invalid", f"{option}: {error}") from None


@with_groups
def build(
    *,
    store: StoreOption,
    output: Annotated[Path, typer.Option(help="Folder for the site.", metavar="DIR")],
    wheels: WheelPlaces,
    config: ConfigOption = None,
    site: SiteOptions,
    require_attestation: RequiredSignerOption = None,
) -> None:
    """Generate the site of all releases in a store."""
    from wheelmill.pipeline.site import Stores, build_index, catalogue_of  # needs the factory extra

    site.check()
    place = _place_of(site.previous)
    releases = store_at(store, must_exist=True)
    own = own_config_at(config)
    address = site.site_url or (place if place and "://" in place else None)
    stores = Stores(
        store=releases,
        base_url=wheels.base_url or releases.url_from(output),
        listing=own.listing if own else load_listing(place_at(config)),
        facts=own.compatibility if own else load_compatibility(place_at(config)),
        mirrors=[_mirror_at("--mirror", text, output) for text in wheels.mirror or ()],
        variants=_mirror_at("--variants", wheels.variants, output) if wheels.variants else None,
        read_deployed=_deployed_at(place, may_be_new=place != site.previous),
        signer=signer_of(require_attestation),
    )
    sources, homes = _sources_in(place_at(config))
    planned = catalogue_of(own, releases.ledger.summary()) if own else None
    with progress() as shown:
        size = build_index(
            stores,
            output,
            catalogue=replace(planned, homes=homes) if planned else None,
            sources=sources,
            site_url=address,
            documents=site.documents,
            on_github_pages=place != site.previous or (urlsplit(address or "").hostname or "").endswith(".github.io"),
            progress=shown,
            warn=say_warning,
        )
    say(f"{output}: {size}")


def _mirror_at(option: str, text: str, site: Path) -> Mirror:
    from wheelmill.pipeline.site import Mirror  # needs the factory extra

    name, _, url = text.partition("=")
    store = store_at(name, option=option, must_exist=True)
    return Mirror(store=store, base_url=url or store.url_from(site))


def _place_of(previous: str | None) -> str | None:
    """Return the folder or the URL of the current site; None if there is none."""
    kind, _, name = (previous or "").partition(":")
    if kind != "github":
        return previous
    from wheelmill.hosting.read import find_site  # needs the factory extra
    from wheelmill.release.github.api import Repository

    site = find_site(Repository.parse(name, os.environ), SYSTEM_CLOCK)
    if site is None:
        say(f"{name} has no site on GitHub Pages yet: nothing is compared with it")
    return site


def _deployed_at(place: str | None, *, may_be_new: bool) -> ReadDeployed:
    """Make the reader of the site at a folder or URL; `may_be_new` accepts a place without a site."""
    from wheelmill.index.deployed import Deployed, deployed_wheels

    if place is None:
        return lambda _read: Deployed()
    return partial(deployed_wheels, place, now=datetime.now(UTC), none_yet=say if may_be_new else None)


def _sources_in(folder: Path) -> tuple[bytes | None, Mapping[ProjectName, Sequence[str]]]:
    """Read the list of sources of a configuration, None if it has none, and the places that it names by project."""
    from wheelmill.client.sources.sources_file import read_sources_file

    path = folder / SOURCES
    if not path.exists():
        return None, {}
    homes: dict[ProjectName, list[str]] = {}
    for source in read_sources_file(path).sources:
        for project in sorted(source.projects):
            homes.setdefault(project, []).append(source.name)
    return path.read_bytes(), homes


_SHOWN: Final = 10
"""Maximum number of printed findings of one rule; other formats have all."""
_PLACES: Final = 3
"""Maximum number of printed places of one finding."""


class Format(StrEnum):
    """Format of a report."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """The part of an index that is read, and the load on its server."""

    project: Annotated[
        list[str] | None,
        typer.Option(
            help="Check the page of this project, and no project list. Repeatable.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None
    all_files: Annotated[
        bool, typer.Option("--all-files", help="Read all pages and all bytes of all files, not a sample.")
    ] = False
    rate: Annotated[
        float, typer.Option(help="At most this many requests per second.", metavar="N", min=0.1, callback=of_a_size)
    ] = 20
    connections: Annotated[int, typer.Option(help="At most this many connections.", metavar="N", min=1, max=64)] = 8


@with_groups
def check(
    target: Annotated[
        str,
        typer.Argument(help="A project list's URL, or a folder with a site.", metavar="URL_OR_DIR", show_default=False),
    ],
    *,
    sample: SampleOptions,
    form: Annotated[
        Format, typer.Option("--format", help="Format on stdout; SARIF and JUnit are for CI services.")
    ] = Format.TEXT,
    as_json: JsonOption = False,
) -> None:
    """Check any index by every rule in docs/index-check.md. Exits with 9 on findings."""
    from wheelmill.conformance.fetch import Politeness
    from wheelmill.conformance.survey import check_folder, check_url

    if as_json and form is not Format.TEXT:
        raise UsageError("options-conflict", f"--json and --format {form} are two forms; give one of them")
    projects = projects_of(sample.project or (), "--project: ")
    with progress() as shown:
        if "://" in target:
            report = check_url(
                target,
                projects=projects,
                everything=sample.all_files,
                politeness=Politeness(rate=sample.rate, connections=sample.connections),
                progress=shown,
                sleep=time.sleep,
            )
        elif Path(target).is_dir():
            report = check_folder(Path(target), projects=projects, everything=sample.all_files, progress=shown)
        else:
            raise UsageError("target-invalid", f"expected a URL or a folder, not {target!r}")
    _print_report(report, Format.JSON if as_json else form)
    if report.violations:
        raise typer.Exit(FindingsError.exit_code)


def _print_report(report: ConformanceReport, form: Format) -> None:
    match form:
        case Format.TEXT:
            _print_text(report)
        case Format.JSON:
            content: IndexCheck = {
                "schema": "wheelmill.index-check/1",
                "findings": [_content(finding) for finding in findings_of(report.violations)],
                "projects": report.projects,
                "pages": report.pages,
                "files": report.files,
                "examined": report.examined,
                "observations": report.observations,
            }
            print_json(content)
        case Format.SARIF:
            print(json.dumps(sarif_of(report, version=version("wheelmill")), indent=2))
        case Format.JUNIT:
            print(junit_of(report))


def _content(finding: ReportedFinding) -> IndexFinding:
    rule = finding.rule
    return {
        "rule": rule.pep,
        "number": rule.number,
        "url": finding.places[0].url,
        "severity": rule.severity,
        "message": finding.places[0].message,
        "effect": {"pip": str(rule.pip), "uv": str(rule.uv)},
        "count": len(finding.places),
        "examples": [{"url": place.url, "message": place.message} for place in finding.examples],
    }


def _print_text(report: ConformanceReport) -> None:
    table = Table("rule", "severity", "places", "pip", "uv")
    all_findings = findings_of(report.violations)
    for rule, of_rule in groupby(all_findings, key=lambda finding: finding.rule):
        findings = list(of_rule)
        STDOUT.print(escape(f"{rule.number} {rule.text}"))
        for finding in findings[:_SHOWN]:
            for place in finding.places[:_PLACES]:
                STDOUT.print(escape(f"  {legible(place.url)}: {legible(place.message)}"))
            if len(finding.places) > _PLACES:
                STDOUT.print(f"  and {len(finding.places) - _PLACES} more that say the same")
        if len(findings) > _SHOWN:
            STDOUT.print(f"  and {number_of(len(findings) - _SHOWN, 'other finding')}")
        places = sum(len(finding.places) for finding in findings)
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


app = typer.Typer(no_args_is_help=True, help="Generate, serve and check static package indexes.")
app.command()(check)
app.command()(build)


@app.command()
def upload(
    site: Annotated[Path, typer.Argument(help="A site, as 'index build' writes it.", metavar="DIR", exists=True)],
    place: Annotated[str, typer.Argument(help="The bucket, and the prefix of its keys.", metavar="s3:BUCKET/PREFIX")],
) -> None:
    """Upload a site to a bucket, with types and cache headers, and remove the files that it no longer has."""
    kind, _, name = place.partition(":")
    if kind != "s3":
        raise UsageError("place-invalid", f"expected s3:BUCKET/PREFIX, not {place!r}")
    with needs_botocore():
        from wheelmill.hosting.upload import upload_site  # needs the s3 extra
        from wheelmill.release.s3.bucket import Bucket
    bucket = Bucket.parse(name, SYSTEM_CLOCK)
    bucket.check_credentials()
    with progress() as shown:
        outcome = upload_site(site, bucket, shown)
    say(f"{bucket}: {outcome}")


@app.command()
def serve(
    directory: Annotated[
        Path, typer.Argument(help="A site, or the output folder of 'wheelmill run'.", metavar="DIR", exists=True)
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
