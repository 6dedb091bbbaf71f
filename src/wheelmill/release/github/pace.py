"""Staying below what GitHub lets a client do, and doing what it says when that was too much.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from wheelmill.errors import ReleaseError
from wheelmill.system.progress import Progress
from wheelmill.system.time import Clock
from wheelmill.web.retries import asked_pause

BETWEEN_WRITES: Final = 1.0
"""Seconds, as GitHub asks for: so there are at most 60 a minute, where 80 are allowed."""
WRITES_AN_HOUR: Final = 490
"""Of the 500 that are allowed. A release of 240 wheels takes 725, so it takes more than an hour."""

_HOUR: Final = 3600.0
_LONGEST_PAUSE: Final = _HOUR + 60
"""Seconds for one call. Every limit of GitHub is of an hour or less."""
_UNTOLD: Final = 10.0
"""Seconds that nobody is told of."""
_FIRST_PAUSE: Final = 60.0
"""Seconds to wait when a limit was passed and GitHub does not say for how long; after that, as long again as before."""


class Pace:
    """Waits before calls, so that they are allowed; remembers the writes of an hour."""

    def __init__(self, clock: Clock = Clock()) -> None:  # noqa: B008 - it is frozen
        self.clock = clock
        self._writes: deque[float] = deque(maxlen=WRITES_AN_HOUR)

    def before_write(self, progress: Progress) -> None:
        """Wait until one more thing may be created, changed or deleted."""
        now = self.clock.now()
        earliest = self._writes[-1] + BETWEEN_WRITES if self._writes else now
        if len(self._writes) == WRITES_AN_HOUR:
            earliest = max(earliest, self._writes[0] + _HOUR)
        self.wait(earliest - now, "GitHub takes 500 new files an hour", progress)
        self._writes.append(self.clock.now())

    def wait(self, seconds: float, reason: str, progress: Progress) -> None:
        """Wait, and say so when it takes long."""
        if seconds > _UNTOLD:
            progress.step(f"{reason}: waiting for {seconds:.0f} seconds")
        if seconds > 0:
            self.clock.sleep(seconds)

    def pause_asked_for(self, status: int, headers: Mapping[str, str], *, waited: float, limited: bool) -> float | None:
        """How long GitHub wants not to be asked after an answer.

        Args:
            status: the HTTP status of the answer.
            headers: of the answer, in lower case.
            waited: seconds that the same call was held back for already.
            limited: whether the text of the answer speaks of a limit.

        Returns:
            Seconds; None when the answer is not about a limit.

        Raises:
            ReleaseError: it is too long to wait for.
        """
        used_up = headers.get("x-ratelimit-remaining") == "0"
        asked = asked_pause(headers)
        about_limits = limited or used_up or asked or status == HTTPStatus.TOO_MANY_REQUESTS
        if status not in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS) or not about_limits:
            return None
        reset = headers.get("x-ratelimit-reset", "")
        if not asked and used_up and reset.isascii() and reset.isdigit():
            asked = max(int(reset) - self.clock.now(), 0.0) + 1.0  # the reset is somewhere within that second
        asked = asked or max(_FIRST_PAUSE, waited)
        if waited + asked > _LONGEST_PAUSE:
            raise ReleaseError(f"GitHub wants to be left alone for {asked:.0f} seconds", hint="run this again then")
        return asked
