"""What the factory's workflows need of their repository; a test compares it with the files in .github/workflows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final

from wheelmill.release.tags import date_tags

TAG: Final = next(date_tags(date(2026, 11, 22)))
"""A typical tag of a release, for rules that match names."""
PAGES: Final = "github-pages"
NOTIFY: Final = "notify"
"""The environment of the job that reports failures."""
WEBHOOK: Final = "WHEELMILL_WEBHOOK"
"""The secret of that environment."""
ENVIRONMENTS: Final = (PAGES, "release", NOTIFY)

FOREIGN_ACTIONS: Final = ("peter-evans/create-pull-request",)
"""Actions that are not GitHub's own."""

CALLER: Final = "wheels.yml"
"""The workflow that runs start with, in a factory and in a package's own repository."""
CALLED: Final = "wheels-shard.yml"
"""A workflow that only a factory has."""
WORKFLOWS: Final[Mapping[str, str]] = {
    "wheels.yml": "no wheel is built",
    "wheels-shard.yml": "no wheel is built",
    "wheels-group.yml": "no wheel is built",
    "index.yml": "the index is not deployed",
    "package.yml": "packages that call it from repositories of their own are not built",
    "request.yml": "pull requests that ask for packages are not checked",
    "request-comment.yml": "nobody is told what became of a request",
    "schedule.yml": "nothing is built or looked for unless somebody starts it",
    "downloads.yml": "downloads are not counted",
    "upstream.yml": "new upstream versions, torch releases and image digests are not proposed",
    "ci.yml": "changes are not tested",
    "nightly.yml": "what changes are only sampled for is not tested whole",
    "newest.yml": "what others publish is not tried until somebody meets it",
    "report.yml": "no issue is opened when the runs of a night or of an hour fail",
}
"""What does not happen while a workflow is disabled."""
