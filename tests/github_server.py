"""GitHub's REST API of releases, its download pages and its rate limits, which count over all processes."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.github_artifacts import Artifacts, send
from tests.github_calls import REPOSITORY, Answer, Call, Fault
from tests.github_git import HEAD
from tests.github_releases import Asset, Release, ReleaseData

TOKEN = "a-token-of-the-tests"
__all__ = ["HEAD", "REPOSITORY", "TOKEN", "Answer", "Asset", "Call", "Fault", "GitHub", "Release", "serving"]

CALLS_AN_HOUR = 1000
"""Of a job's token, for one repository."""


@dataclass(kw_only=True)
class GitHub(ReleaseData):
    """What a server has, how it behaves, and what it was asked."""

    faults: dict[int, Fault] = field(default_factory=dict)
    """By the number of the call."""
    always: Callable[[Call], Answer | None] = lambda _call: None
    """Answers to give instead, without doing anything."""
    writes: list[float] = field(default_factory=list)
    """When something was created, changed or deleted."""
    asked: list[float] = field(default_factory=list)
    """When the API was asked for anything."""
    calls: list[Call] = field(default_factory=list)
    answered: list[tuple[Call, Answer]] = field(default_factory=list)
    """What was asked of a server to which nothing befell, and its answers."""
    storage: str = ""
    """The address of the host that has the bytes of artifacts, which is another one."""
    artifacts: Artifacts = field(default_factory=Artifacts)
    """What jobs handed to each other."""
    changes_an_hour: int = 500
    runs: dict[str, str] = field(default_factory=dict)
    """The status of each run of jobs, by its number."""
    lock: Lock = field(default_factory=Lock)
    """Held while a call is answered."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a job."""
        return {"GITHUB_API_URL": f"{self.origin}/api/v3", "GITHUB_SERVER_URL": self.origin, "GITHUB_TOKEN": TOKEN}

    def reset(self) -> None:
        """Forget everything but the address."""
        kept = (self.refs, self.tags, self.burned, self.releases, self.faults, self.writes, self.asked)
        for forgotten in (*kept, self.calls, self.answered):
            forgotten.clear()

    def answer(self, call: Call, *, signed_in: bool) -> Answer | None:
        """Answer a call of the API; None breaks the connection."""
        with self.lock:
            fault = self.faults.get(len(self.calls))
            self.calls.append(call)
            if special := self.always(call):
                return special
            if (limited := self._used_up()) is not None:
                return limited
            if fault is Fault.LIMITED or self._has_too_many_writes(call):
                message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
                return 403, {"Retry-After": "30"}, {"message": message}
            if fault is Fault.BEFORE:
                if call.query.get("name"):
                    self.upload(int(call.path.split("/")[-2]), call.query["name"], b"").state = "starter"
                return Fault.AFTER.answer
            if fault is Fault.TRUNCATED:
                call = Call(call.method, call.path, call.query, call.content_type, call.body[: len(call.body) // 2])
            answer = self._route(call, signed_in=signed_in)
            self.answered.append((call, answer))
            return answer if fault in (None, Fault.TRUNCATED) else fault.answer

    def _used_up(self) -> Answer | None:
        """What is answered when the quota of an hour is used up."""
        now = self.now()
        self.asked = [at for at in self.asked if now - at < 3600]
        if len(self.asked) < CALLS_AN_HOUR:
            self.asked.append(now)
            return None
        reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(self.asked[0] + 3600))}
        return 403, reset, {"message": "API rate limit exceeded for installation ID 1."}

    def _has_too_many_writes(self, call: Call) -> bool:
        if call.method == "GET":
            return False
        now = self.now()
        self.writes.append(now)
        of_hour = sum(now - at < 3600 for at in self.writes)
        return of_hour > self.changes_an_hour or sum(now - at < 60 for at in self.writes[-of_hour:]) > 80

    def most_writes(self, seconds: float) -> int:
        """The most changes in any so many seconds."""
        return max(sum(0 <= at - start < seconds for at in self.writes) for start in self.writes)

    def _route(self, call: Call, *, signed_in: bool) -> Answer:  # noqa: PLR0911 - a table of routes
        owner, name = REPOSITORY.split("/")
        given = json.loads(call.body) if call.content_type == "application/json" and call.body else {}
        if call.method != "GET" and not signed_in:
            return 401, {}, {"message": "Requires authentication"}
        match [call.method, *call.path.strip("/").split("/")]:
            case ["GET", "repos", o, r] if (o, r) == (owner, name):
                return 200, {}, {"full_name": REPOSITORY, "default_branch": "main", "url": self.api()}
            case ["GET", "repos", _, _, "branches", "main"]:
                return 200, {}, {"name": "main", "commit": {"sha": HEAD}}
            case ["GET", "repos", _, _, "git", "matching-refs", *rest]:
                wanted = "refs/" + "/".join(rest)
                return self.page(call, [self.ref(ref) for ref in sorted(self.refs) if ref.startswith(wanted)])
            case [method, "repos", _, _, "git", *rest]:
                return self.answer_git(method, rest, given) or _missing()
            case ["GET", "repos", _, _, "actions", "runs", number] if number in self.runs:
                return 200, {}, {"id": int(number), "status": self.runs[number]}
            case ["GET", "repos", _, _, "actions", *rest]:
                return self.artifacts.answer(rest, call.query, self.storage) or _missing()
            case [_, "repos", _, _, "releases", *rest]:
                return self.answer_releases(rest, call, given, signed_in=signed_in) or _missing()
            case _:
                return _missing()

    def download(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Answer somebody who has no token."""
        assert "Authorization" not in headers
        if path.startswith("/blobs/"):
            return self.artifacts.download(int(path.removeprefix("/blobs/")))
        if "/archive/" in path:
            return self.archive(path.partition("/archive/")[2])
        answer = self.answer_download(path, headers.get("Range"))
        return answer or (404, {"Content-Type": "text/html"}, "Not Found")


def _missing() -> Answer:
    return 404, {}, {"message": "Not Found"}


@contextmanager
def serving(github: GitHub) -> Iterator[GitHub]:
    """Serve while the context is open."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in one piece

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not url.path.startswith("/api/"):
                return send(self, github.download(url.path, dict(self.headers)))
            path = unquote("/" + url.path.split("/", 3)[3])
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            call = Call(self.command, path, query, self.headers.get("Content-Type"), body)
            answer = github.answer(call, signed_in=self.headers.get("Authorization") == f"token {TOKEN}")
            if answer is None:
                self.close_connection = True
                return None
            return send(self, answer)

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ExitStack() as stack:
        github.origin, github.storage = (_started(Handler, stack) for _ in range(2))
        yield github


def _started(handler: type[BaseHTTPRequestHandler], stack: ExitStack) -> str:
    """Serve until the stack is closed; gives the address."""
    server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
    server.daemon_threads = True
    server.block_on_close = False
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    stack.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"
