"""Rules for the settings of a factory's repository.

Workflows run with no more rights than they need; only maintainers change the default branch, while jobs write the
ledger's branch and make tags; jobs can deploy and publish; the secrets and machines that variables name exist.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import wraps
from itertools import chain
from typing import Final, Self
from urllib.parse import quote

from wheelmill.errors import RejectedError
from wheelmill.hosting import settings as needs
from wheelmill.hosting.read import ADMINISTRATION, JsonObject, Settings
from wheelmill.hosting.settings import Unseen
from wheelmill.release.github.store import BRANCH


class SettingCode(StrEnum):
    """Kinds of wrong settings; the values are in the JSON output."""

    why: str
    """Consequence for the factory."""

    def __new__(cls, value: str, why: str) -> Self:
        """Make a code with its consequence."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.why = why
        return code

    PRIVATE = "private", "pip has no token: manifests and wheels are read from the download pages without one"
    ARCHIVED = "archived", "nothing can be released: an archived repository takes no changes"
    ISSUES_OFF = "issues-off", "no package can be requested: the form for requests is an issue"
    ACTIONS_OFF = "actions-off", "no workflow runs"
    ACTIONS_REFUSED = "actions-refused", "a run ends before its first job where one of its actions is not allowed"
    WORKFLOW_OFF = "workflow-off", "nothing starts a workflow that is off, not even a dispatch"
    TOKEN_WRITES = "token-writes", "a job whose workflow says nothing could change the repository"
    NO_PULL_REQUESTS = "no-pull-requests", "upstream.yml cannot open the pull request with new versions"
    FORKS_UNASKED = "forks-unasked", "a pull request may change the workflows: it runs what it likes where it likes"
    PAGES_SOURCE = "pages-source", "the index is built, and its deployment fails"
    ENVIRONMENT_OPEN = "environment-open", "a workflow on any branch could deploy, or read the environment's secrets"
    ENVIRONMENT_CLOSED = "environment-closed", "jobs that deploy are refused: their branch or tag may not use it"
    RELEASES_MUTABLE = "releases-mutable", "what was published and attested could be changed"
    BRANCH_OPEN = (
        "branch-open",
        "one person with push access decides alone, and without a trace, what is built and released",
    )
    LEDGER_CLOSED = "ledger-closed", "runs cannot write what they released, claimed or saw fail"
    TAGS_CLOSED = "tags-closed", "no release can be published: publishing makes its tag"
    VARIABLE_UNKNOWN = "variable-unknown", "nothing reads it, so what it was meant to change stays as it is"
    VARIABLE_VALUE = "variable-value", "workflows read something else in it than was meant, or end with an error"
    SECRET_MISSING = "secret-missing", "failed runs send no notification"
    RUNNER_MISSING = "runner-missing", "its jobs wait for a day and are then cancelled"


@dataclass(frozen=True)
class WrongSetting:
    """Setting that stops the factory, or gives others its permissions."""

    code: SettingCode
    what: str
    """Setting and its value."""
    remedy: tuple[str, ...]
    """Commands in their order, or the page to change it on."""


Judgement = Iterator[WrongSetting | Unseen]
"""Findings of a rule, and settings that it could not see."""


def finding(code: SettingCode, what: str, *remedy: str) -> WrongSetting:
    """Make a finding from the parts of a `WrongSetting`."""
    return WrongSetting(code, what, remedy)


Rule = Callable[[Settings], Judgement]
_METADATA: Final = "Metadata: read"


def _reads(what: str, permission: str) -> Callable[[Rule], Rule]:
    """Make a rule yield `Unseen` if GitHub refuses its request."""

    def decorate(rule: Rule) -> Rule:
        @wraps(rule)
        def judge(settings: Settings) -> Judgement:
            try:
                yield from rule(settings)
            except RejectedError:
                yield Unseen(what, permission)

        return judge

    return decorate


def api_command(settings: Settings, method: str, path: str, fields: str = "") -> str:
    """Return the ``gh api`` command for a setting at a path below the repository; `fields` are its options."""
    return f"gh api --method {method} repos/{settings.full_name}/{path} {fields}".rstrip()


_OFF_SINCE: Final = {
    "disabled_inactivity": " since there was no commit for 60 days",
    "disabled_fork": ", as in every new fork",
    "disabled_manually": "",
}
"""https://docs.github.com/en/actions/how-tos/manage-workflow-runs/disable-and-enable-workflows"""


@_reads("whether Actions may run", ADMINISTRATION)
def check_actions(settings: Settings) -> Judgement:
    """Check that Actions are on, for more than the owner's own.

    https://docs.github.com/en/rest/actions/permissions
    """
    actions = settings.one("/actions/permissions")
    # GitHub leaves the policy out where Actions are off.
    allowed = actions.word("allowed_actions", "all", "local_only", "selected", absent="all")
    if not actions.value("enabled", bool):
        command = api_command(settings, "PUT", "actions/permissions", "-F enabled=true -f allowed_actions=all")
        yield finding(SettingCode.ACTIONS_OFF, "Actions are off", command)
    elif allowed == "local_only":
        command = api_command(settings, "PUT", "actions/permissions", "-F enabled=true -f allowed_actions=selected")
        what = "only actions of the owner's own repositories may run"
        yield finding(SettingCode.ACTIONS_REFUSED, what, command, _allowing(settings, ()))
    if allowed == "selected":
        yield from _check_selected_actions(settings)


@_reads("which actions are allowed", ADMINISTRATION)
def _check_selected_actions(settings: Settings) -> Judgement:
    selected = settings.one("/actions/permissions/selected-actions")
    patterns = selected.value("patterns_allowed", list[str])
    names = [pattern.partition("@")[0] for pattern in patterns]
    refused = [] if selected.value("github_owned_allowed", bool) else ["those of GitHub itself"]
    refused += [action for action in _foreign_actions(settings) if not any(fnmatchcase(action, name) for name in names)]
    if refused:
        what = f"actions that are not allowed: {', '.join(refused)}"
        yield finding(SettingCode.ACTIONS_REFUSED, what, _allowing(settings, patterns))


def _foreign_actions(settings: Settings) -> tuple[str, ...]:
    """Actions of the repository's workflows that are not GitHub's own."""
    publishes = not isinstance(settings.environments, Unseen) and needs.PACKAGE_INDEX in settings.environments
    return (*(() if settings.is_package else needs.FOREIGN_ACTIONS), *([needs.PUBLISHING_ACTION] if publishes else []))


def _allowing(settings: Settings, patterns: Iterable[str]) -> str:
    """Allow the required actions and those allowed before, as the call replaces the list."""
    wanted = dict.fromkeys((*patterns, *(f"{action}@*" for action in _foreign_actions(settings))))
    fields = " ".join(f"-f {shlex.quote(f'patterns_allowed[]={pattern}')}" for pattern in wanted)
    fields = f"-F github_owned_allowed=true {fields}"
    return api_command(settings, "PUT", "actions/permissions/selected-actions", fields)


def check_workflows(settings: Settings) -> Judgement:
    """Check that no workflow is off."""
    workflows = settings.workflows
    if isinstance(workflows, Unseen):
        yield workflows
        return
    for file, loss in needs.WORKFLOWS.items():
        since = _OFF_SINCE.get(workflows.get(file, ""))
        if since is not None:
            command = f"gh workflow enable {file} --repo {settings.full_name}"
            yield finding(SettingCode.WORKFLOW_OFF, f"{file} is off{since}: {loss}", command)


def check_token(settings: Settings) -> Judgement:
    """Check that a job's token is read-only, and may open pull requests."""
    token = settings.token
    if isinstance(token, Unseen):
        yield token
        return
    opens = not settings.is_package
    fields = f"-f default_workflow_permissions=read{' -F can_approve_pull_request_reviews=true' if opens else ''}"
    command = api_command(settings, "PUT", "actions/permissions/workflow", fields)
    if token.word("default_workflow_permissions", "read", "write") != "read":
        what = "the token of a job may write where its workflow does not say what it may do"
        yield finding(SettingCode.TOKEN_WRITES, what, command)
    # GitHub has one setting for opening and approving pull requests.
    if not token.value("can_approve_pull_request_reviews", bool) and opens:
        yield finding(SettingCode.NO_PULL_REQUESTS, "workflows may not open pull requests", command)


_APPROVALS: Final = ("first_time_contributors_new_to_github", "first_time_contributors", "all_external_contributors")
"""The pull requests that wait for approval, fewest first."""


@_reads("whose pull requests wait for approval", ADMINISTRATION)
def check_forks(settings: Settings) -> Judgement:
    """Check that pull requests from strangers wait for approval: they may change the workflows and their machines.

    https://docs.github.com/en/actions/how-tos/manage-workflow-runs/approve-runs-from-forks
    """
    if _visibility(settings) != "public":  # strangers cannot fork it
        return
    policy = settings.one("/actions/permissions/fork-pr-contributor-approval").word("approval_policy", *_APPROVALS)
    has_machines = bool(settings.runners) and not isinstance(settings.runners, Unseen)
    if policy == _APPROVALS[0] or (has_machines and policy != _APPROVALS[-1]):
        whose = "users who are not new to GitHub" if policy.endswith("github") else "earlier contributors"
        fields = "-f approval_policy=all_external_contributors"
        command = api_command(settings, "PUT", "actions/permissions/fork-pr-contributor-approval", fields)
        machines = ", on machines of your own, too" if has_machines else ""
        yield finding(SettingCode.FORKS_UNASKED, f"pull requests of {whose} run without approval{machines}", command)


_NEEDED: Final = {
    "pull_request": "pushed to without a pull request",
    "non_fast_forward": "pushed to by force",
    "deletion": "deleted",
}
"""Required rules of the default branch, with the changes that each one prevents."""
_STOPS_JOBS: Final = frozenset(
    {"pull_request", "creation", "update", "required_status_checks", "required_deployments", "merge_queue", "workflows"}
)
"""Rules that the token of a job cannot keep when it writes to a branch."""


def check_default_branch(settings: Settings) -> Judgement:
    """Check that the default branch changes only by pull requests."""
    try:
        rules = _rules_for(settings, settings.branch) | _protection_of(settings, settings.branch)
    except RejectedError:
        yield Unseen(f"the protection of the branch {settings.branch}", ADMINISTRATION)
        return
    if missing := [rule for rule in _NEEDED if rule not in rules]:
        what = f"the branch {settings.branch} can be {' and '.join(map(_NEEDED.__getitem__, missing))}"
        yield finding(SettingCode.BRANCH_OPEN, what, _protecting(settings, missing))


def _rules_for(settings: Settings, branch: str) -> set[str]:
    return {rule.value("type", str) for rule in settings.all(f"/rules/branches/{quote(branch, safe='')}")}


def _protection_of(settings: Settings, branch: str) -> set[str]:
    """Read the protection of a branch, which predates rulesets and applies in addition, as types of rules."""
    none = {"allow_force_pushes": {"enabled": True}, "allow_deletions": {"enabled": True}}
    path = f"/branches/{quote(branch, safe='')}/protection"
    protection = settings.one(path, absent=none if settings.administers else None)
    rules = {
        "pull_request": protection.optional("required_pull_request_reviews", dict) is not None,
        "non_fast_forward": not protection.part("allow_force_pushes").value("enabled", bool),
        "deletion": not protection.part("allow_deletions").value("enabled", bool),
    }
    return {rule for rule, holds in rules.items() if holds}


def _protecting(settings: Settings, missing: Sequence[str]) -> str:
    """Make a ruleset of the missing rules. It requires no approvals: authors cannot approve their own pull requests."""
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


@_reads(f"the rules for the branch {BRANCH}", _METADATA)
def check_ledger(settings: Settings) -> Judgement:
    """Check that jobs may write to the ledger's branch."""
    if stopping := sorted(_rules_for(settings, BRANCH) & _STOPS_JOBS):
        what = f"rules keep workflows from writing to the branch {BRANCH}: {', '.join(stopping)}"
        yield finding(SettingCode.LEDGER_CLOSED, what, f"{settings.url}/rules")


@_reads("the rules for tags", _METADATA)
def check_tags(settings: Settings) -> Judgement:
    """Check that jobs may make the tags of releases. Immutable releases protect them from deletion and moves.

    Unlike for a branch, no single call returns the rules: https://docs.github.com/en/rest/repos/rules
    """
    listed = [
        ruleset.value("id", int)
        for ruleset in settings.all("/rulesets")
        if ruleset.value("target", str) == "tag" and ruleset.value("enforcement", str) == "active"
    ]
    rulesets = [settings.one(f"/rulesets/{number}") for number in listed]
    rules = chain.from_iterable(each.parts("rules") for each in rulesets if _is_for_releases(each))
    if "creation" in {rule.value("type", str) for rule in rules}:
        what = f"rules keep workflows from making tags such as {needs.TAG}"
        yield finding(SettingCode.TAGS_CLOSED, what, f"{settings.url}/rules")


def _is_for_releases(ruleset: JsonObject) -> bool:
    names, tag = ruleset.part("conditions").part("ref_name"), f"refs/tags/{needs.TAG}"

    def names_them(patterns: list[str]) -> bool:
        # In GitHub's patterns a '**/' also stands for no folder.
        return "~ALL" in patterns or any(fnmatchcase(tag, each.replace("**/", "*")) for each in patterns)

    return names_them(names.value("include", list[str])) and not names_them(names.value("exclude", list[str]))


def _visibility(settings: Settings) -> str:
    return settings.description.word("visibility", "public", "private", "internal")


def check_repository(settings: Settings) -> Judgement:
    """Check that the public may read the repository and ask for packages, and that jobs may write to it."""
    name, description = settings.full_name, settings.description
    if (visibility := _visibility(settings)) != "public":
        command = f"gh repo edit {name} --visibility public --accept-visibility-change-consequences"
        yield finding(SettingCode.PRIVATE, f"the repository is {visibility}", command)
    if description.value("archived", bool):
        yield finding(SettingCode.ARCHIVED, "the repository is archived", f"gh repo unarchive {name}")
    if not description.value("has_issues", bool) and not settings.is_package:
        what = f"issues are off{', as in every new fork' if description.value('fork', bool) else ''}"
        yield finding(SettingCode.ISSUES_OFF, what, f"gh repo edit {name} --enable-issues")


@_reads("the source of Pages", "Pages: read")
def check_pages(settings: Settings) -> Judgement:
    """Check that a workflow deploys the site (https://docs.github.com/en/rest/pages/pages)."""
    if not settings.has_pages:
        command = api_command(settings, "POST", "pages", "-f build_type=workflow")
        yield finding(SettingCode.PAGES_SOURCE, "Pages is off", command)
        return
    pages = settings.one("/pages")
    pages.value("public", bool)  # every answer about a site has it
    if pages.word("build_type", "legacy", "workflow", absent="legacy") != "workflow":
        command = api_command(settings, "PUT", "pages", "-f build_type=workflow")
        yield finding(SettingCode.PAGES_SOURCE, "Pages shows a branch, not what a workflow deploys", command)


def check_environments(settings: Settings) -> Judgement:
    """Check that only the deploying branch or tags may use the environments."""
    environments = settings.environments
    if isinstance(environments, Unseen):
        yield environments
        return
    for name in needs.ENVIRONMENTS:
        if environment := environments.get(name):
            yield from _check_environment(settings, name, environment)
        elif _is_used(settings, name):
            what = f"there is no environment {name}: the first job makes one that every branch may use"
            yield finding(SettingCode.ENVIRONMENT_OPEN, what, *_closing(settings, name))


def _is_used(settings: Settings, environment: str) -> bool:
    """True if a job uses an environment; GitHub makes the one of Pages together with the site."""
    if environment == needs.PAGES:
        return settings.has_pages
    return environment != needs.NOTIFY or settings.variable(needs.NOTIFIES) == "true"


def _check_environment(settings: Settings, name: str, environment: JsonObject) -> Judgement:
    if environment.optional("deployment_branch_policy", dict) is None:
        # The command would remove reviewers and timers.
        rules = environment.parts("protection_rules") if "protection_rules" in environment.values else []
        kept = any(rule.value("type", str) != "branch_policy" for rule in rules)
        remedy = (f"{settings.url}/environments",) if kept else _closing(settings, name)
        yield finding(SettingCode.ENVIRONMENT_OPEN, f"every branch may use the environment {name}", *remedy)
        return
    kind, source = _source_of(settings)
    refused = f"the {kind} {source} may not use the environment {name}"
    if not environment.part("deployment_branch_policy").value("custom_branch_policies", bool):
        if kind == "tag":  # only protected branches may use it
            yield finding(SettingCode.ENVIRONMENT_CLOSED, refused, *_closing(settings, name))
        return
    path = f"/environments/{quote(name, safe='')}/deployment-branch-policies"
    try:
        patterns = settings.all(path, within="branch_policies")
    except RejectedError:
        yield Unseen("the branches of the environments", "Actions: read")
        return
    if not any(_admits(pattern, kind, source) for pattern in patterns):
        yield finding(SettingCode.ENVIRONMENT_CLOSED, refused, _admitting(settings, name))


def _source_of(settings: Settings) -> tuple[str, str]:
    """Return the deploying refs: the default branch of a factory; for a package that calls its workflow, tags."""
    return ("tag", "v*") if settings.is_package else ("branch", settings.branch)


def _admits(pattern: JsonObject, kind: str, source: str) -> bool:
    is_kind = pattern.word("type", "branch", "tag", absent="branch") == kind
    return is_kind and fnmatchcase(source.replace("*", "1"), pattern.value("name", str))


def _closing(settings: Settings, environment: str) -> tuple[str, ...]:
    """Make an environment that only the deploying branch or tags may use."""
    policy = "deployment_branch_policy"
    fields = f"-F '{policy}[protected_branches]=false' -F '{policy}[custom_branch_policies]=true'"
    return api_command(settings, "PUT", f"environments/{environment}", fields), _admitting(settings, environment)


def _admitting(settings: Settings, environment: str) -> str:
    kind, source = _source_of(settings)
    fields = f"-f {shlex.quote(f'name={source}')} -f type={kind}"
    return api_command(settings, "POST", f"environments/{environment}/deployment-branch-policies", fields)


@_reads("whether releases are immutable", ADMINISTRATION)
def check_releases(settings: Settings) -> Judgement:
    """Check that published releases are immutable.

    https://docs.github.com/en/rest/repos/repos#check-if-immutable-releases-are-enabled-for-a-repository
    """
    own = f"github:{settings.full_name}"
    if settings.variable(needs.STORE, own).casefold() != own.casefold():
        return
    absent = {"enabled": False} if settings.administers else None
    if not settings.one("/immutable-releases", absent=absent).value("enabled", bool):
        command = api_command(settings, "PUT", "immutable-releases")
        yield finding(SettingCode.RELEASES_MUTABLE, "published releases can be changed", command)


def check_variables(settings: Settings) -> Judgement:
    """Check that workflows read every variable meant for them, and accept its value."""
    variables = settings.variables
    if isinstance(variables, Unseen):
        yield variables
        return
    for name, value in sorted(variables.items()):
        values = needs.VARIABLES.get(name)
        if values and not values.fits(value):
            what = f"{name} is {value!r}; expected {values.expected}"
            yield finding(SettingCode.VARIABLE_VALUE, what, f"gh variable set {name} --repo {settings.full_name}")
        elif not values and name.startswith(needs.PREFIX):
            command = f"gh variable delete {shlex.quote(name)} --repo {settings.full_name}"
            yield finding(SettingCode.VARIABLE_UNKNOWN, f"no workflow reads the variable {name}", command)


@_reads("the names of the secrets", "Secrets: read, Environments: read")
def check_webhook(settings: Settings) -> Judgement:
    """Check that the webhook for failures is set if notifications are on."""
    if settings.variable(needs.NOTIFIES) != "true":
        return
    environments, places = settings.environments, ["/actions/secrets"]
    if isinstance(environments, Unseen) or needs.NOTIFY in environments:
        places.append(f"/environments/{needs.NOTIFY}/secrets")
    secrets = chain.from_iterable(settings.all(path, within="secrets") for path in places)
    if needs.WEBHOOK not in {secret.value("name", str) for secret in secrets}:
        what = f"{needs.NOTIFIES} is true, and there is no secret {needs.WEBHOOK}"
        command = f"gh secret set {needs.WEBHOOK} --env {needs.NOTIFY} --repo {settings.full_name}"
        yield finding(SettingCode.SECRET_MISSING, what, command)


def check_runners(settings: Settings) -> Judgement:
    """Check that a machine has the labels that jobs will ask for."""
    if isinstance(settings.variables, Unseen):
        return
    page = f"{settings.url}/actions/runners"
    for asked in needs.labels_asked_for(settings.variables):
        if isinstance(settings.runners, Unseen):
            yield settings.runners
            continue
        wanted = {label.casefold() for label in asked}
        states = {
            runner.value("status", str)
            for runner in settings.runners
            if wanted <= {label.value("name", str).casefold() for label in runner.parts("labels")}
        }
        text = " and ".join(asked)
        if not states and settings.is_of_organization:
            yield Unseen(f"whether a machine has the label {text}", f"a look at {page}, which shows the organization's")
        elif "online" not in states:
            what = f"no machine with the label {text} is {'online' if states else 'there'}"
            yield finding(SettingCode.RUNNER_MISSING, what, page)


_RULES: Final[tuple[Rule, ...]] = (
    check_repository,
    check_actions,
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


def examine(settings: Settings) -> tuple[WrongSetting | Unseen, ...]:
    """Apply every rule, and report each fault once."""
    return tuple(dict.fromkeys(chain.from_iterable(rule(settings) for rule in _RULES)))
