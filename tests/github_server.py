"""A GitHub server on this machine, as far as releases go: its REST API as GitHub documents it, and its download pages.

https://docs.github.com/en/rest/releases
https://docs.github.com/en/rest/git/refs
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

REPOSITORY = "octo/wheels"
TOKEN = "a token of the tests"
HEAD = "5" * 40
"""The commit of the default branch."""

Answer = tuple[int, dict[str, str], Any]


class Fault(StrEnum):
    """What can go wrong with one call."""

    BEFORE = "5xx before"
    """The server fails and does nothing; an upload leaves an empty asset."""
    AFTER = "5xx after"
    """The server does it and then fails."""
    LIMITED = "403 limit"
    """The client is told to come back later."""
    CUT = "cut"
    """The server does it, and the connection breaks before the answer."""
    TRUNCATED = "truncated"
    """Half of the bytes of an upload arrive."""


@dataclass
class Asset:
    id: int
    name: str
    content: bytes
    state: str = "uploaded"


@dataclass
class Release:
    id: int
    tag: str
    name: str
    body: str
    draft: bool = True
    assets: list[Asset] = field(default_factory=list)


@dataclass(frozen=True)
class Call:
    """A request to the API, for those who look at it later."""

    method: str
    path: str
    query: Mapping[str, str]
    content_type: str | None
    body: bytes

    def __str__(self) -> str:
        place = self.path.removeprefix(f"/repos/{REPOSITORY}")
        return f"{self.method} {place or '/'}{' ' + self.query['name'] if 'name' in self.query else ''}"


@dataclass
class GitHub:
    """What a server has, how it behaves, and what it was asked."""

    refs: dict[str, str] = field(default_factory=dict)
    """``refs/tags/x``: the hash of a commit or of a tag object."""
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    """Tag objects by hash."""
    releases: list[Release] = field(default_factory=list)
    """The oldest first."""
    faults: dict[int, Fault] = field(default_factory=dict)
    """By the number of the call."""
    always: Callable[[Call], Answer | None] = lambda _call: None
    """Answers to give instead, without doing anything."""
    page_size: int = 100
    digests: bool = True
    public: bool = True
    now: Callable[[], float] = time.time
    writes: list[float] = field(default_factory=list)
    """When something was created, changed or deleted."""
    calls: list[Call] = field(default_factory=list)
    origin: str = ""
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: Lock = field(default_factory=Lock)
    """Held while a call is answered."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a job."""
        return {"GITHUB_API_URL": f"{self.origin}/api/v3", "GITHUB_SERVER_URL": self.origin, "GITHUB_TOKEN": TOKEN}

    def reset(self) -> None:
        """Forget everything but the address."""
        for forgotten in (self.refs, self.tags, self.releases, self.faults, self.writes, self.calls):
            forgotten.clear()

    def published(self) -> dict[str, dict[str, str]]:
        """Hashes of the files of every published release, by tag and name."""
        return {
            release.tag: {asset.name: hashlib.sha256(asset.content).hexdigest() for asset in release.assets}
            for release in self.releases
            if not release.draft
        }

    def state(self) -> dict[str, Any]:
        """All that can be seen, but for numbers and hashes that GitHub chooses."""
        return {
            "tags": {ref: self.tags[sha]["message"] if sha in self.tags else sha for ref, sha in self.refs.items()},
            "releases": sorted(
                (
                    release.tag,
                    release.name,
                    release.body,
                    release.draft,
                    sorted((asset.name, asset.state, asset.content) for asset in release.assets),
                )
                for release in self.releases
            ),
        }

    def answer(self, call: Call, *, signed_in: bool) -> Answer | None:
        """Answer a call of the API; None breaks the connection."""
        with self.lock:
            fault = self.faults.get(len(self.calls))
            self.calls.append(call)
            if special := self.always(call):
                return special
            if fault is Fault.LIMITED or self._has_too_many_writes(call):
                message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
                return 403, {"Retry-After": "30"}, {"message": message}
            if fault is Fault.BEFORE:
                if call.query.get("name"):
                    self._upload(int(call.path.split("/")[-2]), call.query["name"], b"").state = "starter"
                return 502, {"Content-Type": "text/html"}, "<html>Unicorn!</html>"
            if fault is Fault.TRUNCATED:
                call = Call(call.method, call.path, call.query, call.content_type, call.body[: len(call.body) // 2])
            answer = self._route(call, signed_in=signed_in)
            if fault is Fault.AFTER:
                return 502, {"Content-Type": "text/html"}, "<html>Unicorn!</html>"
            return None if fault is Fault.CUT else answer

    def _has_too_many_writes(self, call: Call) -> bool:
        if call.method == "GET":
            return False
        now = self.now()
        self.writes.append(now)
        return sum(now - at < 60 for at in self.writes) > 80 or sum(now - at < 3600 for at in self.writes) > 500

    def _route(self, call: Call, *, signed_in: bool) -> Answer:  # noqa: C901, PLR0911, PLR0912 - a table of routes
        owner, name = REPOSITORY.split("/")
        given = json.loads(call.body) if call.content_type == "application/json" and call.body else {}
        if call.method != "GET" and not signed_in:
            return 401, {}, {"message": "Requires authentication"}
        match [call.method, *call.path.strip("/").split("/")]:
            case ["GET", "repos", o, r] if (o, r) == (owner, name):
                return 200, {}, {"full_name": REPOSITORY, "default_branch": "main", "url": self._api()}
            case ["GET", "repos", _, _, "branches", "main"]:
                return 200, {}, {"name": "main", "commit": {"sha": HEAD}}
            case ["GET", "repos", _, _, "git", "matching-refs", *rest]:
                wanted = "refs/" + "/".join(rest)
                return self._page(call, [self._ref(ref) for ref in sorted(self.refs) if ref.startswith(wanted)])
            case ["GET", "repos", _, _, "git", "tags", sha] if sha in self.tags:
                return 200, {}, {"sha": sha, **self.tags[sha]}
            case ["POST", "repos", _, _, "git", "tags"]:
                sha = hashlib.sha1(call.body + str(next(self._ids)).encode(), usedforsecurity=False).hexdigest()
                self.tags[sha] = {"tag": given["tag"], "message": given["message"]}
                return 201, {}, {"sha": sha, **self.tags[sha]}
            case ["POST", "repos", _, _, "git", "refs"]:
                if given["ref"] in self.refs:
                    return 422, {}, {"message": "Reference already exists"}
                self.refs[given["ref"]] = given["sha"]
                return 201, {}, self._ref(given["ref"])
            case ["GET", "repos", _, _, "releases"]:
                shown = [release for release in reversed(self.releases) if signed_in or not release.draft]
                return self._page(call, [self._shown(release) for release in shown])
            case ["POST", "repos", _, _, "releases"]:
                release = Release(next(self._ids), given["tag_name"], given["name"], given["body"], given["draft"])
                self.releases.append(release)
                return 201, {}, self._shown(release)
            case [method, "repos", _, _, "releases", "assets", id_]:
                return self._of_asset(method, int(id_))
            case [_, "repos", _, _, "releases", id_, *rest]:
                found = [each for each in self.releases if each.id == int(id_)]
                return self._of_release(found[0], rest, call, given) if found else _missing()
            case _:
                return _missing()

    def _of_release(self, release: Release, rest: list[str], call: Call, given: dict[str, Any]) -> Answer:  # noqa: PLR0911
        match [call.method, *rest]:
            case ["GET"]:
                return 200, {}, self._shown(release)
            case ["PATCH"]:
                release.name, release.body, release.draft = given["name"], given["body"], given["draft"]
                return 200, {}, self._shown(release)
            case ["DELETE"]:
                self.releases.remove(release)
                return 204, {}, ""
            case ["GET", "assets"]:
                return self._page(call, [self._shown_asset(asset) for asset in release.assets])
            case ["POST", "assets"]:
                if any(asset.name == call.query["name"] for asset in release.assets):
                    taken = {"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}
                    return 422, {}, {"message": "Validation Failed", "errors": [taken]}
                return 201, {}, self._shown_asset(self._upload(release.id, call.query["name"], call.body))
            case _:
                return _missing()

    def _of_asset(self, method: str, asset_id: int) -> Answer:
        for release in self.releases:
            for asset in release.assets:
                if asset.id == asset_id and method == "DELETE":
                    release.assets.remove(asset)
                    return 204, {}, ""
                if asset.id == asset_id:
                    return 200, {}, self._shown_asset(asset)
        return _missing()

    def _upload(self, release_id: int, name: str, content: bytes) -> Asset:
        (release,) = (each for each in self.releases if each.id == release_id)
        release.assets.append(asset := Asset(next(self._ids), name, content))
        return asset

    def _page(self, call: Call, items: list[Any]) -> Answer:
        size = min(int(call.query.get("per_page", 30)), self.page_size)
        page = int(call.query.get("page", 1))
        following = urlencode({**call.query, "page": page + 1})
        link = f'<{self.origin}/api/v3{call.path}?{following}>; rel="next"'
        return 200, {"Link": link} if page * size < len(items) else {}, items[(page - 1) * size : page * size]

    def _api(self, rest: str = "") -> str:
        return f"{self.origin}/api/v3/repos/{REPOSITORY}{rest}"

    def _ref(self, ref: str) -> dict[str, Any]:
        sha = self.refs[ref]
        return {"ref": ref, "object": {"type": "tag" if sha in self.tags else "commit", "sha": sha}}

    def _shown(self, release: Release) -> dict[str, Any]:
        return {
            "id": release.id,
            "url": self._api(f"/releases/{release.id}"),
            "upload_url": f"{self.origin}/api/uploads/repos/{REPOSITORY}/releases/{release.id}/assets{{?name,label}}",
            "tag_name": release.tag,
            "name": release.name,
            "body": release.body,
            "draft": release.draft,
        }

    def _shown_asset(self, asset: Asset) -> dict[str, Any]:
        uploaded = asset.state == "uploaded"
        digest = f"sha256:{hashlib.sha256(asset.content).hexdigest()}" if uploaded else None
        return {
            "id": asset.id,
            "url": self._api(f"/releases/assets/{asset.id}"),
            "name": asset.name,
            "state": asset.state,
            "size": len(asset.content),
            "digest": digest if self.digests else None,
        }

    def download(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Answer somebody who has no token."""
        assert "Authorization" not in headers
        *_, tag, name = map(unquote, path.split("/"))
        for release in self.releases:
            for asset in release.assets:
                if (release.tag, asset.name) == (tag, name) and self.public and not release.draft:
                    return _bytes(asset.content, headers.get("Range"))
        return 404, {"Content-Type": "text/html"}, "Not Found"


def _missing() -> Answer:
    return 404, {}, {"message": "Not Found"}


def _bytes(content: bytes, wanted: str | None) -> Answer:
    if wanted is None:
        return 200, {}, content
    first, last = map(int, wanted.removeprefix("bytes=").split("-"))
    return 206, {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, content[first : last + 1]


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
                return self._send(github.download(url.path, dict(self.headers)))
            path = unquote("/" + url.path.split("/", 3)[3])
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            call = Call(self.command, path, query, self.headers.get("Content-Type"), body)
            answer = github.answer(call, signed_in=self.headers.get("Authorization") == f"token {TOKEN}")
            if answer is None:
                self.close_connection = True
                return None
            return self._send(answer)

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names that http.server looks for

        def _send(self, answer: Answer) -> None:
            status, headers, content = answer
            json_ = isinstance(content, dict | list)
            text = (
                json.dumps(content).encode() if json_ else content if isinstance(content, bytes) else content.encode()
            )
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        github.origin = f"http://127.0.0.1:{server.server_port}"
        yield github
        server.shutdown()
