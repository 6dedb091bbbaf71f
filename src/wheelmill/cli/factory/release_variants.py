"""``wheelmill release variants``: published wheels as variant wheels, too."""

from __future__ import annotations

from typing import Annotated

import typer

from wheelmill.cli.factory.filters import read_values
from wheelmill.cli.factory.inputs import ConfigOption, StoreOption, config_at, store_at
from wheelmill.cli.factory.publication import tell
from wheelmill.cli.shared.output import say_warning
from wheelmill.cli.shared.terminal import progress
from wheelmill.errors import UsageError
from wheelmill.names import project_name


def variants(
    projects: Annotated[
        list[str] | None,
        typer.Argument(
            help="Packages; those with 'variants: true' in packages.yml by default.", metavar="[PROJECT...]"
        ),
    ] = None,
    *,
    store: StoreOption,
    to: Annotated[
        str,
        typer.Option(
            help="The store that gets the variant wheels, of the same forms as --store; keep it for them alone.",
            metavar="STORE",
        ),
    ],
    config: ConfigOption = None,
) -> None:
    """Release published wheels as variant wheels, too. Experimental: PEP 825 and PEP 850 are drafts."""
    from wheelmill import pipeline  # noqa: PLC0415 - needs the factory extra

    wanted = read_values("PROJECT", projects or (), project_name) or [
        name for name, package in config_at(config).packages.items() if package.variants
    ]
    if not wanted:
        raise UsageError(
            "no-variants-wanted", "no package of packages.yml has variants: true", hint="add that, or name packages"
        )
    with progress() as shown:
        done = pipeline.publish_variants(
            store_at(store), store_at(to, option="--to"), wanted, progress=shown, warn=say_warning
        )
    tell(done)
