"""Rules on the settings of a factory's repository, which were read before."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Final

from wheelmill.hosting.rules.actions import (
    check_actions,
    check_allowed_actions,
    check_forks,
    check_token,
    check_workflows,
)
from wheelmill.hosting.rules.branches import check_default_branch, check_ledger, check_tags
from wheelmill.hosting.rules.places import check_environments, check_pages, check_releases, check_repository
from wheelmill.hosting.rules.variables import check_runners, check_variables, check_webhook
from wheelmill.hosting.settings import RepositorySettings, Unseen
from wheelmill.hosting.wrong import Judgement, WrongSetting

_RULES: Final[tuple[Callable[[RepositorySettings], Judgement], ...]] = (
    check_repository,
    check_actions,
    check_allowed_actions,
    check_workflows,
    check_token,
    check_forks,
    check_pages,
    check_environments,
    check_releases,
    check_default_branch,
    check_ledger,
    check_tags,
    check_variables,
    check_webhook,
    check_runners,
)


def examine(settings: RepositorySettings) -> tuple[WrongSetting | Unseen, ...]:
    """Apply every rule, and report each fault once."""
    return tuple(dict.fromkeys(chain.from_iterable(rule(settings) for rule in _RULES)))
