"""Faults of the settings of a factory's repository."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from wheelmill.hosting.settings import RepositorySettings, Unseen


class SettingCode(StrEnum):
    """What kind of setting is wrong. The values are part of the command's JSON."""

    why: str
    """What goes wrong in the factory."""

    def __new__(cls, value: str, why: str) -> Self:
        """A text that knows why it matters."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.why = why
        return code

    PRIVATE = "private", "pip has no token: manifests and wheels are read from the download pages without one"
    ARCHIVED = "archived", "nothing can be released: an archived repository takes no changes"
    ISSUES_OFF = "issues-off", "nobody can ask for a package: the form for requests is an issue"
    ACTIONS_OFF = "actions-off", "no workflow runs"
    ACTIONS_REFUSED = "actions-refused", "a run ends before its first job where one of its actions is not allowed"
    WORKFLOW_OFF = "workflow-off", "nothing starts a workflow that is off, not even a dispatch"
    TOKEN_WRITES = "token-writes", "a job whose workflow says nothing could change the repository"
    NO_PULL_REQUESTS = "no-pull-requests", "upstream.yml cannot open the pull request with new versions"
    FORKS_UNASKED = "forks-unasked", "a pull request may change the workflows: it runs what it likes where it likes"
    PAGES_SOURCE = "pages-source", "the index is built, and its deployment fails"
    ENVIRONMENT_OPEN = (
        "environment-open",
        "a workflow on any branch could deploy, or read the secrets of the environment",
    )
    ENVIRONMENT_CLOSED = "environment-closed", "jobs that deploy are refused: their branch or tag may not use it"
    RELEASES_MUTABLE = "releases-mutable", "what was published and attested could be changed"
    BRANCH_OPEN = "branch-open", "whoever may push decides alone, and without a trace, what is built and released"
    LEDGER_CLOSED = "ledger-closed", "runs cannot write what they released, claimed or saw fail"
    TAGS_CLOSED = "tags-closed", "no release can be published: publishing makes its tag"
    VARIABLE_UNKNOWN = "variable-unknown", "nothing reads it, so what it was meant to change stays as it is"
    VARIABLE_VALUE = "variable-value", "workflows read something else in it than was meant, or end with an error"
    SECRET_MISSING = "secret-missing", "nobody is told when a run fails"
    RUNNER_MISSING = "runner-missing", "its jobs wait for a day and are then cancelled"


@dataclass(frozen=True)
class WrongSetting:
    """A setting that keeps the factory from doing its work, or lets others do it."""

    code: SettingCode
    what: str
    """What is set, and to what."""
    remedy: tuple[str, ...]
    """Commands in their order, or the page to change it on."""


Judgement = Iterator[WrongSetting | Unseen]
"""What a rule found, and what it could not see."""


def wrong(code: SettingCode, what: str, *remedy: str) -> WrongSetting:
    """A finding as rules make it; its parts are those of `WrongSetting`."""
    return WrongSetting(code, what, remedy)


def api_command(settings: RepositorySettings, method: str, path: str, fields: str = "") -> str:
    """The command that changes a setting by the API.

    Args:
        settings: those of the repository.
        method: ``PUT`` or ``POST``.
        path: of the setting, below the repository.
        fields: options of ``gh api`` that give the values.
    """
    return f"gh api --method {method} repos/{settings.full_name}/{path} {fields}".rstrip()
