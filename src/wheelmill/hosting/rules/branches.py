"""Who may change the default branch, and that jobs may write to the ledger's and make tags."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Final

from wheelmill.hosting.factory import TAG
from wheelmill.hosting.settings import RepositorySettings, Unseen
from wheelmill.hosting.wrong import Judgement, SettingCode, api_command, wrong
from wheelmill.release.github.store import BRANCH

_NEEDED: Final = {
    "pull_request": "pushed to without a pull request",
    "non_fast_forward": "pushed to by force",
    "deletion": "deleted",
}
"""The rules of the default branch, with what can be done to it where one is missing."""
_STOPS_JOBS: Final = frozenset(
    {"pull_request", "creation", "update", "required_status_checks", "required_deployments", "merge_queue", "workflows"}
)
"""Rules that the token of a job cannot keep when it writes to a branch."""


def check_default_branch(settings: RepositorySettings) -> Judgement:
    """It changes by pull requests alone."""
    if isinstance(settings.rules, Unseen):
        yield settings.rules
    elif missing := [rule for rule in _NEEDED if rule not in settings.rules]:
        what = (
            f"the branch {settings.description.default_branch} can be {' and '.join(map(_NEEDED.__getitem__, missing))}"
        )
        yield wrong(SettingCode.BRANCH_OPEN, what, _protecting(settings, missing))


def _protecting(settings: RepositorySettings, missing: Sequence[str]) -> str:
    """Make a ruleset of what is missing. It asks for no approvals: nobody can approve a pull request of his own."""
    reviews = {
        "required_approving_review_count": 0,
        "dismiss_stale_reviews_on_push": False,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_review_thread_resolution": False,
    }
    ruleset = {
        "name": "default branch",
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [{"type": rule} | ({"parameters": reviews} if rule == "pull_request" else {}) for rule in missing],
    }
    return f"echo {shlex.quote(json.dumps(ruleset))} | {api_command(settings, 'POST', 'rulesets', '--input -')}"


def check_ledger(settings: RepositorySettings) -> Judgement:
    """Jobs may write to its branch."""
    if isinstance(settings.ledger_rules, Unseen):
        yield settings.ledger_rules
    elif stopping := sorted(settings.ledger_rules & _STOPS_JOBS):
        what = f"rules keep workflows from writing to the branch {BRANCH}: {', '.join(stopping)}"
        yield wrong(SettingCode.LEDGER_CLOSED, what, f"{settings.settings_url}/rules")


def check_tags(settings: RepositorySettings) -> Judgement:
    """Jobs may make those of releases. Nobody can delete or move them where releases are immutable."""
    if isinstance(settings.tag_rules, Unseen):
        yield settings.tag_rules
    elif "creation" in settings.tag_rules:
        what = f"rules keep workflows from making tags such as {TAG}"
        yield wrong(SettingCode.TAGS_CLOSED, what, f"{settings.settings_url}/rules")
