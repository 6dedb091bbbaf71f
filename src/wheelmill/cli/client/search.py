"""``wheelmill search``: the sources of wheels, and the options of every command that looks in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, Waiting, print_json, say
from wheelmill.client.choose.resolve import Search
from wheelmill.client.sources.listing import known_projects
from wheelmill.errors import UsageError, WheelmillError

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import KnownSource
    from wheelmill.cli.client.outputs import Search as SearchContent


def _option(name: str, text: str, metavar: str | None = None) -> object:
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel="Where wheels are looked for")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Where wheels are looked for."""

    source: Annotated[
        list[str] | None,
        _option("--source", "Look only here: a file, a URL, github:OWNER/REPOSITORY ... Repeatable.", "SOURCE"),
    ] = None
    extra_source: Annotated[list[str] | None, _option("--extra-source", "Look here first. Repeatable.", "SOURCE")] = (
        None
    )
    offline: Annotated[bool, _option("--offline", "Use only what is in the cache.")] = False
    refresh: Annotated[bool, _option("--refresh", "Read every page again, even if the cached one is fresh.")] = False
    no_cache: Annotated[bool, _option("--no-cache", "Neither read nor write the cache.")] = False
    no_look: Annotated[bool, _option("--no-look", "Choose by file names alone, without looking inside wheels.")] = False
    allow_other_torch: Annotated[
        bool,
        _option(
            "--allow-other-torch",
            "Take a wheel built for another torch if the target's torch has the symbols it needs.",
        ),
    ] = False

    def search(self) -> Search:
        """The options as the client takes them.

        Raises:
            UsageError: they contradict each other.
        """
        if self.offline and (self.refresh or self.no_cache):
            raise UsageError("options-conflict", "--offline needs the cache: leave out --refresh and --no-cache")
        if self.allow_other_torch and self.no_look:
            raise UsageError("options-conflict", "--allow-other-torch has to look into wheels: leave out --no-look")
        return Search(
            named=self.source or (),
            extra=self.extra_source or (),
            offline=self.offline,
            refresh=self.refresh,
            use_cache=not self.no_cache,
            look=not self.no_look,
            other_torch=self.allow_other_torch,
            progress=Waiting(),
        )


def _complete_project(incomplete: str) -> list[str]:
    """Offer a shell the packages that sources are known to have; no server is asked, and no fault is reported."""
    offline = Search(offline=True)
    try:
        with offline.open_cache() as cache:
            known = known_projects(offline.sources(cache, lambda _warning: None), cache)
    except WheelmillError:
        return []
    return sorted(name for name in known if name.startswith(incomplete))


def package_argument(text: str, metavar: str) -> Any:  # noqa: ANN401 - as typer.Argument itself
    """An argument for names of packages, which shells complete."""
    return typer.Argument(help=text, metavar=metavar, autocompletion=_complete_project)


@with_groups
def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only sources with all of these words in their name or description.", metavar="[WORD...]"),
    ] = None,
    *,
    where: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """List the sources where wheels are looked for: their packages, descriptions and addresses."""
    from wheelmill.wheel.findings import some_of  # noqa: PLC0415 - not for commands that take the options alone

    options = where.search()
    with options.open_cache() as cache:
        known = options.sources(cache, cache.warnings.append)
    for warning in cache.warnings:
        say(f"warning: {warning}")
    sources = [
        source
        for source in known
        if all(
            word.lower() in " ".join((source.name, source.description, source.url, *source.projects)).lower()
            for word in words or ()
        )
    ]
    if as_json:
        content: list[KnownSource] = [
            {
                "name": source.name,
                "kind": source.kind,
                "url": source.url,
                "projects": sorted(source.projects),
                "description": source.description,
                "gpus": [architecture.capability for architecture in source.gpus],
            }
            for source in sources
        ]
        listed: SearchContent = {"schema": "wheelmill.search/1", "sources": content}
        print_json(listed)
        return
    if not sources:
        say("no source matches all of these words")
    for source in sources:
        gpus = " ".join(architecture.sm for architecture in source.gpus)
        meant_first = sorted(
            source.projects, key=lambda name: (not any(word.lower() in name for word in words or ()), name)
        )
        print(f"{some_of(meant_first) or 'any package'}: {source.description or source.name}")  # noqa: T201
        print(f"    {source.kind} {source.url}{f', for {gpus} only' if gpus else ''}")  # noqa: T201
