"""``wheelmill github check``, as a person and a script run it."""

import json
from collections.abc import Iterator

import pytest

from tests.github_server import REPOSITORY
from tests.hosted import ADMINISTRATION, WRONG, Hosted, hosted
from tests.integration.conftest import Command


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosted]:
    with hosted() as state:
        for name, value in state.environment.items():
            monkeypatch.setenv(name, value)
        yield state


def check(python: Command, *options: str, exit_code: int) -> tuple[str, str]:
    done = python("-m", "wheelmill", "github", "check", *options, exit_code=exit_code)
    return done.stdout, done.stderr


def test_right_settings_end_with_0(python: Command, repository: Hosted) -> None:
    assert check(python, REPOSITORY, exit_code=0) == ("", "findings: 0; not seen: 0\n")
    assert all(call.method == "GET" for call in repository.github.calls)


def test_twelve_wrong_settings_are_twelve_findings_each_with_its_remedy(python: Command, repository: Hosted) -> None:
    for change in WRONG.values():
        change(repository.answers)
    printed, said = check(python, REPOSITORY, exit_code=9)
    assert said == "findings: 12; not seen: 0\n"
    heads = [line.partition(":")[0] for line in printed.splitlines() if not line.startswith(" ")]
    assert sorted(heads) == sorted(WRONG)
    assert f"\n    gh api --method PUT repos/{REPOSITORY}/immutable-releases\n" in printed
    content = json.loads(check(python, REPOSITORY, "--json", exit_code=9)[0])
    assert content["schema"] == "wheelmill.github-check/1"
    assert {each["code"] for each in content["findings"]} == set(WRONG)
    assert all(each["what"] and each["why"] and each["remedy"] for each in content["findings"])
    assert content["unseen"] == []


def test_what_a_token_may_not_see_is_told_and_is_not_right(python: Command, repository: Hosted) -> None:
    repository.hidden.update(ADMINISTRATION)
    printed, said = check(python, REPOSITORY, exit_code=9)
    assert "Administration: read\n" in printed
    assert said == "findings: 0; not seen: 6\n"


def test_a_missing_token_limits_checks(python: Command, repository: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.hidden.update(ADMINISTRATION)
    monkeypatch.delenv("GITHUB_TOKEN")
    assert "GITHUB_TOKEN=$(gh auth token)" in check(python, REPOSITORY, exit_code=9)[1]


def test_text_of_a_server_moves_no_cursor(python: Command, repository: Hosted) -> None:
    variable = {"name": "WHEELMILL_\x1b[2J", "value": "::set-env name=A::b"}
    repository.answers["/actions/variables"]["variables"] = [variable]
    printed, _ = check(python, REPOSITORY, exit_code=9)
    assert "\x1b" not in printed
    assert "variable-unknown" in printed


def test_an_answer_that_is_none_ends_with_10(python: Command, repository: Hosted) -> None:
    repository.instead["/actions/permissions"] = 200, {"Content-Type": "text/html"}, "<html>Unicorn!</html>"
    assert "/actions/permissions: " in check(python, REPOSITORY, exit_code=10)[1]


def test_what_is_no_repository_is_a_usage_error(python: Command) -> None:
    assert "'octo'" in check(python, "octo", exit_code=2)[1]
