"""Whether workflows run, and what they may do."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase
from typing import Final

from wheelmill.hosting.factory import FOREIGN_ACTIONS, WORKFLOWS
from wheelmill.hosting.settings import RepositorySettings, Unseen
from wheelmill.hosting.wrong import Judgement, SettingCode, api_command, wrong

_OFF_SINCE: Final = {
    "disabled_inactivity": " since there was no commit for 60 days",
    "disabled_fork": ", as in every new fork",
    "disabled_manually": "",
}
"""https://docs.github.com/en/actions/how-tos/manage-workflow-runs/disable-and-enable-workflows"""


def check_actions(settings: RepositorySettings) -> Judgement:
    """Actions are on, for more than the owner's own."""
    actions = settings.actions
    if isinstance(actions, Unseen):
        yield actions
    elif not actions.enabled:
        command = api_command(settings, "PUT", "actions/permissions", "-F enabled=true -f allowed_actions=all")
        yield wrong(SettingCode.ACTIONS_OFF, "Actions are off", command)
    elif actions.allowed_actions == "local_only":
        command = api_command(settings, "PUT", "actions/permissions", "-F enabled=true -f allowed_actions=selected")
        what = "only actions of the owner's own repositories may run"
        yield wrong(SettingCode.ACTIONS_REFUSED, what, command, _allowing(settings, ()))


def check_allowed_actions(settings: RepositorySettings) -> Judgement:
    """Where actions are selected, those of the workflows are."""
    allowed = settings.allowed
    if isinstance(allowed, Unseen):
        yield allowed
    elif allowed:
        patterns = allowed.patterns_allowed
        names = [pattern.partition("@")[0] for pattern in patterns]
        refused = [] if allowed.github_owned_allowed else ["those of GitHub itself"]
        foreign = () if settings.is_package else FOREIGN_ACTIONS
        refused += [action for action in foreign if not any(fnmatchcase(action, name) for name in names)]
        if refused:
            what = f"actions that are not allowed: {', '.join(refused)}"
            yield wrong(SettingCode.ACTIONS_REFUSED, what, _allowing(settings, patterns))


def _allowing(settings: RepositorySettings, patterns: tuple[str, ...]) -> str:
    """Allow what the workflows need and what was allowed before, as the call replaces the list."""
    wanted = dict.fromkeys((*patterns, *(f"{action}@*" for action in FOREIGN_ACTIONS)))
    fields = " ".join(f"-f {shlex.quote(f'patterns_allowed[]={pattern}')}" for pattern in wanted)
    return api_command(
        settings, "PUT", "actions/permissions/selected-actions", f"-F github_owned_allowed=true {fields}"
    )


def check_workflows(settings: RepositorySettings) -> Judgement:
    """No workflow is off."""
    if isinstance(settings.workflows, Unseen):
        yield settings.workflows
        return
    for file, loss in WORKFLOWS.items():
        since = _OFF_SINCE.get(settings.workflows.get(file, ""))
        if since is not None:
            command = f"gh workflow enable {file} --repo {settings.full_name}"
            yield wrong(SettingCode.WORKFLOW_OFF, f"{file} is off{since}: {loss}", command)


def check_token(settings: RepositorySettings) -> Judgement:
    """A job's token reads, and may open pull requests."""
    token = settings.token
    if isinstance(token, Unseen):
        yield token
        return
    opens = not settings.is_package
    fields = f"-f default_workflow_permissions=read{' -F can_approve_pull_request_reviews=true' if opens else ''}"
    command = api_command(settings, "PUT", "actions/permissions/workflow", fields)
    if token.default_workflow_permissions != "read":
        what = "the token of a job may write where its workflow does not say what it may do"
        yield wrong(SettingCode.TOKEN_WRITES, what, command)
    if opens and not token.can_approve_pull_request_reviews:
        yield wrong(SettingCode.NO_PULL_REQUESTS, "workflows may not open pull requests", command)


def check_forks(settings: RepositorySettings) -> Judgement:
    """A stranger's pull request waits for approval: it may change the workflows, and the machines that they name.

    https://docs.github.com/en/actions/how-tos/manage-workflow-runs/approve-runs-from-forks
    """
    if isinstance(settings.fork_approval, Unseen):
        yield settings.fork_approval
    if isinstance(settings.fork_approval, Unseen | None):
        return
    policy, runners = settings.fork_approval.approval_policy, settings.runners
    has_machines = bool(runners) and not isinstance(runners, Unseen)
    if policy == "first_time_contributors_new_to_github" or (has_machines and policy != "all_external_contributors"):
        whose = "whoever is not new to GitHub" if policy.endswith("github") else "whoever contributed once"
        fields = "-f approval_policy=all_external_contributors"
        command = api_command(settings, "PUT", "actions/permissions/fork-pr-contributor-approval", fields)
        machines = ", on machines of your own, too" if has_machines else ""
        yield wrong(SettingCode.FORKS_UNASKED, f"pull requests of {whose} run without approval{machines}", command)
