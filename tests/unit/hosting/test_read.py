"""What a token may not see is not taken for right, and an answer that is none is an error."""

import pytest

from tests.github_server import Answer
from tests.hosted import ADMINISTRATION, BELOW, Hosted
from tests.refusals import coded
from tests.unit.hosting.conftest import Check
from wheelmill.errors import NetworkError, UsageError
from wheelmill.hosting.settings import Unseen

HTML = "<!DOCTYPE html><html>Unicorn!</html>"


def unseen(check: Check) -> dict[str, str]:
    found = check()
    assert all(isinstance(each, Unseen) for each in found)
    return {each.what: each.needs for each in found if isinstance(each, Unseen)}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_a_token_without_administration_does_not_see(repository: Hosted, check: Check, status: int) -> None:
    repository.instead = {path: (status, {}, {"message": "Not Found"}) for path in ADMINISTRATION}
    assert unseen(check) == dict.fromkeys(
        (
            *("whether Actions may run", "what the token of a job may do", "whose pull requests wait for approval"),
            *("whether releases are immutable", "the protection of the branch main", "the machines of the owner"),
        ),
        "Administration: read",
    )


@pytest.mark.parametrize(
    ("path", "what", "needs"),
    [
        ("/actions/permissions/selected-actions", "which actions are allowed", "Administration: read"),
        ("/pages", "the source of Pages", "Pages: read"),
        ("/environments", "the environments", "Actions: read"),
        ("/environments/notify/deployment-branch-policies", "the branches of the environments", "Actions: read"),
        ("/environments/notify/secrets", "the names of the secrets", "Secrets: read, Environments: read"),
        ("/rules/branches/ledger", "the rules for the branch ledger", "Metadata: read"),
        ("/rulesets/2", "the rules for tags", "Metadata: read"),
        ("/actions/variables", "the variables", "Variables: read"),
        ("/actions/workflows", "the state of the workflows", "Actions: read"),
    ],
)
def test_each_thing_that_is_not_seen_is_told(told: Hosted, examined: Check, path: str, what: str, needs: str) -> None:
    told.hidden.add(path)
    assert unseen(examined) == {what: needs}


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Type": "text/html"}, HTML),
        (200, {}, ""),
        (200, {}, []),
        (200, {}, {"name": 1}),
        (200, {}, "{"),
        (200, {}, "[" * 100_000),
    ],
    ids=["HTML", "nothing", "a list", "another object", "half of one", "brackets"],
)
@pytest.mark.parametrize("path", ["", "/actions/permissions", "/pages", "/actions/variables", "/immutable-releases"])
def test_no_valid_answer_is_an_error(repository: Hosted, check: Check, path: str, answer: Answer) -> None:
    repository.instead[path] = answer
    with pytest.raises(NetworkError) as failure:
        check()
    assert f"{path or 'the repository'}:" in str(failure.value)


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("", "visibility", "hidden"),
        ("/actions/permissions", "enabled", "true"),
        ("/actions/permissions/selected-actions", "patterns_allowed", [1]),
        ("/branches/main/protection", "allow_deletions", True),
        ("/rulesets/2", "rules", None),
        ("/pages", "build_type", "branch"),
    ],
)
def test_another_type_is_an_error_by_key(told: Hosted, examined: Check, path: str, key: str, value: object) -> None:
    told.answers[path][key] = value
    with pytest.raises(NetworkError, check=coded("answer-unreadable", f"{path or 'the repository'}: {key}: ")):
        examined()


def test_true_is_no_number(told: Hosted, examined: Check) -> None:
    for ruleset in told.answers["/rulesets"]:
        ruleset["id"] = True
    with pytest.raises(NetworkError, check=coded("answer-unreadable", "/rulesets: id: Expected `int`, got `bool`")):
        examined()


def test_a_list_without_an_end_is_not_read_for_ever(told: Hosted, examined: Check) -> None:
    told.answers["/actions/runners"]["runners"] *= 5_001
    with pytest.raises(NetworkError, check=coded("answer-too-long", "5000")):
        examined()


def test_a_list_of_many_pages_is_read_whole(repository: Hosted, check: Check) -> None:
    """Whatever the size of a page: GitHub lists 30 variables at most, however many are asked for."""
    repository.answers["/actions/runners"]["runners"][:0] = [{"status": "offline", "labels": []}] * 150
    variables = repository.answers["/actions/variables"]["variables"]
    variables[:0] = [{"name": f"OF_OTHERS_{number}", "value": "any"} for number in range(70)]
    assert check() == ()
    asked = [
        call.query.get("page", "1") for call in repository.github.calls if call.path.endswith("/actions/variables")
    ]
    assert asked == ["1", "2", "3"]


def test_a_list_whose_pages_are_empty_ends(repository: Hosted, check: Check) -> None:
    origin = f"{repository.environment['GITHUB_API_URL']}{BELOW}"
    again = {"Link": f'<{origin}/actions/runners?page=2>; rel="next"'}
    repository.instead["/actions/runners"] = 200, again, {"total_count": 9, "runners": []}
    check()


def test_a_repository_that_has_moved_is_found(repository: Hosted, check: Check) -> None:
    origin = repository.environment["GITHUB_API_URL"]
    repository.instead[""] = 301, {"Location": f"{origin}{BELOW}/moved"}, {"message": "Moved Permanently"}
    repository.answers["/moved"] = repository.answers[""]
    assert check() == ()


def test_a_repository_that_is_not_there_is_a_usage_error(repository: Hosted, check: Check) -> None:
    del repository.answers[""]
    with pytest.raises(UsageError, check=coded("repository-not-visible", "octo/wheels")):
        check()


def test_a_token_that_is_not_valid_is_a_usage_error(repository: Hosted, check: Check) -> None:
    repository.instead[""] = 401, {}, {"message": "Bad credentials"}
    with pytest.raises(UsageError, check=coded("token-invalid")):
        check()


def test_a_server_that_fails_is_a_network_error(repository: Hosted, check: Check) -> None:
    repository.instead["/pages"] = 502, {"Content-Type": "text/html"}, HTML
    with pytest.raises(NetworkError, check=coded("github-silent", "/pages", "502")):
        check()
