"""``wheelmill cache``: what the client keeps."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.client.install.wheel_cache import clean_cache, measure_cache
from wheelmill.errors import UsageError
from wheelmill.system.progress import number_of, size

if TYPE_CHECKING:
    from wheelmill.cli.client.change_outputs import CacheClean, CacheInfo

app = typer.Typer(no_args_is_help=True, help="Show and clean the cache of what was read and downloaded.")

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command()
def info(*, as_json: JsonOption = False) -> None:
    """Show where the cache is and how much it holds."""
    found = measure_cache()
    if as_json:
        content: CacheInfo = {
            "schema": "wheelmill.cache-info/1",
            "folder": str(found.folder),
            "files": found.files,
            "bytes": found.size,
            "oldest": found.oldest.isoformat() if found.oldest else None,
            "leftovers": found.leftovers,
        }
        print_json(content)
        return
    print(f"{found.folder}: {number_of(found.files, 'file')}, {size(found.size)}")  # noqa: T201 - the result
    if found.oldest:
        print(f"the oldest was last used {found.oldest:%Y-%m-%d %H:%M} UTC")  # noqa: T201
    if found.leftovers:
        print(f"killed commands left {size(found.leftovers)}")  # noqa: T201


@app.command()
def clean(
    *,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", help="Only what was last used this long ago: 30m, 12h, 7d, 4w.", metavar="AGE"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete what the cache holds, and what killed commands left behind."""
    done = clean_cache(_age(older_than) if older_than else None, dry_run=dry_run)
    if as_json:
        content: CacheClean = {
            "schema": "wheelmill.cache-clean/1",
            "files": done.files,
            "bytes": done.size,
            "leftovers": done.leftovers,
        }
        print_json(content)
        return
    what = f"{number_of(done.files, 'file')}, {size(done.size)}"
    left = f", and {size(done.leftovers)} that killed commands left" if done.leftovers else ""
    print(f"{'would delete' if dry_run else 'deleted'} {what}{left}")  # noqa: T201


def _age(text: str) -> timedelta:
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdigit()):
        raise UsageError(
            "age-invalid", f"--older-than: expected a number and one of {', '.join(_UNITS)}, such as 7d; not {text!r}"
        )
    try:
        return timedelta(**{unit: int(number)})
    except (OverflowError, ValueError):  # Python makes no number of more than 4,300 digits
        raise UsageError("age-too-large", f"--older-than: {text:.20} is more time than can be counted") from None
