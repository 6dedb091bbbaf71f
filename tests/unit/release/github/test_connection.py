"""PyGithub asks through the one client; GitHub's token goes to GitHub."""

import io
import time

import pytest

from tests.github_server import REPOSITORY, GitHub
from tests.page_server import page_server
from tests.refusals import coded
from tests.releases import NOW, stopped_at
from wheelmill.errors import NetworkError
from wheelmill.release.github import Repository
from wheelmill.release.github.calls import Calls, Pace
from wheelmill.release.github.connection import WebRequester
from wheelmill.system.progress import QUIET


def test_the_token_is_sent_to_no_other_server(github: GitHub) -> None:
    with page_server() as stranger:
        other = stranger.url.replace("127.0.0.1", "localhost")
        requester = WebRequester(Repository.parse(REPOSITORY, github.environment), time.sleep)
        with pytest.raises(NetworkError, check=coded("redirect-refused", "localhost")):
            requester.requestMemoryBlobAndCheck("POST", other, {}, {"Content-Length": "0"}, io.BytesIO())
        assert stranger.asked == []


def test_every_process_may_use_pygithub_in_its_own_way(github: GitHub) -> None:
    import github as pygithub  # noqa: PLC0415 - the fixture has its name
    from github.Requester import HTTPSRequestsConnectionClass, Requester  # noqa: PLC0415

    Calls(Repository.parse(REPOSITORY, github.environment), Pace(stopped_at(NOW)), QUIET)
    own = pygithub.Github().requester
    assert type(own) is Requester
    assert own._Requester__httpsConnectionClass is HTTPSRequestsConnectionClass  # type: ignore[attr-defined]  # noqa: SLF001 - what was replaced before
