"""Reading the settings of a repository and of its GitHub Pages, within the permissions of a token.

An answer that needs a missing permission is `Unseen`.

https://docs.github.com/en/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens
https://docs.github.com/en/rest/repos/rules
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from http import HTTPStatus
from itertools import chain
from pathlib import PurePosixPath
from typing import Final, TypeVar
from urllib.parse import quote

from wheelmill.errors import IntegrityError, NetworkError, RejectedError, UsageError
from wheelmill.hosting.settings import (
    ENVIRONMENTS,
    NOTIFY,
    ORGANIZATION,
    TAG,
    Account,
    ActionsPolicy,
    AllowedActions,
    Description,
    Environment,
    ForkApproval,
    Immutability,
    ListedRuleset,
    NamePattern,
    PagesSite,
    Protection,
    RefNames,
    RepositorySettings,
    Rule,
    Ruleset,
    SecretName,
    SelfHostedRunner,
    Switch,
    TokenPolicy,
    Unseen,
    Variable,
    Workflow,
)
from wheelmill.release.github import Repository
from wheelmill.release.github.api import Calls, Pace
from wheelmill.release.github.store import BRANCH
from wheelmill.system.progress import QUIET, Clock
from wheelmill.system.records import record_from

ADMINISTRATION: Final = "Administration: read"
"""The permission that most settings need."""
_PER_PAGE: Final = 100
_MOST: Final = 5_000
"""Entries of one list that are read; GitHub takes 500 variables and 100 environments."""

Found = TypeVar("Found")


class Answers:
    """Settings, read through the API."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def seen(self, what: str, needs: str, read: Callable[[], Found]) -> Found | Unseen:
        """Read a setting, if the token may see it.

        Args:
            what: the setting in words.
            needs: the permission that shows it.
            read: the function that reads it.

        Raises:
            NetworkError: GitHub fails, or gives an unreadable answer.
        """
        try:
            return read()
        except RejectedError:
            return Unseen(what, needs)

    def one(self, path: str, kind: type[Found], *, absent: Found | None = None) -> Found:
        """Read one record.

        Args:
            path: below the repository.
            kind: the record that the answer must fit.
            absent: the meaning of a 404; None if it may be a missing permission, as GitHub does not distinguish them.

        Raises:
            NetworkError: GitHub fails, or gives an unreadable answer.
            RejectedError: GitHub refuses.
        """
        try:
            what = path or "the repository"
            return _record(self._calls.answer(f"reading {what}", path), kind, what)
        except RejectedError as error:
            if absent is None or error.status != HTTPStatus.NOT_FOUND:
                raise
            return absent

    def all(self, path: str, kind: type[Found], *, within: str | None = None) -> list[Found]:
        """Read a list, page after page.

        Args:
            path: below the repository.
            kind: the record of one entry.
            within: the key of the entries; None if the answer is the list itself.

        Raises:
            NetworkError: GitHub fails, or gives an unreadable answer.
            RejectedError: GitHub refuses.
        """
        found: list[Found] = []
        for number in range(1, _MOST // _PER_PAGE + 1):
            answer = self._calls.answer(f"reading {path}", path, per_page=_PER_PAGE, page=number)
            entries = answer if within is None else answer.get(within) if isinstance(answer, dict) else None
            if not isinstance(entries, list):
                raise NetworkError(
                    "answer-invalid", f"reading {path}: expected a list{f' of {within}' if within else ''}"
                )
            found += (_record(entry, kind, path) for entry in entries)
            if len(entries) < _PER_PAGE:
                return found
        raise NetworkError("answer-too-long", f"reading {path}: there are more than {_MOST}")


def _record(answer: object, kind: type[Found], path: str) -> Found:
    try:
        return record_from(json.dumps(answer).encode(), kind, source="the answer")
    except IntegrityError as error:
        raise NetworkError("answer-unreadable", f"reading {path}: {error}") from None


_METADATA: Final = "Metadata: read"


def branch_rules(answers: Answers, branch: str, *, administers: bool) -> frozenset[str] | Unseen:
    """Read the types of rules for a branch, including those of its protection.

    `administers` means that the token sees protection, so that a 404 means that there is none.
    """

    def read() -> frozenset[str]:
        path = f"/branches/{quote(branch, safe='')}/protection"
        none = Protection(allow_force_pushes=Switch(enabled=True), allow_deletions=Switch(enabled=True))
        protection = answers.one(path, Protection, absent=none if administers else None)
        older = {
            "pull_request": protection.required_pull_request_reviews is not None,
            "non_fast_forward": not protection.allow_force_pushes.enabled,
            "deletion": not protection.allow_deletions.enabled,
        }
        return _ruleset(answers, branch) | {rule for rule, holds in older.items() if holds}

    return answers.seen(f"the protection of the branch {branch}", ADMINISTRATION, read)


def _ruleset(answers: Answers, branch: str) -> frozenset[str]:
    """Read the types of rules for a branch, which need not exist."""
    return frozenset(rule.type for rule in answers.all(f"/rules/branches/{quote(branch, safe='')}", Rule))


def ledger_rules(answers: Answers) -> frozenset[str] | Unseen:
    """Read the types of rules for the branch of the ledger."""
    return answers.seen(f"the rules for the branch {BRANCH}", _METADATA, lambda: _ruleset(answers, BRANCH))


def tag_rules(answers: Answers) -> frozenset[str] | Unseen:
    """Read the types of rules for the tags of releases; unlike for a branch, no single call returns them."""

    def read() -> frozenset[str]:
        listed = answers.all("/rulesets", ListedRuleset)
        active = [each.id for each in listed if each.target == "tag" and each.enforcement == "active"]
        rulesets = [answers.one(f"/rulesets/{number}", Ruleset) for number in active]
        own = [each for each in rulesets if _is_for_releases(each.conditions.ref_name)]
        return frozenset(rule.type for each in own for rule in each.rules)

    return answers.seen("the rules for tags", _METADATA, read)


def _is_for_releases(names: RefNames) -> bool:
    def names_them(patterns: tuple[str, ...]) -> bool:
        # In GitHub's patterns a '**/' also stands for no folder.
        return "~ALL" in patterns or any(fnmatchcase(f"refs/tags/{TAG}", each.replace("**/", "*")) for each in patterns)

    return names_them(names.include) and not names_them(names.exclude)


def read_settings(repository: Repository, calls: Calls) -> RepositorySettings:
    """Read all settings that are checked.

    Raises:
        UsageError: there is no such repository, or the token is not valid.
        NetworkError: GitHub fails, or gives an unreadable answer.
    """
    answers = Answers(calls)
    description = _description(answers, repository)
    Repository.parse(description.full_name, {})  # the name goes into commands that people type
    token = answers.seen(
        "what the token of a job may do",
        ADMINISTRATION,
        lambda: answers.one("/actions/permissions/workflow", TokenPolicy),
    )
    administers = not isinstance(token, Unseen)
    actions = answers.seen(
        "whether Actions may run", ADMINISTRATION, lambda: answers.one("/actions/permissions", ActionsPolicy)
    )
    environments = _environments(answers)
    return RepositorySettings(
        settings_url=f"{repository.server_url.rstrip('/')}/{description.full_name}/settings",
        description=description,
        actions=actions,
        allowed=_allowed_actions(answers, actions),
        token=token,
        fork_approval=_fork_approval(answers, description),
        pages=_pages(answers, description),
        immutable=_immutable(answers, administers=administers),
        environments=environments,
        branches=_branches(answers, environments),
        rules=branch_rules(answers, description.default_branch, administers=administers),
        ledger_rules=ledger_rules(answers),
        tag_rules=tag_rules(answers),
        variables=_variables(answers, description.owner),
        secrets=_secrets(answers, environments),
        runners=answers.seen(
            "the machines of the owner",
            ADMINISTRATION,
            lambda: tuple(answers.all("/actions/runners", SelfHostedRunner, within="runners")),
        ),
        workflows=_workflows(answers),
    )


def _description(answers: Answers, repository: Repository) -> Description:
    try:
        return answers.one("", Description)
    except RejectedError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            raise UsageError(
                "token-invalid", "GITHUB_TOKEN is not valid, or has expired", hint="gh auth token prints one"
            ) from None
        raise UsageError(
            "repository-not-visible",
            f"there is no repository {repository.full_name} that GITHUB_TOKEN may see",
            hint=str(error),
        ) from None


def _allowed_actions(answers: Answers, actions: ActionsPolicy | Unseen) -> AllowedActions | Unseen | None:
    if isinstance(actions, Unseen) or actions.allowed_actions != "selected":
        return None
    path = "/actions/permissions/selected-actions"
    return answers.seen("which actions are allowed", ADMINISTRATION, lambda: answers.one(path, AllowedActions))


def _fork_approval(answers: Answers, description: Description) -> ForkApproval | Unseen | None:
    if description.visibility != "public":
        return None
    path = "/actions/permissions/fork-pr-contributor-approval"
    return answers.seen(
        "whose pull requests wait for approval", ADMINISTRATION, lambda: answers.one(path, ForkApproval)
    )


def _pages(answers: Answers, description: Description) -> PagesSite | Unseen | None:
    if not description.has_pages:
        return None
    return answers.seen("the source of Pages", "Pages: read", lambda: answers.one("/pages", PagesSite))


def _immutable(answers: Answers, *, administers: bool) -> bool | Unseen:
    absent = Immutability(enabled=False) if administers else None
    return answers.seen(
        "whether releases are immutable",
        ADMINISTRATION,
        lambda: answers.one("/immutable-releases", Immutability, absent=absent).enabled,
    )


def _environments(answers: Answers) -> Mapping[str, Environment] | Unseen:
    def read() -> Mapping[str, Environment]:
        return {each.name: each for each in answers.all("/environments", Environment, within="environments")}

    return answers.seen("the environments", "Actions: read", read)


def _branches(
    answers: Answers, environments: Mapping[str, Environment] | Unseen
) -> Mapping[str, tuple[NamePattern, ...]] | Unseen:
    """Read the branches of those environments that the factory uses and that name branches."""
    if isinstance(environments, Unseen):
        return environments

    def patterns(name: str) -> tuple[NamePattern, ...]:
        path = f"/environments/{quote(name, safe='')}/deployment-branch-policies"
        return tuple(answers.all(path, NamePattern, within="branch_policies"))

    named = [
        each.name
        for each in environments.values()
        if each.name in ENVIRONMENTS
        and each.deployment_branch_policy
        and each.deployment_branch_policy.custom_branch_policies
    ]
    return answers.seen(
        "the branches of the environments", "Actions: read", lambda: {name: patterns(name) for name in named}
    )


def _variables(answers: Answers, owner: Account) -> Mapping[str, str] | Unseen:
    """Read the variables of the repository; those of an organization where the repository has no other value."""
    places = ["/actions/variables"]
    if owner.type == ORGANIZATION:
        places.insert(0, "/actions/organization-variables")

    def read() -> Mapping[str, str]:
        found = chain.from_iterable(answers.all(path, Variable, within="variables") for path in places)
        return {each.name: each.value for each in found}

    return answers.seen("the variables", "Variables: read", read)


def _secrets(answers: Answers, environments: Mapping[str, Environment] | Unseen) -> frozenset[str] | Unseen:
    """Read the names of the secrets of the job that reports failures."""
    places = ["/actions/secrets"]
    if isinstance(environments, Unseen) or NOTIFY in environments:
        places.append(f"/environments/{NOTIFY}/secrets")

    def read() -> frozenset[str]:
        found = chain.from_iterable(answers.all(path, SecretName, within="secrets") for path in places)
        return frozenset(each.name for each in found)

    return answers.seen("the names of the secrets", "Secrets: read, Environments: read", read)


def _workflows(answers: Answers) -> Mapping[str, str] | Unseen:
    def read() -> Mapping[str, str]:
        found = answers.all("/actions/workflows", Workflow, within="workflows")
        return {PurePosixPath(each.path).name: each.state for each in found if each.path.startswith(".github/")}

    return answers.seen("the state of the workflows", "Actions: read", read)


_NO_SITE: Final = PagesSite(public=False)


def find_site(repository: Repository, clock: Clock) -> str | None:
    """Ask GitHub for the address of a repository's site; None if Pages is off.

    https://docs.github.com/en/rest/pages/pages#get-a-github-pages-site

    Raises:
        ReleaseError: the token may not see it: it needs "Pages: read".
        NetworkError: GitHub fails, or gives an unreadable answer.
    """
    with Calls(repository, Pace(clock), QUIET) as calls:
        return Answers(calls).one("/pages", PagesSite, absent=_NO_SITE).html_url
