"""Needs of the workflows: environments, actions, variables and secrets of their repository.

A test compares them with the files in .github/workflows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from wheelmill.names import Platform
from wheelmill.release.ledger.records import date_tags
from wheelmill.web.credentials import Origin

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
PACKAGE_INDEX: Final = "package-index"
"""The environment of release.yml, which only a repository has that publishes wheelmill itself."""
PUBLISHING_ACTION: Final = "pypa/gh-action-pypi-publish"

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
    "request-comment.yml": "requests get no answer",
    "schedule.yml": "builds and look-ups run only when a person starts them",
    "downloads.yml": "downloads are not counted",
    "upstream.yml": "new upstream versions, torch releases and image digests are not proposed",
    "ci.yml": "changes are not tested",
    "nightly.yml": "tests that a change only samples are not run in full",
    "newest.yml": "new releases of dependencies are not tested before users meet them",
    "report.yml": "no issue is opened when the runs of a night or of an hour fail",
}
"""Consequences of a disabled workflow."""


@dataclass(frozen=True)
class Unseen:
    """Setting that the token may not see."""

    what: str
    """In words: ``the variables``."""
    needs: str
    """Permission or the like that the token needs to see it."""


RUNNERS: Final = "WHEELMILL_RUNNERS"
GPU_RUNNER: Final = "WHEELMILL_GPU_RUNNER"
NOTIFIES: Final = "WHEELMILL_NOTIFY"
STORE: Final = "WHEELMILL_STORE"
PREFIX: Final = "WHEELMILL_"


@dataclass(frozen=True, kw_only=True)
class Values:
    """Valid values of a variable."""

    expected: str
    fits: Callable[[str], bool]


def _one_of(*words: str) -> Values:
    return Values(expected=" or ".join(words), fits=words.__contains__)


def _is_url(text: str) -> bool:
    with suppress(ValueError):
        return bool(Origin.of(text))
    return False


_Label = Annotated[str, Field(min_length=1)]
_LABELS: Final = TypeAdapter(dict[str, dict[str, _Label | Annotated[list[_Label], Field(min_length=1)]]])


def labels_of(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the labels of each entry of WHEELMILL_RUNNERS.

    The JSON object has, by project and platform, a label or a list of labels that one machine must have.
    """
    for platforms in _LABELS.validate_json(text).values():
        for platform, asked in platforms.items():
            Platform.parse(platform)
            yield (asked,) if isinstance(asked, str) else tuple(asked)


def _are_runners(text: str) -> bool:
    with suppress(ValueError):
        return bool(list(labels_of(text)))
    return False


_FLAG: Final = _one_of("true", "false")
_URL: Final = Values(expected="an http or https URL", fits=_is_url)
VARIABLES: Final[Mapping[str, Values]] = {
    STORE: Values(
        expected="github:OWNER/REPO or dir:PATH",
        fits=lambda text: text.startswith(("github:", "dir:")) and text[-1] != ":",
    ),
    "WHEELMILL_PREVIOUS": Values(
        expected="an http or https URL, or github:OWNER/REPO",
        fits=lambda text: _is_url(text) or (text.startswith("github:") and text[-1] != ":"),
    ),
    "WHEELMILL_BASE_URL": _URL,
    "WHEELMILL_SANDBOX": _one_of("docker", "local"),
    RUNNERS: Values(
        expected='such as {"flash-attn": {"linux_x86_64": "LABEL"}}, each platform with a label or a list of labels',
        fits=_are_runners,
    ),
    GPU_RUNNER: Values(expected="the label of a machine", fits=lambda text: text == text.strip() != ""),
    "WHEELMILL_ATTEST": _FLAG,
    "WHEELMILL_CACHE": _FLAG,
    "WHEELMILL_SCHEDULE": _FLAG,
    NOTIFIES: _FLAG,
}
"""A test compares the names with those in .github/workflows."""


def labels_asked_for(variables: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the labels that jobs ask for together; none for a value that cannot be parsed."""
    if _are_runners(text := variables.get(RUNNERS, "")):
        yield from labels_of(text)
    if label := variables.get(GPU_RUNNER):
        yield (label,)
