"""``wheelmill search``: which packages there are wheels of, and where."""

from __future__ import annotations

from typing import Annotated

import typer

from wheelmill.cli.client.target import SearchOptions
from wheelmill.cli.shared.option_groups import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say
from wheelmill.client.choose.survey import known_sources
from wheelmill.web.credentials import without_credentials


@with_groups
def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only sources with all of these in a name or description.", metavar="[WORD...]"),
    ] = None,
    *,
    where: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """List the sources that are looked in: packages, descriptions and places."""
    sources = [
        source
        for source in known_sources(where.search(), lambda warning: say(f"warning: {warning}"))
        if all(
            word.lower() in " ".join((source.name, source.description, source.url, *source.projects)).lower()
            for word in words or ()
        )
    ]
    if as_json:
        content = [
            {
                "name": source.name,
                "kind": source.kind,
                "url": without_credentials(source.url),
                "projects": sorted(source.projects),
                "description": source.description,
                "gpus": [architecture.capability for architecture in source.gpus],
            }
            for source in sources
        ]
        print_json("wheelmill.search/1", sources=content)
        return
    if not sources:
        say("no source has all of these words")
    for source in sources:
        gpus = " ".join(architecture.sm for architecture in source.gpus)
        print(f"{', '.join(sorted(source.projects)) or 'any package'}: {source.description or source.name}")  # noqa: T201
        print(f"    {source.kind} {without_credentials(source.url)}{f', for {gpus} only' if gpus else ''}")  # noqa: T201
