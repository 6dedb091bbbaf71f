"""Calls of GitHub's API: paced, understood when they fail, and made again where that is safe.

A call that failed may have had its effect. So nothing that changes something is simply sent again: `Calls.ensure` looks
first. That is also how a publication goes on that was interrupted: what is there already is found and not made again.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeVar

import requests
from github import Auth, BadAttributeException, Github, GithubException, RateLimitExceededException
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from wheelmill.errors import ReleaseError, UsageError
from wheelmill.progress import Progress
from wheelmill.release.github.pace import Pace
from wheelmill.release.github.repository import Repository

PAUSES: Final = (1.0, 10.0, 60.0)
"""Seconds between tries of something that failed on the other side."""

_TIMEOUT: Final = 120
"""Seconds without a byte from the other side."""

Found = TypeVar("Found")


class OutageError(ReleaseError):
    """GitHub could not be reached, or failed: the call may have had its effect, or not."""


class RejectedError(ReleaseError):
    """GitHub understood a call and will not do it."""

    def __init__(self, message: str, *, exists: bool, hint: str | None) -> None:
        super().__init__(message, hint=hint)
        self.exists = exists
        """Whether the reason is that there is such a thing already."""


class Calls:
    """Makes calls."""

    def __init__(self, repository: Repository, pace: Pace, progress: Progress) -> None:
        Requester.injectConnectionClasses(_Http, _Https)
        self._github = Github(
            base_url=repository.api_url,
            auth=Auth.Token(repository.token) if repository.token else None,
            per_page=100,
            retry=0,
            timeout=_TIMEOUT,
            seconds_between_requests=0,
            seconds_between_writes=0,
            lazy=True,
        )
        self._pace = pace
        self.clock = pace.clock
        self.progress = progress
        self.repository = self._github.get_repo(repository.full_name)

    def read(self, what: str, call: Callable[[], Found]) -> Found:
        """Make a call that changes nothing, up to four times.

        Args:
            what: the call in words, for errors.
            call: makes it.

        Raises:
            OutageError: GitHub failed each time.
            RejectedError: GitHub will not do it.
        """
        for pause in PAUSES:
            try:
                return self._answer(what, call)
            except OutageError:
                self.clock.sleep(pause)
        return self._answer(what, call)

    def write(self, what: str, call: Callable[[], Found]) -> Found:
        """Make a call that changes something, once.

        Raises:
            OutageError: GitHub failed; the change may have been made.
            RejectedError: GitHub will not do it.
        """
        return self._answer(what, call, before=lambda: self._pace.before_write(self.progress))

    def ensure(self, what: str, find: Callable[[], Found | None], make: Callable[[], Found]) -> Found:
        """Find something, or make it. After a failure it is looked for again.

        Args:
            what: making it, in words, for errors.
            find: returns None when it is not there; calls the API itself.
            make: makes it; calls the API itself.

        Raises:
            OutageError: GitHub failed each time.
            RejectedError: GitHub will not make it, and it is not there.
        """
        failure: ReleaseError = OutageError(what)
        for pause in (*PAUSES, 0.0):
            if (found := find()) is not None:
                return found
            try:
                return make()
            except RejectedError as error:
                if not error.exists:
                    raise
                failure = error
            except OutageError as error:
                failure = error
            self.clock.sleep(pause)
        if (found := find()) is not None:
            return found
        raise failure

    def _answer(self, what: str, call: Callable[[], Found], *, before: Callable[[], None] = lambda: None) -> Found:
        """Make a call, again when it came too early: GitHub did nothing then."""
        waited = 0.0
        while True:
            self._wait_for_quota()
            before()
            try:
                return call()
            except GithubException as error:
                pause = self._pace.pause_asked_for(
                    error.status,
                    error.headers or {},
                    waited=waited,
                    limited=isinstance(error, RateLimitExceededException),
                )
                if pause is None:
                    raise _understood(what, error) from None
                waited += pause
                self._pace.wait(pause, "GitHub has had too many calls", self.progress)
            except (requests.RequestException, BadAttributeException, AssertionError, ValueError) as error:
                raise OutageError(f"{what}: GitHub gave no answer that can be read: {error!r}") from None

    def _wait_for_quota(self) -> None:
        """Not to ask when the last answer said that nothing is left (https://docs.github.com/rest/rate-limit)."""
        requester = self._github.requester
        if requester.rate_limiting[0] == 0:
            seconds = requester.rate_limiting_resettime + 1 - self.clock.now()
            self._pace.wait(seconds, "GitHub's quota is used up", self.progress)


def _understood(what: str, error: GithubException) -> ReleaseError:
    data = error.data if isinstance(error.data, dict) else {}
    said = str(data.get("message") or "")
    details = [each for each in data.get("errors") or () if isinstance(each, dict)]
    more = "; ".join(str(each.get("message") or f"{each.get('field')}: {each.get('code')}") for each in details)
    message = f"{what}: GitHub answers {error.status} {said}{f' ({more})' if more else ''}".rstrip()
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutageError(message)
    exists = any(each.get("code") == "already_exists" for each in details) or said == "Reference already exists"
    return RejectedError(message, exists=exists, hint=_HINTS.get(error.status))


_HINTS: Final = {
    401: "GITHUB_TOKEN is not a token that is valid now",
    403: "GITHUB_TOKEN needs the permission 'contents: write' for this repository",
    404: "is there such a repository, and may GITHUB_TOKEN see it?",
}


def require_token(repository: Repository) -> None:
    """Publishing needs a token, and it is better to know before anything begins.

    Raises:
        UsageError: there is none.
    """
    if repository.token is None:
        raise UsageError("GITHUB_TOKEN is not set", hint="a token with 'contents: write' publishes releases")


class _Https(HTTPSRequestsConnectionClass):
    """Waits for a limited time also for the host that takes uploads, which PyGithub would wait for without end."""

    def __init__(self, host: str, port: int | None = None, **settings: Any) -> None:  # noqa: ANN401 - passed on
        super().__init__(host, port, **{**settings, "timeout": settings.get("timeout") or _TIMEOUT})


class _Http(HTTPRequestsConnectionClass):
    """The same for a server without TLS."""

    def __init__(self, host: str, port: int | None = None, **settings: Any) -> None:  # noqa: ANN401 - passed on
        super().__init__(host, port, **{**settings, "timeout": settings.get("timeout") or _TIMEOUT})
