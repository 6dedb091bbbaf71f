"""Calls of GitHub's API: rate-limited, with wheelmill's errors, and retried if that is safe.

PyGithub's requests go through `web.client`. A call that failed may have had its effect. So a call that changes
something is never simply retried: `Calls.ensure` checks first. An interrupted publication resumes the same way: what
exists is found, and not made again.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, BinaryIO, Final, Self, TypeVar, cast
from urllib.parse import quote, urlsplit

from github import BadAttributeException, GithubException, RateLimitExceededException
from github.Auth import Token
from github.Repository import Repository as Repo
from github.Requester import Requester

from wheelmill.errors import NetworkError, RejectedError, ReleaseError, UsageError, WheelmillError
from wheelmill.release.publish_lease import RateLimitedLease
from wheelmill.system.progress import Clock, Progress
from wheelmill.web.budget import TIMEOUT_S
from wheelmill.web.client import SECONDS, Web, next_page
from wheelmill.web.credentials import no_credentials
from wheelmill.web.transport import BRIEF, FAILED, PATIENT, SAFE, Retries, asked_pause

_NAME_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "-_.")


@dataclass(frozen=True, kw_only=True)
class Repository:
    """Repository whose releases hold wheels."""

    full_name: str
    """``OWNER/REPO``."""
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    token: str | None = field(default=None, repr=False)
    """Needed to publish; published releases can be read without one."""

    @classmethod
    def parse(cls, full_name: str, environment: Mapping[str, str]) -> Self:
        """Parse a name, with the rest from the variables of GitHub's jobs; raises UsageError for any other text.

        https://docs.github.com/en/actions/reference/workflows-and-actions/variables
        """
        owner, _, name = full_name.partition("/")
        if {owner, name} & {"", ".", ".."} or not set(owner + name) <= _NAME_CHARACTERS:
            raise UsageError("repository-invalid", f"expected OWNER/REPO, not {full_name!r}")
        return cls(
            full_name=full_name,
            api_url=environment.get("GITHUB_API_URL") or cls.api_url,
            server_url=environment.get("GITHUB_SERVER_URL") or cls.server_url,
            token=environment.get("GITHUB_TOKEN") or None,
        )

    @property
    def downloads(self) -> str:
        """Public URL above the folders of tags."""
        return f"{self.server_url.rstrip('/')}/{self.full_name}/releases/download"

    def download(self, tag: str, filename: str) -> str:
        """Return the public URL of a file of a published release."""
        return f"{self.downloads}/{quote(tag)}/{quote(filename)}"

    def check_server(self, url: str) -> None:
        """Refuse the URL of any server but the API's or a sibling such as ``uploads.github.com``: it gets the token."""
        own, host = (urlsplit(place).hostname or "" for place in (self.api_url, url))
        if host != own and not host.endswith(f".{own.removeprefix('api.')}"):
            raise NetworkError("redirect-refused", f"{own} leads to {host}, which is another server")


_WITH_JSON: Final = (HTTPStatus.OK, HTTPStatus.CREATED)
"""Statuses of successful answers, which must come from GitHub itself and not from a proxy."""
_SHOWN_CHARACTERS: Final = 60


class _Connection:
    """Connection of PyGithub's requester: sends requests through `Web`, and holds the last answer."""

    def __init__(
        self, repository: Repository, web: Web, scheme: str, host: str, port: int | None = None, **_: object
    ) -> None:
        literal = f"[{host}]" if ":" in host else host  # an IPv6 address
        self._web, self._server = web, f"{scheme}://{literal}{f':{port}' if port else ''}"
        repository.check_server(self._server)

    def request(
        self, verb: str, path: str, body: str | BinaryIO | None, headers: Mapping[str, str], _stream: object
    ) -> None:
        """Send a request."""
        content = body.encode() if isinstance(body, str) else body or b""
        size = int(headers.get("Content-Length", 0))
        answer = self._web.send(verb, f"{self._server}{path}", headers, body=content, size=size, refusals=True)
        self.status, self._headers = answer.status, answer.headers
        self._text = answer.content.decode(errors="replace")
        is_strange = self.status in _WITH_JSON and not self._text.lstrip().startswith(("{", "["))
        is_pending = self.status == HTTPStatus.ACCEPTED and verb in SAFE  # PyGithub would poll forever
        if is_strange or is_pending:
            said = repr(self._text.strip()[:_SHOWN_CHARACTERS]) if self._text.strip() else "nothing"
            message = f"{answer.url} answers {answer.status} with {said} instead of JSON; try again later"
            raise NetworkError("github-unreadable", message)

    def getresponse(self) -> Self:
        return self

    def getheaders(self) -> Iterable[tuple[str, str]]:
        return self._headers.items()

    def read(self) -> str:
        return self._text

    def close(self) -> None:
        """Leave the connections of `Web` open for the next request."""


def _requester(repository: Repository, web: Web) -> Requester:
    """Make PyGithub's requester for requests through `web`, which retries those that change nothing."""

    class WebRequester(Requester):
        """Requester with connection classes of its own; others in this process keep theirs."""

    # From Python 3.14 on, a partial in a class is a method: it would get the requester as an argument.
    http, https = (staticmethod(partial(_Connection, repository, web, scheme)) for scheme in ("http", "https"))
    WebRequester.injectConnectionClasses(cast("Any", http), cast("Any", https))  # it only calls them
    return WebRequester(
        auth=Token(repository.token) if repository.token else None,
        base_url=repository.api_url,
        timeout=0,
        user_agent="wheelmill",
        per_page=100,
        verify=True,
        retry=None,
        pool_size=None,
        lazy=True,
    )


LIMITED: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses of an answer that may ask for a pause."""
BETWEEN_WRITES: Final = 1.0
"""Seconds, as GitHub asks for: so there are at most 60 a minute, where 80 are allowed."""
_LONGEST_PAUSE: Final = 3660.0
"""Seconds for one call, where no other time is set. Every limit of GitHub is of an hour or less."""
_UNTOLD: Final = 10.0
"""Seconds of waiting that are not worth a message."""
_FIRST_PAUSE: Final = 60.0
"""Seconds of the first wait if GitHub names no time; later waits double."""


class Pace:
    """Delays before calls, to stay within GitHub's limits; changes count in the publish lease, if there is one."""

    def __init__(self, clock: Clock, lease: RateLimitedLease | None = None) -> None:
        self.clock = clock
        self._lease = lease
        self._next = 0.0

    def before_write(self, progress: Progress) -> None:
        """Wait until the rate limit allows creating, changing or deleting one more object."""
        if self._lease:
            self._lease.before_change()
        self.wait(self._next - self.clock.now(), "", progress)
        self._next = self.clock.now() + BETWEEN_WRITES

    def wait(self, seconds: float, reason: str, progress: Progress) -> None:
        """Wait, with a message if it takes long; a publisher with less time than that stops with TimeIsOver."""
        if seconds > _UNTOLD:
            progress.step(f"{reason}: waiting for {seconds:.0f} seconds")
        if seconds > 0 and self._lease:
            self._lease.wait(timedelta(seconds=seconds))
        elif seconds > 0:
            self.clock.sleep(seconds)

    def pause_asked_for(self, status: int, headers: Mapping[str, str], *, waited: float, limited: bool) -> float | None:
        """Return the pause in seconds that GitHub requests in an answer; None if the answer is not about a limit.

        The names of headers are in lower case. The same call has `waited` for some seconds before. The text of a
        `limited` answer mentions a limit.
        """
        used_up = headers.get("x-ratelimit-remaining") == "0"
        asked = asked_pause(headers)
        about_limits = limited or used_up or asked or status == HTTPStatus.TOO_MANY_REQUESTS
        if status not in LIMITED or not about_limits:
            return None
        reset = headers.get("x-ratelimit-reset", "")
        if not asked and used_up and reset.isascii() and reset.isdigit():
            asked = max(int(reset) - self.clock.now(), 0.0) + 1.0  # the reset is somewhere within that second
        asked = asked or max(_FIRST_PAUSE, waited)
        if waited + asked > _LONGEST_PAUSE and not (self._lease and self._lease.until):
            raise ReleaseError("github-pause", f"GitHub asks for a pause of {asked:.0f} seconds", hint="try again then")
        return asked


_HINTS: Final = {
    401: "GITHUB_TOKEN is not valid, or has expired",
    403: "GITHUB_TOKEN needs the permission 'contents: write' for this repository",
    404: "is there such a repository, and may GITHUB_TOKEN see it?",
}
_BURNED: Final = ("used by an immutable release", "creations being restricted")
"""GitHub's words for the name of a release or a tag that an immutable release had before it was removed
(https://docs.github.com/en/code-security/concepts/supply-chain-security/immutable-releases)."""

_STRANGE: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    BadAttributeException,
)
"""Errors of PyGithub for an answer that is not GitHub's."""

Found = TypeVar("Found")


class Calls(AbstractContextManager["Calls", None]):
    """GitHub API client, a context manager; an `attended` one gives up soon, since a user waits."""

    def __init__(self, repository: Repository, pace: Pace, progress: Progress, *, attended: bool = False) -> None:
        self._pace = pace
        self.check_server = repository.check_server
        self.clock = pace.clock
        self.progress = progress
        self._web = Web(
            credentials=no_credentials,  # PyGithub knows the token and where it may be sent
            retries=Retries(self._wait_to_try_again, pauses=BRIEF if attended else PATIENT, statuses=FAILED),
            seconds=TIMEOUT_S if attended else SECONDS,
        )
        self._requester = _requester(repository, self._web)
        self._url = f"/repos/{repository.full_name}"
        self.repository = Repo(self._requester, url=self._url)

    def __exit__(self, _class: object, error: BaseException | None, _trace: object) -> None:
        """Close them."""
        self._web.close()
        if isinstance(error, GithubException | BadAttributeException):
            raise NetworkError("github-unreadable", f"GitHub gave no answer that can be read: {error!r}") from None

    def read(self, what: str, call: Callable[[], Found]) -> Found:
        """Make a call that changes nothing, with retries; errors describe it as `what`.

        Raises NetworkError if GitHub failed each time, and RejectedError if it refuses.
        """
        waited = 0.0
        while True:
            self._wait_for_quota()
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
                waited += pause  # safe to repeat: a call over the limit has no effect
                self._pace.wait(pause, "GitHub has had too many calls", self.progress)
            except NetworkError as error:
                raise NetworkError("github-silent", f"{what}: {error}") from None
            except _STRANGE as error:
                message = f"{what}: GitHub gave no answer that can be read: {error!r}"
                raise NetworkError("github-unreadable", message) from None

    def answer(self, what: str, path: str) -> object:
        """Read JSON at a path below the repository, such as ``/pages``, or of the repository itself; see `read`."""
        return next(self.pages(what, path))

    def pages(self, what: str, path: str) -> Iterator[object]:
        """Read JSON page after page, as GitHub links them: each list has a largest page of its own."""
        url: str | None = f"{self._url}{path}"
        while url:
            headers, content = self.read(what, partial(self._requester.requestJsonAndCheck, "GET", url))
            yield content
            url = next_page(headers)

    def write(self, what: str, call: Callable[[], Found]) -> Found:
        """Make a call that changes something, once; after a NetworkError the change may have been made."""

        def write_in_time() -> Found:
            self._pace.before_write(self.progress)
            return call()

        return self.read(what, write_in_time)

    def ensure(
        self, what: str, find: Callable[[], Found | None], make: Callable[[], Found], *, is_absent: bool = False
    ) -> Found:
        """Find something, or make it; after a failure, look for it again. Raises as `read` does.

        Errors describe making it as `what`. With `is_absent`, it cannot exist yet, which saves the first look.
        """
        failure: WheelmillError = NetworkError("github-silent", what)
        for pause in (*PATIENT, 0.0):
            if not is_absent and (existing := find()) is not None:
                return existing
            is_absent = False
            try:
                return make()
            except RejectedError as error:
                if not error.exists:
                    raise
                failure = error
            except NetworkError as error:
                failure = error
            self.clock.sleep(pause)
        if (existing := find()) is not None:
            return existing
        raise failure

    def _wait_to_try_again(self, seconds: float) -> None:
        if seconds > _UNTOLD:
            self.progress.step(f"GitHub fails, or cannot be reached: trying again in {seconds:.0f} seconds")
        self.clock.sleep(seconds)

    def _wait_for_quota(self) -> None:
        """Wait if the last answer reported no remaining calls (https://docs.github.com/rest/rate-limit)."""
        if self._requester.rate_limiting[0] == 0:
            seconds = self._requester.rate_limiting_resettime + 1 - self.clock.now()
            self._pace.wait(seconds, "GitHub's quota is used up", self.progress)


def _rejection(what: str, error: GithubException) -> RejectedError:
    """Convert a refusal by GitHub into an error with a hint.

    https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
    """
    data = error.data if isinstance(error.data, dict) else {}
    said = str(data.get("message") or "")
    errors = data.get("errors")
    details = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    more = "; ".join(str(each.get("message") or f"{each.get('field')}: {each.get('code')}") for each in details)
    message = f"{what}: GitHub answers {error.status} {said}{f' ({more})' if more else ''}".rstrip()
    burned = any(sign in f"{said} {more}" for sign in _BURNED)
    exists = any(each.get("code") == "already_exists" for each in details) or said == "Reference already exists"
    hint = _HINTS.get(error.status)
    return RejectedError("github-rejected", message, exists=exists, burned=burned, hint=hint, status=error.status)
