"""Pages that GitHub has no time for are asked for in smaller pieces."""

import json

import pytest

from tests.page_server import Answer, PageServer
from tests.unit.client.conftest import find
from wheelmill.client.records import LookupOutcome
from wheelmill.web.pages import LARGEST, SIZES
from wheelmill.web.transport import Retries

NAMES = [f"demo-1.{number}-cp312-cp312-manylinux_2_28_x86_64.whl" for number in range(60)]


@pytest.fixture
def hurried(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> PageServer:
    """A server of 60 releases, with time for ten from the 31st on."""
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    monkeypatch.setattr(Retries, "sleep", lambda *_: None)
    path = "/repos/a/b/releases"
    releases = [{"assets": [{"name": name, "browser_download_url": f"https://files.test/{name}"}]} for name in NAMES]

    def page(size: int, number: int) -> Answer:
        following = f'<{server.url}{path}?per_page={size}&page={number + 1}>; rel="next"'
        more = {"Link": following} if size * number < len(releases) else {}
        body = json.dumps(releases[size * (number - 1) : size * number]).encode()
        return Answer(body, headers={"Content-Type": "application/json"} | more)

    server.pages = {f"{path}?per_page=10&page={number}": page(10, number) for number in range(1, 7)}
    server.pages |= {f"{path}?per_page=30": page(30, 1), f"{path}?per_page=30&page=2": Answer(status=502)}
    return server


def test_a_page_that_takes_too_long_is_read_in_pieces(hurried: PageServer) -> None:
    resolution = find("github:a/b")
    (choice,) = resolution.choices.values()
    assert choice.candidate.filename == NAMES[-1]
    assert list(dict.fromkeys(path.partition("?")[2] for path, _ in hurried.asked)) == [
        "per_page=30",
        "per_page=30&page=2",
        *(f"per_page=10&page={number}" for number in (4, 5, 6)),
    ]


def test_what_is_too_long_in_any_size_is_no_answer(hurried: PageServer) -> None:
    sizes = (f"per_page={size}{'&page=1' * (size < LARGEST)}" for size in SIZES)
    hurried.pages = {f"/repos/a/b/releases?{size}": Answer(status=504) for size in sizes}
    resolution = find("github:a/b")
    assert [each.outcome for each in resolution.sources] == [LookupOutcome.UNREACHABLE]
