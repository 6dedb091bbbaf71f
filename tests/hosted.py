"""A repository of a factory whose settings are right, as answers of GitHub's API, and twelve ways to set it wrong."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.github_server import REPOSITORY, TOKEN, Answer, Call, GitHub, serving

BELOW = f"/repos/{REPOSITORY}"
ADMINISTRATION = (
    *("/actions/permissions", "/actions/permissions/workflow", "/actions/permissions/fork-pr-contributor-approval"),
    *("/actions/runners", "/immutable-releases", "/branches/main/protection"),
)
"""What only an administrator's token sees."""

_MAIN_ALONE = {"protected_branches": False, "custom_branch_policies": True}


def _environment(name: str) -> dict[str, Any]:
    return {"name": name, "protection_rules": [{"type": "branch_policy"}], "deployment_branch_policy": _MAIN_ALONE}


def _listed(key: str, *entries: Any) -> dict[str, Any]:
    return {"total_count": len(entries), key: list(entries)}


_ENVIRONMENTS = ("github-pages", "release", "notify")
_WORKFLOWS = (
    *("wheels", "wheels-shard", "wheels-group", "index", "schedule", "request", "request-comment", "downloads"),
    *("upstream", "ci"),
)

RIGHT: Mapping[str, Any] = {
    "": {
        "full_name": REPOSITORY,
        "default_branch": "main",
        "owner": {"login": "octo", "type": "User"},
        "visibility": "public",
        "fork": False,
        "archived": False,
        "has_issues": True,
        "has_pages": True,
    },
    "/actions/permissions": {"enabled": True, "allowed_actions": "selected"},
    "/actions/permissions/selected-actions": {
        "github_owned_allowed": True,
        "verified_allowed": False,
        "patterns_allowed": ["peter-evans/*"],
    },
    "/actions/permissions/workflow": {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": True},
    "/actions/permissions/fork-pr-contributor-approval": {"approval_policy": "all_external_contributors"},
    "/pages": {"public": True, "build_type": "workflow", "status": "built"},
    "/environments": _listed("environments", *map(_environment, _ENVIRONMENTS)),
    **{
        f"/environments/{name}/deployment-branch-policies": _listed(
            "branch_policies", {"name": "main", "type": "branch"}
        )
        for name in _ENVIRONMENTS
    },
    "/actions/secrets": _listed("secrets"),
    "/environments/notify/secrets": _listed("secrets", {"name": "WHEELMILL_WEBHOOK"}),
    "/immutable-releases": {"enabled": True, "enforced_by_owner": False},
    "/rules/branches/main": [{"type": "deletion"}, {"type": "non_fast_forward"}],
    "/rules/branches/ledger": [],
    "/rulesets": [
        {"id": 1, "name": "branches", "target": "branch", "source": REPOSITORY, "enforcement": "active"},
        {"id": 2, "name": "tags", "target": "tag", "source": REPOSITORY, "enforcement": "active"},
    ],
    "/rulesets/2": {
        "id": 2,
        "name": "tags",
        "target": "tag",
        "source": REPOSITORY,
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~ALL"], "exclude": []}},
        "rules": [{"type": "deletion"}, {"type": "update"}],
    },
    "/branches/main/protection": {
        "required_pull_request_reviews": {"required_approving_review_count": 1},
        "allow_force_pushes": {"enabled": True},
        "allow_deletions": {"enabled": True},
    },
    "/actions/variables": _listed(
        "variables",
        {"name": "WHEELMILL_NOTIFY", "value": "true"},
        {"name": "WHEELMILL_RUNNERS", "value": '{"natten": {"linux_x86_64": ["self-hosted", "Big"]}}'},
        {"name": "OTHERS", "value": "are theirs"},
    ),
    "/actions/runners": _listed(
        "runners", {"status": "online", "labels": [{"name": "self-hosted"}, {"name": "big"}, {"name": "X64"}]}
    ),
    "/actions/workflows": _listed(
        "workflows", *({"path": f".github/workflows/{name}.yml", "state": "active"} for name in _WORKFLOWS)
    ),
}
"""Answers by path below the repository."""


LARGEST_PAGE = {"/actions/variables": 30, "/actions/organization-variables": 30}
"""Entries, as GitHub's description of its API has them, where that is not 100."""


def _set(path: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda answers: answers[path].update(values)


def _off(answers: dict[str, Any]) -> None:
    answers["/actions/workflows"]["workflows"][0]["state"] = "disabled_inactivity"


def _open(answers: dict[str, Any]) -> None:
    answers["/environments"]["environments"][0].update(deployment_branch_policy=None, protection_rules=[])


def _closed(answers: dict[str, Any]) -> None:
    answers["/environments/notify/deployment-branch-policies"]["branch_policies"][0]["name"] = "release/*"


def _unprotected(answers: dict[str, Any]) -> None:
    answers["/rules/branches/main"].clear()
    del answers["/branches/main/protection"]


def _misspelt(answers: dict[str, Any]) -> None:
    answers["/actions/variables"]["variables"][2]["name"] = "WHEELMILL_SANDBOXES"


def _no_machine(answers: dict[str, Any]) -> None:
    answers["/actions/runners"]["runners"][0]["status"] = "offline"


WRONG: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "issues-off": _set("", has_issues=False),
    "actions-refused": _set("/actions/permissions/selected-actions", patterns_allowed=["docker/*"]),
    "workflow-off": _off,
    "token-writes": _set("/actions/permissions/workflow", default_workflow_permissions="write"),
    "no-pull-requests": _set("/actions/permissions/workflow", can_approve_pull_request_reviews=False),
    "pages-source": _set("/pages", build_type="legacy"),
    "environment-open": _open,
    "environment-closed": _closed,
    "releases-mutable": lambda answers: answers.pop("/immutable-releases"),
    "branch-open": _unprotected,
    "variable-unknown": _misspelt,
    "runner-missing": _no_machine,
}
"""Twelve wrong settings that can be there at once, each by the code of its finding."""


@dataclass
class Hosted:
    """The repository, on a server that may be changed while it runs."""

    answers: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(dict(RIGHT)))
    hidden: set[str] = field(default_factory=set)
    """Paths that the token may not see, for which GitHub answers 403."""
    instead: dict[str, Answer] = field(default_factory=dict)
    """Whole answers, by path."""
    github: GitHub = field(default_factory=GitHub)

    def answer(self, call: Call) -> Answer:
        path = call.path.removeprefix(BELOW)
        if path in self.instead:
            return self.instead[path]
        if path in self.hidden:
            return 403, {}, {"message": "Resource not accessible by personal access token"}
        if path in self.answers:
            return self._page(call, path)
        return 404, {}, {"message": "Not Found"}

    def _page(self, call: Call, path: str) -> Answer:
        """A page of a list with a link to the next one, or what is no list."""
        content = self.answers[path]
        within = path.rpartition("/")[2].replace("deployment-", "").replace("-", "_")
        within = within.removeprefix("organization_")
        entries = content if isinstance(content, list) else content.get(within) if isinstance(content, dict) else None
        if not isinstance(entries, list):
            return 200, {}, content
        size = min(int(call.query.get("per_page", 30)), LARGEST_PAGE.get(path, 100))
        page = int(call.query.get("page", 1))
        shown = entries[(page - 1) * size : page * size]
        api = self.github.environment["GITHUB_API_URL"]
        following = f'<{api}{call.path}?per_page={size}&page={page + 1}>; rel="next"'
        headers = {"Link": following} if page * size < len(entries) else {}
        return 200, headers, shown if isinstance(content, list) else {**content, within: shown}

    @property
    def environment(self) -> dict[str, str]:
        """The variables of somebody with an administrator's token."""
        return {**self.github.environment, "GITHUB_TOKEN": TOKEN}


@contextmanager
def hosted() -> Iterator[Hosted]:
    """Serve a repository whose settings are right while the context is open."""
    state = Hosted()
    state.github.always = state.answer
    with serving(state.github):
        yield state
