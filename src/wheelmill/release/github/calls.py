"""Calls of GitHub's API: paced, understood when they fail, and made again where that is safe.

A call that failed may have had its effect. So nothing that changes something is simply sent again: `Calls.ensure` looks
first. That is also how a publication goes on that was interrupted: what is there already is found and not made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self, TypeVar

from github import BadAttributeException, GithubException, RateLimitExceededException
from github.Repository import Repository as Repo

from wheelmill.errors import NetworkError, RejectedError, WheelmillError
from wheelmill.release.github.connection import PAUSES, WebRequester
from wheelmill.release.github.pace import Pace
from wheelmill.release.github.repository import Repository
from wheelmill.system.progress import Progress

_HINTS: Final = {
    401: "GITHUB_TOKEN is not a token that is valid now",
    403: "GITHUB_TOKEN needs the permission 'contents: write' for this repository",
    404: "is there such a repository, and may GITHUB_TOKEN see it?",
}

Found = TypeVar("Found")


class Calls:
    """Makes calls; a context manager that keeps connections open."""

    def __init__(self, repository: Repository, pace: Pace, progress: Progress) -> None:
        self._requester = WebRequester(repository, pace.clock)
        self._pace = pace
        self.clock = pace.clock
        self.progress = progress
        self.repository = Repo(self._requester, url=f"/repos/{repository.full_name}")

    def __enter__(self) -> Self:
        """Keep connections open until the context is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._requester.close()

    def read(self, what: str, call: Callable[[], Found]) -> Found:
        """Make a call that changes nothing, again while GitHub fails.

        Args:
            what: the call in words, for errors.
            call: the function that makes the call.

        Raises:
            NetworkError: GitHub failed each time.
            RejectedError: GitHub will not do it.
        """
        return self._answer(what, call)

    def write(self, what: str, call: Callable[[], Found]) -> Found:
        """Make a call that changes something, once.

        Raises:
            NetworkError: GitHub failed; the change may have been made.
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
            NetworkError: GitHub failed each time.
            RejectedError: GitHub will not make it, and it is not there.
        """
        failure: WheelmillError = NetworkError(what)
        for pause in (*PAUSES, 0.0):
            if (found := find()) is not None:
                return found
            try:
                return make()
            except RejectedError as error:
                if not error.exists:
                    raise
                failure = error
            except NetworkError as error:
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
                    raise _rejection(what, error) from None
                waited += pause
                self._pace.wait(pause, "GitHub has had too many calls", self.progress)
            except NetworkError as error:
                raise NetworkError(f"{what}: {error}") from None
            except (BadAttributeException, AssertionError, ValueError) as error:
                raise NetworkError(f"{what}: GitHub gave no answer that can be read: {error!r}") from None

    def _wait_for_quota(self) -> None:
        """Not to ask when the last answer said that nothing is left (https://docs.github.com/rest/rate-limit)."""
        if self._requester.quota_left == 0:
            seconds = self._requester.quota_resets + 1 - self.clock.now()
            self._pace.wait(seconds, "GitHub's quota is used up", self.progress)


def _rejection(what: str, error: GithubException) -> RejectedError:
    """Say what GitHub answered, and what to do about it.

    https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
    """
    data = error.data if isinstance(error.data, dict) else {}
    said = str(data.get("message") or "")
    errors = data.get("errors")
    details = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    more = "; ".join(str(each.get("message") or f"{each.get('field')}: {each.get('code')}") for each in details)
    message = f"{what}: GitHub answers {error.status} {said}{f' ({more})' if more else ''}".rstrip()
    exists = any(each.get("code") == "already_exists" for each in details) or said == "Reference already exists"
    return RejectedError(message, exists=exists, hint=_HINTS.get(error.status))
