"""A GitHub server on this machine, as far as releases go: its REST API as GitHub documents it, and its download pages.

Its limits count what all processes do together.

https://docs.github.com/en/rest/releases
https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
https://docs.github.com/en/code-security/concepts/supply-chain-security/immutable-releases
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.github_artifacts import Artifacts, send
from tests.github_git import HEAD, Answer, GitData

REPOSITORY = "octo/wheels"
TOKEN = "a-token-of-the-tests"
__all__ = ["HEAD", "REPOSITORY", "TOKEN", "Answer", "Asset", "Call", "Fault", "GitHub", "Release", "serving"]

MOST_LISTED = 21_000
"""Assets in one answer: making a longer one takes GitHub more than the 10 seconds after which it ends a request."""

CALLS_AN_HOUR = 1000
"""Of a job's token, for one repository."""


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
    PAGE = "200 page"
    """The server does it, and what stands before it answers with a page for people."""
    EMPTY = "200 empty"
    """The server does it, and the answer has no body."""

    @property
    def answer(self) -> Answer | None:
        """What takes the place of the answer to what was done."""
        page = {"Content-Type": "text/html"}, "<html>Unicorn!</html>"
        answers: dict[Fault, Answer | None] = {Fault.AFTER: (502, *page), Fault.PAGE: (200, *page), Fault.CUT: None}
        return answers.get(self, (200, {}, ""))


@dataclass
class Asset:
    id: int
    name: str
    content: bytes
    state: str = "uploaded"
    downloads: int = 0


@dataclass
class Release:
    id: int
    tag: str
    name: str
    body: str
    draft: bool = True
    latest: bool = False
    """Whether it became the one that the repository's page shows."""
    assets: list[Asset] = field(default_factory=list)
    created_at: str = "2026-11-21T12:30:15Z"


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


@dataclass(kw_only=True)
class GitHub(GitData):
    """What a server has, how it behaves, and what it was asked."""

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
    immutable: bool = True
    """Whether nothing of a published release can be changed or removed."""
    writes: list[float] = field(default_factory=list)
    """When something was created, changed or deleted."""
    asked: list[float] = field(default_factory=list)
    """When the API was asked for anything."""
    calls: list[Call] = field(default_factory=list)
    artifacts: Artifacts = field(default_factory=Artifacts)
    runs: dict[str, str] = field(default_factory=dict)
    """The status of each run of jobs, by its number."""
    """What jobs handed to each other."""
    lock: Lock = field(default_factory=Lock)
    """Held while a call is answered."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a job."""
        return {"GITHUB_API_URL": f"{self.origin}/api/v3", "GITHUB_SERVER_URL": self.origin, "GITHUB_TOKEN": TOKEN}

    def reset(self) -> None:
        """Forget everything but the address."""
        kept = (self.refs, self.tags, self.burned, self.releases, self.faults, self.writes, self.asked, self.calls)
        for forgotten in kept:
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
            "tags": {
                ref: self.tags[sha]["message"] if sha in self.tags else sha
                for ref, sha in self.refs.items()
                if ref.startswith("refs/tags/")
            },
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

    def is_whole(self) -> bool:
        """Whether every published release has all that its manifest says, byte for byte."""
        published = [{asset.name: asset for asset in each.assets} for each in self.releases if not each.draft]
        return all(
            wheel["sha256"] == hashlib.sha256(assets[wheel["filename"]].content).hexdigest()
            for assets in published
            for wheel in json.loads(assets["manifest.json"].content)["wheels"]
        )

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
                    self._upload(int(call.path.split("/")[-2]), call.query["name"], b"").state = "starter"
                return Fault.AFTER.answer
            if fault is Fault.TRUNCATED:
                call = Call(call.method, call.path, call.query, call.content_type, call.body[: len(call.body) // 2])
            answer = self._route(call, signed_in=signed_in)
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
                return self._page(call, [self.ref(ref) for ref in sorted(self.refs) if ref.startswith(wanted)])
            case [method, "repos", _, _, "git", *rest]:
                return self.answer_git(method, rest, given) or _missing()
            case ["GET", "repos", _, _, "actions", "runs", number] if number in self.runs:
                return 200, {}, {"id": int(number), "status": self.runs[number]}
            case ["GET", "repos", _, _, "actions", *rest]:
                return self.artifacts.answer(rest, call.query, self.origin) or _missing()
            case ["GET", "repos", _, _, "releases"]:
                seen = [release for release in reversed(self.releases) if signed_in or not release.draft]
                return self._page_of_releases(call, seen)
            case ["GET", "repos", _, _, "releases", "tags", tag]:
                named = [each for each in self.releases if each.tag == tag and not each.draft]  # it hides drafts
                return (200, {}, self._shown(named[0])) if named else _missing()
            case ["POST", "repos", _, _, "releases"]:
                release = Release(next(self._ids), given["tag_name"], given["name"], given["body"], given["draft"])
                release.created_at = datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
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
                release.tag = given.get("tag_name", release.tag)
                if release.draft and not given["draft"] and release.tag in self.burned:
                    return _refused({"field": "tag_name", "message": "tag_name was used by an immutable release"})
                release.name, release.body, release.draft = given["name"], given["body"], given["draft"]
                release.latest = not release.draft and given.get("make_latest", "true") != "false"
                return 200, {}, self._shown(release)
            case ["DELETE"]:
                self.releases.remove(release)
                if self._is_fixed(release):
                    self.burned.add(release.tag)
                return 204, {}, ""
            case ["GET", "assets"]:
                return self._page(call, [self._shown_asset(asset) for asset in release.assets])
            case ["POST", "assets"] if self._is_fixed(release):
                return _refused({"message": "Cannot upload assets to an immutable release."})
            case ["POST", "assets"]:
                if any(asset.name == call.query["name"] for asset in release.assets):
                    return _refused({"resource": "ReleaseAsset", "code": "already_exists", "field": "name"})
                return 201, {}, self._shown_asset(self._upload(release.id, call.query["name"], call.body))
            case _:
                return _missing()

    def _of_asset(self, method: str, asset_id: int) -> Answer:
        for release in self.releases:
            for asset in release.assets:
                if asset.id == asset_id and method == "DELETE" and self._is_fixed(release):
                    return _refused({"message": "Cannot delete asset from an immutable release"})
                if asset.id == asset_id and method == "DELETE":
                    release.assets.remove(asset)
                    return 204, {}, ""
                if asset.id == asset_id:
                    return 200, {}, self._shown_asset(asset)
        return _missing()

    def _is_fixed(self, release: Release) -> bool:
        return self.immutable and not release.draft

    def _upload(self, release_id: int, name: str, content: bytes) -> Asset:
        (release,) = (each for each in self.releases if each.id == release_id)
        release.assets.append(asset := Asset(next(self._ids), name, content))
        return asset

    def _page_of_releases(self, call: Call, releases: list[Release]) -> Answer:
        """A page of releases with all of their assets, if that can be made in time."""
        status, headers, page = self._page(call, releases)
        if sum(len(release.assets) for release in page) > MOST_LISTED:
            return 504, {"Content-Type": "text/html"}, "<html>We couldn't respond to your request in time.</html>"
        return status, headers, [self._shown(release) for release in page]

    def _page(self, call: Call, items: list[Any]) -> Answer:
        size = min(int(call.query.get("per_page", 30)), self.page_size)
        page = int(call.query.get("page", 1))
        following = urlencode({**call.query, "page": page + 1})
        link = f'<{self.origin}/api/v3{call.path}?{following}>; rel="next"'
        return 200, {"Link": link} if page * size < len(items) else {}, items[(page - 1) * size : page * size]

    def _api(self, rest: str = "") -> str:
        return f"{self.origin}/api/v3/repos/{REPOSITORY}{rest}"

    def _shown(self, release: Release) -> dict[str, Any]:
        return {
            "id": release.id,
            "url": self._api(f"/releases/{release.id}"),
            "upload_url": f"{self.origin}/api/uploads/repos/{REPOSITORY}/releases/{release.id}/assets{{?name,label}}",
            "tag_name": release.tag,
            "name": release.name,
            "body": release.body,
            "draft": release.draft,
            "immutable": self._is_fixed(release),
            "created_at": release.created_at,
            "assets": [self._shown_asset(asset) for asset in release.assets],
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
            "download_count": asset.downloads,
            "digest": digest if self.digests else None,
        }

    def download(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Answer somebody who has no token."""
        assert "Authorization" not in headers
        if path.startswith("/blobs/"):
            return self.artifacts.download(int(path.removeprefix("/blobs/")))
        if "/archive/" in path:
            return self.archive(path.partition("/archive/")[2])
        *_, tag, name = map(unquote, path.split("/"))
        for release in self.releases:
            for asset in release.assets:
                if (release.tag, asset.name) == (tag, name) and self.public and not release.draft:
                    return _bytes(asset.content, headers.get("Range"))
        return 404, {"Content-Type": "text/html"}, "Not Found"


def _refused(error: dict[str, str]) -> Answer:
    return 422, {}, {"message": "Validation Failed", "errors": [{"code": "custom", **error}]}


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

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        github.origin = f"http://127.0.0.1:{server.server_port}"
        yield github
        server.shutdown()
