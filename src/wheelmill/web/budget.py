"""Time that a command may wait for servers in all, so that one dead server holds up no answer of another."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from wheelmill.errors import IntegrityError, NetworkError, UnreadableError, WheelmillError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from wheelmill.web.client import Web

Result = TypeVar("Result")

TIMEOUT_S: Final = 30
"""For a command whose user waits."""
_STALLED: Final = 2 / 3
"""Share of the budget after which a server without progress is given up; `Web` measures progress in bytes."""
_LOG: Final = logging.getLogger(__name__)
_MOST: Final = 5 / 6
"""Share of the remaining time for one round of requests: pages that never end leave some to inspect a wheel."""


class Budget:
    """Seconds that a command may wait for servers, its own work not counted; a silent one is not asked again."""

    def __init__(self, seconds: float = TIMEOUT_S) -> None:
        self._seconds = self._left = float(seconds)
        self._silent: dict[str, str] = {}
        """Servers, and why each gave no answer."""
        self._alive: set[str] = set()
        """Servers that answered: one slow page of many is none of the others."""

    def ask(
        self, work: Callable[[Web, str], Result], urls: Iterable[str], *, seconds: float = math.inf
    ) -> Iterator[tuple[str, Result | WheelmillError]]:
        """Work on URLs in parallel, and yield results and errors as they come; `work` is abandoned when time is up."""
        of_servers: dict[str, list[str]] = {}
        for url in dict.fromkeys(urls):
            of_servers.setdefault(urlsplit(url).netloc, []).append(url)
        if not of_servers:
            return
        from wheelmill.web.client import ATTENDED, PARALLEL, Web  # httpx takes longer to import than most commands
        from wheelmill.web.concurrency import begin, completed

        limit = min(seconds, self._left * _MOST)
        began = time.monotonic()
        stalled = min(limit, self._seconds * _STALLED)
        with Web(retries=ATTENDED, seconds=stalled, connections=PARALLEL * len(of_servers)) as web:
            asked: dict[Future[Result], str] = {}
            for own in of_servers.values():  # each has threads of its own: a silent one would take those of all
                asked |= zip(begin(lambda url: self._ask_one(web, work, url), own, threads=PARALLEL), own, strict=True)
            for future in completed(asked, seconds=limit):
                url = asked.pop(future)
                try:
                    yield url, future.result()
                except (IntegrityError, NetworkError, UnreadableError) as error:
                    _LOG.debug("%s", error)
                    yield url, error
                del future
            self._left -= min(time.monotonic() - began, limit)
        for url in asked.values():
            late = NetworkError("server-slow", f"{url}: no answer within {limit:.0f} seconds")
            self._mark_silent(url, late)
            _LOG.debug("%s", late)
            yield url, late

    def _ask_one(self, web: Web, work: Callable[[Web, str], Result], url: str) -> Result:
        server = urlsplit(url).netloc
        if server not in self._alive and (reason := self._silent.get(server)):
            raise NetworkError("server-silent", f"{url}: {reason}")
        try:
            result = work(web, url)
        except NetworkError as error:
            if error.code in ("server-silent", "server-slow") and error.status is None:
                self._mark_silent(url, error)
            raise
        self._alive.add(server)
        return result

    def _mark_silent(self, url: str, error: NetworkError) -> None:
        if (server := urlsplit(url).netloc) not in self._alive:
            self._silent.setdefault(server, str(error).removeprefix(url).lstrip(": "))
