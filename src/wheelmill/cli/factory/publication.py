"""Reporting a publication, and ending the command accordingly."""

from __future__ import annotations

from collections.abc import Iterable

from wheelmill.cli.shared.output import say
from wheelmill.errors import ReleaseError, TimeOverError
from wheelmill.release.store import Publication, RefusedWheel


def tell(done: Publication) -> None:
    """Report the outcome for each wheel.

    Raises:
        TimeOverError: the time was not enough.
        ReleaseError: some were refused.
    """
    for manifest in done.releases:
        say(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    if done.over:
        raise TimeOverError(
            "time-over", "the time was not enough for all wheels; what is published is whole", hint="run this again"
        )
    raise_for(done.refusals, "not released:")
    if not done.releases:
        say("nothing to release: every wheel is published already")


def raise_for(refusals: Iterable[RefusedWheel], heading: str) -> None:
    """Fail with the wheels that were refused, if there are any.

    Raises:
        ReleaseError: some were refused.
    """
    if lines := [str(refusal) for refusal in refusals]:
        raise ReleaseError("publication-incomplete", "\n".join((heading, *lines)))
