"""What ``wheelmill github check`` asks for, is told and tells people to do, beside GitHub's own description."""

import json
import shlex
from typing import Any

import pytest

from tests.github_server import REPOSITORY, Call
from tests.hosted import BELOW, WRONG, hosted
from tests.real.github_description import Description
from wheelmill.hosting.read import read_settings
from wheelmill.hosting.rules import WrongSetting, examine
from wheelmill.release.github.api import Calls, Pace, Repository
from wheelmill.system.progress import QUIET, SYSTEM_CLOCK

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def description() -> Description:
    return Description()


def call_of(command: str) -> Call:
    """The request of ``gh api --method METHOD PATH``, with ``-f``, ``-F`` or what is written into it."""
    before, _, _ = command.rpartition("gh api ")
    _, method, path, *options = shlex.split(command[len(before) + len("gh api ") :])
    content: dict[str, Any] = json.loads(shlex.split(before)[1]) if before else {}
    for kind, option in zip(options[::2], options[1::2], strict=True):
        key, _, text = option.partition("=")
        value = json.loads(text) if kind == "-F" else text
        name, _, below = key.rstrip("]").partition("[")
        if kind == "--input":
            continue
        if not below:
            content[name] = [*content.get(name, []), value] if key.endswith("[]") else value
        else:
            content.setdefault(name, {})[below] = value
    return Call(method, f"/{path}", {}, "application/json", json.dumps(content).encode() if content else b"")


def findings(*, wrong: bool) -> tuple[list[Call], list[WrongSetting]]:
    """The requests that were made, and what was found."""
    with hosted() as state:
        for change in WRONG.values() if wrong else ():
            change(state.answers)
        if wrong:
            state.answers[""]["has_pages"] = False
            state.answers["/actions/permissions"]["enabled"] = False
        asked = Repository.parse(REPOSITORY, state.environment)
        with Calls(asked, Pace(SYSTEM_CLOCK), QUIET) as calls:
            found = examine(read_settings(asked, calls))
        return state.github.calls, [each for each in found if isinstance(each, WrongSetting)]


def test_requests_are_as_github_describes_them(description: Description) -> None:
    calls, found = findings(wrong=False)
    assert found == []
    assert [fault for call in calls for fault in description.faults(call)] == []


def test_answers_of_the_tests_are_as_github_describes_them(description: Description) -> None:
    with hosted() as state:
        answers = [(Call("GET", BELOW + path, {}, None, b""), answer) for path, answer in state.answers.items()]
    assert [fault for call, answer in answers for fault in description.strange(call, (200, {}, answer))] == []


def test_every_command_that_mends_something_is_a_request_as_github_describes_it(description: Description) -> None:
    _, found = findings(wrong=True)
    commands = [line for each in found for line in each.remedy if "gh api " in line]
    assert len(commands) >= 8
    assert [fault for command in commands for fault in description.faults(call_of(command))] == []
