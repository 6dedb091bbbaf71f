"""Calls wait when GitHub says so, and say what went wrong. Which repository, and on which server."""

import io
import json
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from tests.github_server import REPOSITORY, Answer, Asset, Fault, GitHub, Release
from tests.page_server import page_server
from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.releases import NOW, stopped_at
from tests.unit.release.github.conftest import FakeClock
from wheelmill.errors import NetworkError, RejectedError, ReleaseError, UsageError
from wheelmill.release.github.api import Calls, Pace, Repository
from wheelmill.release.github.drafts import all_releases
from wheelmill.system.progress import QUIET, Clock, Progress
from wheelmill.web.transport import PATIENT

SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}


@pytest.fixture
def told() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture
def calls(github: GitHub, clock: FakeClock, told: RecordedProgress) -> Iterator[Calls]:
    pace = Pace(Clock(now=clock.now, sleep=clock.sleep))
    with Calls(Repository.parse(REPOSITORY, github.environment), pace, told) as calls:
        yield calls


def answering(github: GitHub, *answers: Answer) -> None:
    """Give these answers, and then those of a server that works."""
    queue = list(answers)
    github.always = lambda _call: queue.pop(0) if queue else None


@pytest.mark.parametrize(
    ("status", "headers", "content", "waited"),
    [
        (403, {"Retry-After": "17"}, SECONDARY, 17),
        (403, {"Retry-After": "17"}, {"message": "Slow down"}, 17),
        (429, {"Retry-After": "17"}, "Too Many Requests", 17),
        (403, {}, SECONDARY, 60),
        (429, {}, {"message": "Too many requests"}, 60),
    ],
)
def test_a_limit_is_waited_for(
    calls: Calls, github: GitHub, clock: FakeClock, *, status: int, headers: dict[str, str], content: Any, waited: int
) -> None:
    answering(github, (status, headers, content))
    assert list(all_releases(calls)) == []
    assert sum(clock.waited) == waited


def test_a_quotas_reset_is_awaited(calls: Calls, github: GitHub, clock: FakeClock, told: RecordedProgress) -> None:
    headers = {
        "X-RateLimit-Limit": "1000",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(clock.time) + 600),
    }
    answering(github, (403, headers, {"message": "API rate limit exceeded for installation ID 1."}))
    list(all_releases(calls))
    assert sum(clock.waited) == pytest.approx(601, abs=1)
    assert told.steps[0].startswith("GitHub has had too many calls: waiting for 60")


def test_nothing_is_asked_once_an_answer_used_the_quota_up(calls: Calls, github: GitHub, clock: FakeClock) -> None:
    reset = int(clock.time) + 100
    headers = {"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
    answering(github, (200, headers, []))
    list(all_releases(calls))
    assert clock.waited == []
    list(all_releases(calls))
    assert clock.time > reset
    assert len(github.calls) == 2


def test_slow_releases_are_listed_in_smaller_pages_at_once(calls: Calls, github: GitHub, clock: FakeClock) -> None:
    github.most_listed = 80
    assets = [Asset(number, f"file-{number}", b"") for number in range(github.most_listed // 8)]
    github.releases += [Release(number, f"v{number}", "", "", draft=False, assets=assets) for number in range(12)]
    assert sorted(release.id for release in all_releases(calls)) == list(range(12))
    sizes = [call.query["per_page"] for call in github.calls]
    assert sizes == ["10", "5", "5", "5"]
    assert clock.waited == []


@pytest.mark.parametrize(
    ("headers", "fact", "waited"), [({}, "", [60, 60, 120, 240, 480, 960]), ({"Retry-After": "86400"}, "86400", [])]
)
def test_waits_grow_and_end(
    calls: Calls, github: GitHub, clock: FakeClock, *, headers: dict[str, str], fact: str, waited: list[float]
) -> None:
    answering(github, *[(403, headers, SECONDARY)] * 100)
    with pytest.raises(ReleaseError, check=coded("github-pause", fact)):
        list(all_releases(calls))
    assert clock.waited == waited


def test_reading_is_tried_again(calls: Calls, github: GitHub, clock: FakeClock) -> None:
    github.faults = {0: Fault.CUT, 1: Fault.CUT}
    assert list(all_releases(calls)) == []
    assert clock.waited == [*PATIENT[:2]]


def test_after_a_short_outage_pages_are_as_large_as_before(calls: Calls, github: GitHub, clock: FakeClock) -> None:
    github.releases += [Release(number, f"v{number}", "", "", draft=False) for number in range(12)]
    github.faults = dict.fromkeys(range(3), Fault.BEFORE)
    assert len(list(all_releases(calls))) == 12
    assert [call.query["per_page"] for call in github.calls] == ["10", "5", "1", "10", "10"]
    assert clock.waited == [PATIENT[0]]


def test_an_outage_is_told_and_ends(calls: Calls, github: GitHub, clock: FakeClock, told: RecordedProgress) -> None:
    github.faults = dict.fromkeys(range(100), Fault.BEFORE)
    with pytest.raises(NetworkError, check=coded("github-silent", "502")):
        list(all_releases(calls))
    sizes = Counter(call.query["per_page"] for call in github.calls)
    assert sizes == dict.fromkeys(["10", "5", "1"], 1 + len(PATIENT))
    assert clock.waited == [*PATIENT]
    assert told.steps == ["GitHub fails, or cannot be reached: trying again in 60 seconds"]


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (HTTPStatus.UNAUTHORIZED, "Bad credentials", "GITHUB_TOKEN"),
        (HTTPStatus.FORBIDDEN, "Resource not accessible by integration", "contents: write"),
        (HTTPStatus.NOT_FOUND, "Not Found", "repository"),
    ],
)
def test_a_refusal_says_what_to_do_and_no_token(
    calls: Calls, github: GitHub, status: HTTPStatus, message: str, hint: str
) -> None:
    answering(github, (status, {}, {"message": message}))
    with pytest.raises(RejectedError, check=coded("github-rejected", status.value, message, hint)) as failure:
        list(all_releases(calls))
    assert len(github.calls) == 1
    assert github.environment["GITHUB_TOKEN"] not in failure.value.explained
    assert github.environment["GITHUB_TOKEN"] not in repr(Repository.parse(REPOSITORY, github.environment))


@pytest.mark.parametrize("content", ['{"unfinished": ', "[{]", [{"tag_name": 7}]])
def test_an_answer_that_cannot_be_read_is_an_outage(calls: Calls, github: GitHub, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    github.always = lambda _call: (200, {}, text)
    with pytest.raises(NetworkError, check=coded("github-unreadable")):
        calls.read("reading", lambda: [release.tag_name for release in calls.repository.get_releases()])


def test_an_answer_that_lacks_what_is_asked_of_it_later_is_an_outage(github: GitHub) -> None:
    github.always = lambda _call: (200, {}, [{}])
    with (
        pytest.raises(NetworkError, check=coded("github-unreadable")),
        Calls(Repository.parse(REPOSITORY, github.environment), Pace(stopped_at(NOW)), Progress()) as calls,
    ):
        assert calls.read("listing tags", lambda: list(calls.repository.get_git_matching_refs("tags/v")))[0].ref


@pytest.mark.parametrize(("status", "answer"), [(200, {"tag_name": "v1"}), (200, ["v1"]), (200, [[]]), (422, [None])])
def test_a_list_of_anything_but_releases_is_told(calls: Calls, github: GitHub, status: int, answer: Any) -> None:
    answering(github, (status, {}, answer))
    with pytest.raises(NetworkError, check=coded("github-unreadable", "releases")):
        list(all_releases(calls))


@pytest.mark.parametrize(("fault", "said"), [(Fault.PAGE, "'<html>Unicorn!</html>'"), (Fault.EMPTY, "nothing")])
def test_a_success_with_a_page_or_nothing_is_told(calls: Calls, github: GitHub, fault: Fault, said: str) -> None:
    github.faults = {0: fault}
    with pytest.raises(NetworkError, check=coded("github-silent", "/releases", "200", said)):
        list(all_releases(calls))


@pytest.mark.parametrize(("attended", "waited"), [(True, [1, 2]), (False, [1, 10, 60])])
def test_who_waits_is_told_soon_that_github_fails(
    github: GitHub, clock: FakeClock, told: RecordedProgress, *, attended: bool, waited: list[float]
) -> None:
    github.always = lambda _call: (502, {}, "Bad Gateway")
    pace = Pace(Clock(now=clock.now, sleep=clock.sleep))
    with (
        pytest.raises(NetworkError, check=coded("github-silent", "502")),
        Calls(Repository.parse(REPOSITORY, github.environment), pace, told, attended=attended) as calls,
    ):
        list(all_releases(calls))
    assert clock.waited == waited


def test_writes_are_a_second_apart(calls: Calls, github: GitHub, clock: FakeClock) -> None:
    for _ in range(3):
        calls.write("tagging", lambda: calls.repository.create_git_tag("x", "", "5" * 40, "commit"))
    assert [round(at - github.writes[0]) for at in github.writes] == [0, 1, 2]
    assert clock.waited == [1.0, 1.0]


def test_what_was_made_although_the_answer_was_lost_is_found(calls: Calls, github: GitHub) -> None:
    github.faults = {0: Fault.CUT}

    def made() -> str | None:
        return next(iter(github.refs), None)

    def make() -> str:
        return calls.write("making a tag", lambda: calls.repository.create_git_ref("refs/tags/x", "5" * 40)).ref

    assert calls.ensure("making a tag", made, make) == "refs/tags/x"
    assert [str(call) for call in github.calls] == ["POST /git/refs"]


def test_the_token_is_sent_to_no_other_server(calls: Calls) -> None:
    headers = {"Content-Type": "text/plain", "Content-Length": "0"}
    with page_server() as stranger:
        other = stranger.url.replace("127.0.0.1", "localhost")
        with pytest.raises(NetworkError, check=coded("redirect-refused", "localhost")):
            calls.check_server(other)
        with pytest.raises(NetworkError):
            calls.write(
                "sending",
                lambda: calls.repository.requester.requestMemoryBlobAndCheck("POST", other, {}, headers, io.BytesIO()),
            )
        assert stranger.asked == []


def test_an_answer_that_is_still_being_made_is_not_asked_for_without_an_end(calls: Calls, github: GitHub) -> None:
    github.always = lambda _call: (202, {}, [])
    with pytest.raises(NetworkError, check=coded("github-silent", "202")):
        list(all_releases(calls))
    assert len(github.calls) == 1


def test_every_process_may_use_pygithub_in_its_own_way(github: GitHub) -> None:
    import github as pygithub  # noqa: PLC0415 - the fixture has its name
    from github.Requester import HTTPSRequestsConnectionClass, Requester  # noqa: PLC0415

    Calls(Repository.parse(REPOSITORY, github.environment), Pace(stopped_at(NOW)), QUIET)
    own = pygithub.Github().requester
    assert type(own) is Requester
    assert own._Requester__httpsConnectionClass is HTTPSRequestsConnectionClass  # type: ignore[attr-defined]  # noqa: SLF001 - what was replaced before


def test_a_job_on_github_needs_nothing_set() -> None:
    repository = Repository.parse("octo/wheels", {})
    assert (repository.api_url, repository.token) == ("https://api.github.com", None)
    wheel = "demo-1.0+cu130-py3-none-any.whl"
    assert repository.download("v2026-11-21", wheel) == (
        "https://github.com/octo/wheels/releases/download/v2026-11-21/demo-1.0%2Bcu130-py3-none-any.whl"
    )


def test_the_variables_of_a_job_lead_to_another_server() -> None:
    environment = {
        "GITHUB_API_URL": "https://ghe.test/api/v3",
        "GITHUB_SERVER_URL": "https://ghe.test/",
        "GITHUB_TOKEN": "t",
    }
    repository = Repository.parse("octo/wheels", environment)
    assert repository.api_url == "https://ghe.test/api/v3"
    assert repository.downloads == "https://ghe.test/octo/wheels/releases/download"


@pytest.mark.parametrize(
    "text", ["", "octo", "octo/", "/wheels", "octo/..", "../wheels", "octo/a/b", "octo/a?b", "octo/$(id)"]
)
def test_what_is_no_repository_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, check=coded("repository-invalid")):
        Repository.parse(text, {})
