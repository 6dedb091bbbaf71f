"""HTTP requests that are tried again while the other side is busy or out of reach.

https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import httpx

from wheelmill.errors import WheelmillError

_PAUSES: Final = (1.0, 2.0)
"""Seconds between the first and the second try, and between that and the last one."""
_LONGEST_PAUSE: Final = 60.0
"""Seconds. Who asks for more is not asked again."""

Sleep = Callable[[float], None]


class NoAnswerError(WheelmillError):
    """A host could not be reached, or stayed busy."""

    exit_code = 2


def answer_to(client: httpx.Client, request: httpx.Request, sleep: Sleep, *, stream: bool = False) -> httpx.Response:
    """Send a request, at most three times.

    Args:
        client: follows redirects, or does not.
        request: one without effects: it may arrive more than once.
        sleep: waits for so many seconds.
        stream: whether the body is left to be read, and the answer to be closed.

    Returns:
        The first answer that is neither 429 nor 5xx.

    Raises:
        NoAnswerError: there was none.
    """
    pauses = list(_PAUSES)
    while True:
        asked = 0.0
        try:
            answer = client.send(request, stream=stream)
        except httpx.TransportError as error:
            problem = str(error) or type(error).__name__
        except httpx.HTTPError as error:  # such as a circle of redirects
            raise NoAnswerError(f"{request.url.host} does not answer: {error}") from None
        else:
            if answer.status_code != HTTPStatus.TOO_MANY_REQUESTS and not answer.is_server_error:
                return answer
            answer.close()
            problem = f"{answer.status_code} {answer.reason_phrase}"
            asked = asked_pause(answer.headers)
        if not pauses:
            raise NoAnswerError(f"{request.url.host} does not answer: {problem}; tried {1 + len(_PAUSES)} times")
        if asked > _LONGEST_PAUSE:
            raise NoAnswerError(f"{request.url.host} does not answer: {problem}; try again in {asked:.0f} seconds")
        sleep(max(asked, pauses.pop(0)))


def asked_pause(headers: Mapping[str, str]) -> float:
    """The seconds that Retry-After asks for, as a number or as a date; 0 when it does not."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # not a date, or one of a year with ten digits
        return 0.0
    return (when.replace(tzinfo=when.tzinfo or dt.UTC) - dt.datetime.now(tz=dt.UTC)).total_seconds()
