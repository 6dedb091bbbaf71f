"""Sending a request again: the other side was busy or out of reach, and may not be a little later.

https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
"""

from __future__ import annotations

import copy
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import httpx
from httpx_retries import Retry

from wheelmill.errors import NetworkError

Sleep = Callable[[float], None]
"""Waits for so many seconds."""

SAFE: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing (RFC 9110, section 9.2.1)."""
FAILED: Final = frozenset(range(500, 600))
"""Statuses of a server that is at fault itself."""

PATIENT: Final = (1.0, 10.0, 60.0)
"""Seconds between tries of something that failed on the other side, where nobody sits and waits."""
_PAUSES: Final = (1.0, 2.0)
_LONGEST_PAUSE: Final = 60.0
"""Seconds. A server that asks for more is not asked again."""


class Retries(Retry):
    """What is sent again: requests that change nothing, when the server is busy or cannot be reached.

    Args:
        sleep: waits between tries.
        pauses: seconds between tries, where the server does not ask for more.
        statuses: of answers that may be others a little later.
    """

    def __init__(
        self,
        sleep: Sleep,
        *,
        pauses: Sequence[float] = _PAUSES,
        statuses: Collection[int] = FAILED | {HTTPStatus.TOO_MANY_REQUESTS},
    ) -> None:
        super().__init__(total=len(pauses), allowed_methods=SAFE, status_forcelist=statuses)
        self._sleep, self._pauses = sleep, pauses

    def increment(self) -> Retries:
        """Count one more try."""
        counted = copy.copy(self)
        counted.attempts_made += 1
        return counted

    def is_retryable_exception(self, exception: Exception) -> bool:
        """Whether it may go better a little later: a certificate is as little trusted then."""
        return super().is_retryable_exception(exception) and not is_untrusted(exception)

    def sleep(self, response: httpx.Response | Exception) -> None:
        """Wait before the next try.

        Raises:
            NetworkError: the server asks for a longer pause, which the library would shorten.
        """
        asked = 0.0
        if isinstance(response, httpx.Response) and (asked := asked_pause(response.headers)) > _LONGEST_PAUSE:
            outcome = f"{response.status_code} {response.reason_phrase}"
            raise NetworkError(
                "server-busy",
                f"{response.request.url} does not answer: {outcome}; try again in {asked:.0f} seconds",
                status=response.status_code,
            )
        self._sleep(max(asked, self._pauses[self.attempts_made - 1]))


def is_untrusted(exception: BaseException | None) -> bool:
    """Whether it came of a certificate that this machine does not trust."""
    while exception and not isinstance(exception, ssl.SSLCertVerificationError):
        exception = exception.__cause__ or exception.__context__
    return exception is not None


def asked_pause(headers: Mapping[str, str]) -> float:
    """The seconds that Retry-After asks for, as a number or as a date; 0 when it does not."""
    try:
        return Retry().parse_retry_after(headers.get("retry-after", ""))
    except (ValueError, OverflowError):  # not a date, or one of a year with ten digits
        return 0.0
