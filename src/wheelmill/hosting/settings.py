"""Settings and variables of a repository in the terms of GitHub's API, and the needs of the workflows.

A test compares the needs with the files in .github/workflows.

https://docs.github.com/en/rest/actions/permissions
https://docs.github.com/en/rest/pages/pages
https://docs.github.com/en/rest/deployments/environments
https://docs.github.com/en/rest/repos/repos#check-if-immutable-releases-are-enabled-for-a-repository
https://docs.github.com/en/rest/repos/rules
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal
from urllib.parse import urlsplit

from wheelmill.names import Platform
from wheelmill.release.ledger.records import date_tags

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


ORGANIZATION: Final = "Organization"
"""The type of an account that is not a person's."""


@dataclass(frozen=True)
class Unseen:
    """Setting that the token may not see."""

    what: str
    """In words: ``the variables``."""
    needs: str
    """What the token needs to see it, such as a permission."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """Owner of a repository."""

    type: str
    """`ORGANIZATION`, or ``User``."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """Facts about a repository that are visible to all its readers."""

    full_name: str
    """``OWNER/REPO`` as it is now: GitHub also answers for the names that a repository had before."""
    default_branch: str
    owner: Account
    visibility: Literal["public", "private", "internal"]
    fork: bool
    archived: bool
    has_issues: bool
    has_pages: bool


@dataclass(frozen=True, kw_only=True)
class ActionsPolicy:
    """Switch of Actions, and the policy on actions in workflows."""

    enabled: bool
    allowed_actions: Literal["all", "local_only", "selected"] = "all"
    """GitHub leaves it out where Actions are off."""


@dataclass(frozen=True, kw_only=True)
class AllowedActions:
    """Actions that may run if they are selected."""

    github_owned_allowed: bool
    patterns_allowed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TokenPolicy:
    """Default permissions of a job's token."""

    default_workflow_permissions: Literal["read", "write"]
    can_approve_pull_request_reviews: bool
    """Whether it may open pull requests: GitHub has one setting for both."""


@dataclass(frozen=True, kw_only=True)
class ForkApproval:
    """Policy on the pull requests whose workflows wait for approval by a maintainer."""

    approval_policy: Literal[
        "first_time_contributors_new_to_github", "first_time_contributors", "all_external_contributors"
    ]


@dataclass(frozen=True, kw_only=True)
class PagesSite:
    """Site that is deployed to Pages."""

    public: bool
    """Whether everybody may see it."""
    build_type: Literal["legacy", "workflow"] | None = None
    html_url: str | None = None
    """Its address, with the owner's own domain where there is one."""


@dataclass(frozen=True, kw_only=True)
class Immutability:
    """Immutability of published releases."""

    enabled: bool


@dataclass(frozen=True, kw_only=True)
class BranchPolicy:
    """Branches that may use an environment; GitHub allows one of the two."""

    protected_branches: bool
    custom_branch_policies: bool


@dataclass(frozen=True, kw_only=True)
class ProtectionRule:
    """Condition of an environment, such as ``required_reviewers`` or ``wait_timer``."""

    type: str


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Deployment environment, with rules and secrets of its own."""

    name: str
    protection_rules: tuple[ProtectionRule, ...] = ()
    deployment_branch_policy: BranchPolicy | None = None
    """None lets every branch use it."""


@dataclass(frozen=True, kw_only=True)
class NamePattern:
    """Pattern of the branches or tags that may use an environment."""

    name: str
    type: Literal["branch", "tag"] = "branch"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule for a branch or a tag, such as ``pull_request`` or ``creation``."""

    type: str


@dataclass(frozen=True, kw_only=True)
class ListedRuleset:
    """Ruleset in the list of rulesets."""

    id: int
    target: str
    """``branch``, ``tag``, ``push`` or ``repository``."""
    enforcement: str
    """``active``, ``evaluate`` or ``disabled``."""


@dataclass(frozen=True, kw_only=True)
class RefNames:
    """Patterns of references, such as ``refs/tags/v*``, or ``~ALL``."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RulesetConditions:
    """Refs that a ruleset applies to."""

    ref_name: RefNames


@dataclass(frozen=True, kw_only=True)
class Ruleset:
    """Set of rules."""

    conditions: RulesetConditions
    rules: tuple[Rule, ...]


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Part of a branch's protection that is on or off."""

    enabled: bool


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Protection of a branch, which predates rulesets and applies in addition."""

    allow_force_pushes: Switch
    allow_deletions: Switch
    required_pull_request_reviews: object = None
    """None where none are required."""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """Variable of Actions."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class SecretName:
    """Secret without its value, which cannot be read."""

    name: str


@dataclass(frozen=True, kw_only=True)
class RunnerLabel:
    """Label of a runner, which jobs ask for."""

    name: str


@dataclass(frozen=True, kw_only=True)
class SelfHostedRunner:
    """Self-hosted runner."""

    status: str
    """``online`` or ``offline``."""
    labels: tuple[RunnerLabel, ...]


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """Workflow file."""

    path: str
    state: Literal["active", "deleted", "disabled_fork", "disabled_inactivity", "disabled_manually"]


@dataclass(frozen=True, kw_only=True)
class RepositorySettings:
    """All settings that are checked."""

    settings_url: str
    """The page on which a person changes them."""
    description: Description
    actions: ActionsPolicy | Unseen
    allowed: AllowedActions | Unseen | None
    """None where all actions are allowed, or none."""
    token: TokenPolicy | Unseen
    fork_approval: ForkApproval | Unseen | None
    """None where nobody from outside may fork it."""
    pages: PagesSite | Unseen | None
    """None where there is no site."""
    immutable: bool | Unseen
    """Whether releases cannot be changed once they are published."""
    environments: Mapping[str, Environment] | Unseen
    branches: Mapping[str, tuple[NamePattern, ...]] | Unseen
    """The branches that may use each environment that names them."""
    rules: frozenset[str] | Unseen
    """The types of the rules for the default branch."""
    ledger_rules: frozenset[str] | Unseen
    """The types of the rules for the branch of the ledger."""
    tag_rules: frozenset[str] | Unseen
    """The types of the rules for the tags of releases."""
    variables: Mapping[str, str] | Unseen
    secrets: frozenset[str] | Unseen
    """The names of the secrets of the job that reports failures."""
    runners: tuple[SelfHostedRunner, ...] | Unseen
    workflows: Mapping[str, str] | Unseen
    """The state of each, by the name of its file."""

    @property
    def full_name(self) -> str:
        """Repository name, as ``OWNER/REPO``."""
        return self.description.full_name

    @property
    def is_package(self) -> bool:
        """True for a package's own repository, which has one workflow and calls a factory's."""
        return not isinstance(self.workflows, Unseen) and CALLER in self.workflows and CALLED not in self.workflows


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
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def labels_of(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the labels of each entry of WHEELMILL_RUNNERS.

    The JSON object has, by project and platform, a label or a list of labels that one machine must have.
    """
    for platforms in _object(json.loads(text)).values():
        for platform, asked in _object(platforms).items():
            Platform.parse(platform)
            labels = [asked] if isinstance(asked, str) else asked
            if (
                not isinstance(labels, list)
                or not labels
                or not all(isinstance(label, str) and label for label in labels)
            ):
                raise ValueError(f"expected a label or a list of labels, not {asked!r}")
            yield tuple(labels)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, not {value!r}")  # noqa: TRY004 - its text is wrong
    return value


def _are_runners(text: str) -> bool:
    try:
        return bool(list(labels_of(text)))
    except (ValueError, RecursionError):  # unclosed nested brackets
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
