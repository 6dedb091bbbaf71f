"""Calls of GitHub's API: paced, understood when they fail, and made again where that is safe.

A call that failed may have had its effect. So nothing that changes something is simply sent again: `Calls.ensure` looks
first. That is also how a publication goes on that was interrupted: what is there already is found and not made again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import requests
from github import BadAttributeException, GithubException, RateLimitExceededException

from wheelmill.errors import ReleaseError
from wheelmill.release.github.answers import OutageError, RejectedError, understood
from wheelmill.release.github.connection import connect
from wheelmill.release.github.pace import Pace
from wheelmill.release.github.repository import Repository
from wheelmill.system.progress import Progress

PAUSES: Final = (1.0, 10.0, 60.0)
"""Seconds between tries of something that failed on the other side."""

Found = TypeVar("Found")


class Calls:
    """Makes calls."""

    def __init__(self, repository: Repository, pace: Pace, progress: Progress) -> None:
        self._github = connect(repository)
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
                    raise understood(what, error) from None
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
