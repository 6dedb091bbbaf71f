"""Sending a request again: the other side was busy or out of reach, and may not be a little later.

https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import httpx
from httpx_retries import Retry

from wheelmill.errors import NetworkError

Sleep = Callable[[float], None]
"""Waits for so many seconds."""

_BUSY: Final = (HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600))
_LONGEST_PAUSE: Final = 60.0
"""Seconds. A server that asks for more is not asked again."""


class Retries(Retry):
    """Three tries, with pauses of one and two seconds, or longer ones where the server asks for them.

    Args:
        sleep: waits between tries.
        attempts_made: tries that failed so far, beside the first.
    """

    def __init__(self, sleep: Sleep, *, attempts_made: int = 0) -> None:
        super().__init__(
            total=2, status_forcelist=_BUSY, backoff_factor=0.5, backoff_jitter=0, attempts_made=attempts_made
        )
        self._sleep = sleep

    def increment(self) -> Retries:
        """Count one more try."""
        return Retries(self._sleep, attempts_made=self.attempts_made + 1)

    def sleep(self, response: httpx.Response | Exception) -> None:
        """Wait before the next try.

        Raises:
            NetworkError: the server asks for a longer pause, which the library would shorten.
        """
        asked = 0.0
        if isinstance(response, httpx.Response) and (asked := asked_pause(response.headers)) > _LONGEST_PAUSE:
            outcome = f"{response.status_code} {response.reason_phrase}"
            raise NetworkError(f"{response.request.url} does not answer: {outcome}; try again in {asked:.0f} seconds")
        self._sleep(max(asked, self.backoff_strategy()))


def asked_pause(headers: Mapping[str, str]) -> float:
    """The seconds that Retry-After asks for, as a number or as a date; 0 when it does not."""
    try:
        return Retry().parse_retry_after(headers.get("retry-after", ""))
    except (ValueError, OverflowError):  # not a date, or one of a year with ten digits
        return 0.0
