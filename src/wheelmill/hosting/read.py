"""Reading the settings of a repository, as far as a token may see them.

https://docs.github.com/en/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from itertools import chain
from pathlib import PurePosixPath
from urllib.parse import quote

from wheelmill.errors import RejectedError, UsageError
from wheelmill.hosting.answers import ADMINISTRATION, Answers
from wheelmill.hosting.factory import ENVIRONMENTS, NOTIFY
from wheelmill.hosting.read_rules import branch_rules, ledger_rules, tag_rules
from wheelmill.hosting.settings import (
    ORGANIZATION,
    Account,
    ActionsPolicy,
    AllowedActions,
    Description,
    Environment,
    ForkApproval,
    Immutability,
    NamePattern,
    PagesSite,
    RepositorySettings,
    SecretName,
    SelfHostedRunner,
    TokenPolicy,
    Unseen,
    Variable,
    Workflow,
)
from wheelmill.release.github import Repository
from wheelmill.release.github.api import Calls


def read_settings(repository: Repository, calls: Calls) -> RepositorySettings:
    """Read everything that is to be looked at.

    Args:
        repository: the repository that a factory runs in.
        calls: a connection to it.

    Raises:
        UsageError: there is no such repository, or the token is not valid.
        NetworkError: GitHub fails, or gives an answer that cannot be read.
    """
    answers = Answers(calls)
    description = _description(answers, repository)
    Repository.parse(description.full_name, {})  # it becomes a part of commands that people type
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
    """The branches of those environments that the factory uses and that name branches."""
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
    """Those of the repository, and of an organization where the repository has no other value."""
    places = ["/actions/variables"]
    if owner.type == ORGANIZATION:
        places.insert(0, "/actions/organization-variables")

    def read() -> Mapping[str, str]:
        found = chain.from_iterable(answers.all(path, Variable, within="variables") for path in places)
        return {each.name: each.value for each in found}

    return answers.seen("the variables", "Variables: read", read)


def _secrets(answers: Answers, environments: Mapping[str, Environment] | Unseen) -> frozenset[str] | Unseen:
    """The names of the secrets of the job that reports failures."""
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
