"""Each wrong setting has a finding of its own, with the command that mends it."""

import json
import shlex
from typing import Any

import pytest

from tests.github_server import REPOSITORY
from tests.hosted import WRONG, Hosted
from tests.refusals import coded
from tests.unit.hosting.conftest import Check
from wheelmill.errors import UsageError
from wheelmill.hosting.rules import WrongSetting
from wheelmill.hosting.settings import Unseen


def codes(examined: Check) -> list[str]:
    return [each.code.value if isinstance(each, WrongSetting) else f"not seen: {each.what}" for each in examined()]


def test_right_settings_have_no_findings(examined: Check) -> None:
    assert examined() == ()


@pytest.mark.parametrize("code", WRONG)
def test_one_wrong_setting_is_one_finding(told: Hosted, examined: Check, code: str) -> None:
    WRONG[code](told.answers)
    assert codes(examined) == [code]


def test_twelve_wrong_settings_are_twelve_findings(told: Hosted, examined: Check) -> None:
    for change in WRONG.values():
        change(told.answers)
    assert sorted(codes(examined)) == sorted(WRONG)


def only(examined: Check) -> WrongSetting:
    (finding,) = examined()
    assert isinstance(finding, WrongSetting)
    return finding


def variable(told: Hosted, name: str, value: str) -> None:
    told.answers["/actions/variables"]["variables"] = [{"name": name, "value": value}]


@pytest.mark.parametrize(
    ("path", "values", "what", "remedy"),
    [
        ("", {"visibility": "private"}, "the repository is private", "gh repo edit octo/wheels --visibility public"),
        ("", {"archived": True}, "the repository is archived", "gh repo unarchive octo/wheels"),
        (
            "",
            {"has_pages": False},
            "Pages is off",
            "gh api --method POST repos/octo/wheels/pages -f build_type=workflow",
        ),
        ("/actions/permissions", {"enabled": False, "allowed_actions": "all"}, "Actions are off", "-F enabled=true"),
        ("/actions/permissions", {"allowed_actions": "local_only"}, "only actions of the owner's own", "=selected"),
        ("/immutable-releases", {"enabled": False}, "published releases can be changed", "/immutable-releases"),
    ],
)
def test_more_that_can_be_wrong(  # noqa: PLR0917 - one for each column
    told: Hosted, examined: Check, path: str, values: dict[str, Any], what: str, remedy: str
) -> None:
    told.answers[path].update(values)
    found = only(examined)
    assert what in found.what
    assert remedy in found.remedy[0]


def test_a_new_fork_has_issues_and_workflows_off(told: Hosted, examined: Check) -> None:
    told.answers[""].update(fork=True, has_issues=False)
    for workflow in told.answers["/actions/workflows"]["workflows"]:
        workflow["state"] = "disabled_fork"
    found = [each for each in examined() if isinstance(each, WrongSetting)]
    assert all("as in every new fork" in each.what for each in found)
    assert found[0].code == "issues-off"
    assert found[1].remedy == (f"gh workflow enable wheels.yml --repo {REPOSITORY}",)
    assert len(found) == 1 + len(told.answers["/actions/workflows"]["workflows"])


def test_allowing_actions_keeps_those_that_were_allowed(told: Hosted, examined: Check) -> None:
    WRONG["actions-refused"](told.answers)
    words = shlex.split(only(examined).remedy[0])
    assert [word for word in words if word.startswith("patterns")] == [
        "patterns_allowed[]=docker/*",
        "patterns_allowed[]=peter-evans/create-pull-request@*",
    ]


def test_where_wheelmill_is_published_the_action_that_does_it_must_be_allowed(told: Hosted, examined: Check) -> None:
    environments = told.answers["/environments"]["environments"]
    environments.append(environments[0] | {"name": "package-index"})
    finding = only(examined)
    assert finding.what == "actions that are not allowed: pypa/gh-action-pypi-publish"
    assert "'patterns_allowed[]=pypa/gh-action-pypi-publish@*'" in finding.remedy[0]
    told.answers["/actions/permissions/selected-actions"]["patterns_allowed"].append("pypa/*")
    assert examined() == ()


def test_an_environment_with_reviewers_is_changed_by_hand(told: Hosted, examined: Check) -> None:
    (environment, *_) = told.answers["/environments"]["environments"]
    environment.update(deployment_branch_policy=None, protection_rules=[{"type": "required_reviewers"}])
    assert only(examined).remedy == (f"https://github.com/{REPOSITORY}/settings/environments",)


def test_protected_branches_alone_may_deploy_too(told: Hosted, examined: Check) -> None:
    policy = {"protected_branches": True, "custom_branch_policies": False}
    told.answers["/environments"]["environments"][0]["deployment_branch_policy"] = policy
    assert examined() == ()


def test_a_package_that_calls_our_workflow_deploys_from_its_tags(told: Hosted, examined: Check) -> None:
    told.answers["/actions/workflows"]["workflows"] = [{"path": ".github/workflows/wheels.yml", "state": "active"}]
    place = f"repos/{REPOSITORY}/environments/github-pages/deployment-branch-policies"
    found = [each for each in examined() if isinstance(each, WrongSetting)]
    assert {each.code.value for each in found} == {"environment-closed"}
    assert found[0].remedy == (f"gh api --method POST {place} -f 'name=v*' -f type=tag",)
    for path in [path for path in told.answers if path.endswith("/deployment-branch-policies")]:
        told.answers[path]["branch_policies"].append({"name": "v*", "type": "tag"})
    assert examined() == ()
    policy = {"protected_branches": True, "custom_branch_policies": False}
    told.answers["/environments"]["environments"][0]["deployment_branch_policy"] = policy
    assert only(examined).what == "the tag v* may not use the environment github-pages"


def test_an_environment_that_no_job_uses_need_not_be_there(told: Hosted, examined: Check) -> None:
    told.answers["/environments"]["environments"].pop()
    variable(told, "WHEELMILL_NOTIFY", "false")
    assert examined() == ()
    variable(told, "WHEELMILL_NOTIFY", "true")
    assert codes(examined) == ["environment-open", "secret-missing"]


def test_the_ruleset_of_a_branch_adds_what_is_missing_but_no_reviewer(told: Hosted, examined: Check) -> None:
    told.answers["/rules/branches/main"] = [{"type": "deletion"}]
    told.answers["/branches/main/protection"] = {
        "allow_force_pushes": {"enabled": False},
        "allow_deletions": {"enabled": True},
    }
    found = only(examined)
    assert found.what == "the branch main can be pushed to without a pull request"
    ruleset = json.loads(shlex.split(found.remedy[0])[1])
    ((rule),) = ruleset["rules"]
    assert rule["type"] == "pull_request"
    assert rule["parameters"]["required_approving_review_count"] == 0


def test_rules_that_keep_jobs_from_the_ledger(told: Hosted, examined: Check) -> None:
    told.answers["/rules/branches/ledger"] = [{"type": "pull_request"}, {"type": "non_fast_forward"}]
    found = only(examined)
    assert found.code == "ledger-closed"
    assert found.what.endswith(": pull_request")


@pytest.mark.parametrize(
    ("include", "exclude", "is_closed"),
    [
        (["~ALL"], [], True),
        (["refs/tags/v*"], [], True),
        (["refs/tags/**/*"], [], True),
        (["refs/tags/v1*"], [], False),
        (["~ALL"], ["refs/tags/v20*"], False),
        ([], [], False),
    ],
)
def test_rules_against_tags_of_jobs(
    told: Hosted, examined: Check, include: list[str], exclude: list[str], *, is_closed: bool
) -> None:
    told.answers["/rulesets/2"].update(
        conditions={"ref_name": {"include": include, "exclude": exclude}}, rules=[{"type": "creation"}]
    )
    assert codes(examined) == ["tags-closed"] * is_closed


def test_rules_for_tags_that_are_only_tried_out_stop_nothing(told: Hosted, examined: Check) -> None:
    told.answers["/rulesets"][1]["enforcement"] = "evaluate"
    told.answers["/rulesets/2"]["rules"] = [{"type": "creation"}]
    assert examined() == ()


@pytest.mark.parametrize(
    ("policy", "has_machines", "found"),
    [
        ("first_time_contributors_new_to_github", False, ["forks-unasked"]),
        ("first_time_contributors", False, []),
        ("first_time_contributors", True, ["forks-unasked"]),
        ("all_external_contributors", True, []),
    ],
)
def test_approval_of_pull_requests(
    told: Hosted, examined: Check, policy: str, found: list[str], *, has_machines: bool
) -> None:
    told.answers["/actions/permissions/fork-pr-contributor-approval"]["approval_policy"] = policy
    if not has_machines:
        told.answers["/actions/runners"]["runners"] = []
        told.answers["/actions/variables"]["variables"].pop(1)
    assert codes(examined) == found


def test_nobody_from_outside_asks_a_private_repository(told: Hosted, examined: Check) -> None:
    told.answers[""]["visibility"] = "private"
    del told.answers["/actions/permissions/fork-pr-contributor-approval"]
    assert codes(examined) == ["private"]


def test_commands_name_the_repository_as_it_is_called_now(told: Hosted, examined: Check) -> None:
    told.answers[""].update(full_name="octo/renamed", has_issues=False)
    assert only(examined).remedy == ("gh repo edit octo/renamed --enable-issues",)


def test_a_name_that_is_none_reaches_no_command(told: Hosted, examined: Check) -> None:
    told.answers[""].update(full_name="octo/wheels; rm -rf ~", has_issues=False)
    with pytest.raises(UsageError, check=coded("repository-invalid", "rm -rf")):
        examined()


def test_what_only_a_factory_does_is_not_asked_of_a_package(told: Hosted, examined: Check) -> None:
    told.answers["/actions/workflows"]["workflows"] = [{"path": ".github/workflows/wheels.yml", "state": "active"}]
    told.answers["/environments"]["environments"] = [
        {"name": name, "deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}}
        for name in ("github-pages", "release", "notify")
    ]
    for path in [path for path in told.answers if path.endswith("/deployment-branch-policies")]:
        told.answers[path]["branch_policies"] = [{"name": "v*", "type": "tag"}]
    for code in ("issues-off", "no-pull-requests", "actions-refused"):
        WRONG[code](told.answers)
    assert examined() == ()


def test_releases_in_another_store_may_change(told: Hosted, examined: Check) -> None:
    WRONG["releases-mutable"](told.answers)
    variable(told, "WHEELMILL_STORE", "github:octo/others")
    assert examined() == ()


def test_a_webhook_that_nobody_named(told: Hosted, examined: Check) -> None:
    told.answers["/environments/notify/secrets"]["secrets"].clear()
    assert only(examined).remedy == (f"gh secret set WHEELMILL_WEBHOOK --env notify --repo {REPOSITORY}",)


def test_a_secret_of_the_whole_repository_is_one_too(told: Hosted, examined: Check) -> None:
    told.answers["/actions/secrets"] = told.answers["/environments/notify/secrets"]
    told.answers["/environments/notify/secrets"] = {"secrets": []}
    assert examined() == ()


def test_variables_of_an_organization_count_where_the_repository_has_none(told: Hosted, examined: Check) -> None:
    told.answers[""]["owner"]["type"] = "Organization"
    shared = [{"name": "WHEELMILL_NOTIFY", "value": "no"}, {"name": "WHEELMILL_CACHE", "value": "no"}]
    told.answers["/actions/organization-variables"] = {"variables": shared}
    assert only(examined).what == "WHEELMILL_CACHE is 'no'; expected true or false"


def test_the_machines_of_an_organization_are_not_seen(told: Hosted, examined: Check) -> None:
    told.answers["/actions/runners"]["runners"].clear()
    assert codes(examined) == ["runner-missing"]
    told.answers[""]["owner"]["type"] = "Organization"
    told.answers["/actions/organization-variables"] = {"variables": []}
    (found,) = examined()
    assert isinstance(found, Unseen)
    assert found.what == "whether a machine has the label self-hosted and Big"


def test_a_name_that_would_be_more_than_a_word_of_the_command(told: Hosted, examined: Check) -> None:
    variable(told, "WHEELMILL_;reboot", "true")
    assert shlex.split(only(examined).remedy[0])[3] == "WHEELMILL_;reboot"
