"""``wheelmill release downloads``: how often the wheels of each package were downloaded, kept in the ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from wheelmill.cli.factory.inputs import StoreOption, store_at
from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.errors import UsageError
from wheelmill.release.ledger.records import CountsDownloads, DownloadCount, of_projects, with_count

if TYPE_CHECKING:
    from wheelmill.cli.factory.outputs import ReleaseDownloads


def downloads(*, store: StoreOption, as_json: JsonOption = False) -> None:
    """Ask how often each package was downloaded, and keep that in the ledger, for the pictures of the index."""
    releases = store_at(store, must_exist=True)
    if not isinstance(releases, CountsDownloads):
        raise UsageError("downloads-not-counted", f"{store} does not count downloads", hint="github:OWNER/REPO does")
    releases.check_can_publish()
    count = DownloadCount(day=datetime.now(UTC).date(), projects=of_projects(releases.downloads()))
    releases.ledger.change(f"downloads until {count.day}", lambda state: with_count(state, count))
    if as_json:
        content: ReleaseDownloads = {
            "schema": "wheelmill.release-downloads/1",
            "day": str(count.day),
            "projects": {str(project): number for project, number in count.projects.items()},
        }
        print_json(content)
        return
    for project, number in sorted(count.projects.items(), key=lambda each: (-each[1], each[0])):
        typer.echo(f"{number:>12,}  {project}")
