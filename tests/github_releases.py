"""Releases, assets and immutable releases: https://docs.github.com/en/rest/releases"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlencode

from tests.github_calls import REPOSITORY, Answer, Call
from tests.github_git import GitData


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


@dataclass(kw_only=True)
class ReleaseData(GitData):
    """A repository's releases, and how their host behaves."""

    releases: list[Release] = field(default_factory=list)
    """The oldest first."""
    page_size: int = 100
    most_listed: int = 21_000
    """Assets in one answer: making a longer one takes GitHub more than the 10 seconds after which it ends a request."""
    digests: bool = True
    public: bool = True
    now: Callable[[], float] = time.time
    immutable: bool = True
    """Whether nothing of a published release can be changed or removed."""

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

    def answer_releases(self, rest: list[str], call: Call, given: dict[str, Any], *, signed_in: bool) -> Answer | None:
        """Answer a call below ``/repos/OWNER/REPO/releases``; None where there is no such thing."""
        match [call.method, *rest]:
            case ["GET"]:
                return self._page_of_releases(call, signed_in=signed_in)
            case ["GET", "tags", tag]:
                named = [each for each in self.releases if each.tag == tag and not each.draft]  # it hides drafts
                return (200, {}, self._shown(named[0])) if named else None
            case ["POST"]:
                release = Release(next(self._ids), given["tag_name"], given["name"], given["body"], given["draft"])
                release.created_at = datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                self.releases.append(release)
                return 201, {}, self._shown(release)
            case [method, "assets", id_]:
                return self._of_asset(method, int(id_))
            case [_, id_, *further]:
                found = [each for each in self.releases if each.id == int(id_)]
                return self._of_release(found[0], further, call, given) if found else None
            case _:
                return None

    def answer_download(self, path: str, wanted: str | None) -> Answer | None:
        """Answer who downloads an asset, or the bytes of it that are wanted; None where there is no such thing."""
        *_, tag, name = map(unquote, path.split("/"))
        for release in self.releases:
            for asset in release.assets:
                if (release.tag, asset.name) == (tag, name) and self.public and not release.draft:
                    return _bytes(asset.content, wanted)
        return None

    def _of_release(self, release: Release, rest: list[str], call: Call, given: dict[str, Any]) -> Answer | None:  # noqa: PLR0911
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
                return self.page(call, [self._shown_asset(asset) for asset in release.assets])
            case ["POST", "assets"] if self._is_fixed(release):
                return _refused({"message": "Cannot upload assets to an immutable release."})
            case ["POST", "assets"]:
                if any(asset.name == call.query["name"] for asset in release.assets):
                    return _refused({"resource": "ReleaseAsset", "code": "already_exists", "field": "name"})
                return 201, {}, self._shown_asset(self.upload(release.id, call.query["name"], call.body))
            case _:
                return None

    def _of_asset(self, method: str, asset_id: int) -> Answer | None:
        for release in self.releases:
            for asset in release.assets:
                if asset.id == asset_id and method == "DELETE" and self._is_fixed(release):
                    return _refused({"message": "Cannot delete asset from an immutable release"})
                if asset.id == asset_id and method == "DELETE":
                    release.assets.remove(asset)
                    return 204, {}, ""
                if asset.id == asset_id:
                    return 200, {}, self._shown_asset(asset)
        return None

    def _is_fixed(self, release: Release) -> bool:
        return self.immutable and not release.draft

    def upload(self, release_id: int, name: str, content: bytes) -> Asset:
        """Add an asset to a release."""
        (release,) = (each for each in self.releases if each.id == release_id)
        release.assets.append(asset := Asset(next(self._ids), name, content))
        return asset

    def _page_of_releases(self, call: Call, *, signed_in: bool) -> Answer:
        """A page of releases with all of their assets, if that can be made in time."""
        seen = [release for release in reversed(self.releases) if signed_in or not release.draft]
        status, headers, page = self.page(call, seen)
        if sum(len(release.assets) for release in page) > self.most_listed:
            return 504, {"Content-Type": "text/html"}, "<html>We couldn't respond to your request in time.</html>"
        return status, headers, [self._shown(release) for release in page]

    def page(self, call: Call, items: list[Any]) -> Answer:
        """The part of a list that is asked for, with the address of what follows."""
        size = min(int(call.query.get("per_page", 30)), self.page_size)
        page = int(call.query.get("page", 1))
        following = urlencode({**call.query, "page": page + 1})
        link = f'<{self.origin}/api/v3{call.path}?{following}>; rel="next"'
        return 200, {"Link": link} if page * size < len(items) else {}, items[(page - 1) * size : page * size]

    def api(self, rest: str = "") -> str:
        """The address of something in the repository."""
        return f"{self.origin}/api/v3/repos/{REPOSITORY}{rest}"

    def _shown(self, release: Release) -> dict[str, Any]:
        return {
            "id": release.id,
            "url": self.api(f"/releases/{release.id}"),
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
            "url": self.api(f"/releases/assets/{asset.id}"),
            "name": asset.name,
            "state": asset.state,
            "size": len(asset.content),
            "download_count": asset.downloads,
            "digest": digest if self.digests else None,
        }


def _refused(error: dict[str, str]) -> Answer:
    return 422, {}, {"message": "Validation Failed", "errors": [{"code": "custom", **error}]}


def _bytes(content: bytes, wanted: str | None) -> Answer:
    if wanted is None:
        return 200, {}, content
    first, last = map(int, wanted.removeprefix("bytes=").split("-"))
    return 206, {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, content[first : last + 1]
