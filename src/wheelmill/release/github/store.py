"""Releases of a GitHub repository: drafts until they are whole, and never touched once they are published.

And what GitHub takes: wheels that it would not take are not put there.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from wheelmill.errors import ReleaseError, UsageError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.github.assets import Asset, send
from wheelmill.release.github.calls import Calls, Pace
from wheelmill.release.github.claim import claim_tag, contents_of
from wheelmill.release.github.connection import Repository
from wheelmill.release.github.download import downloads_from, probe
from wheelmill.release.github.drafts import all_releases, draft_of, publish_draft
from wheelmill.release.github.ledger import LedgerBranch
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.manifest import MANIFEST, Manifest, manifest_of, manifests_from
from wheelmill.release.store import (
    FailureFile,
    Publication,
    Quotas,
    RefusedWheel,
    files_beside,
    files_of_release,
    is_date_tag,
)
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import atomic_write
from wheelmill.system.progress import QUIET, Progress
from wheelmill.wheel.glibc import promised_glibc
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.platforms import PUBLISHED_POLICY

MAX_ASSET: Final = 2 << 30
"""Bytes that an asset must stay under
(https://docs.github.com/en/repositories/releasing-projects-on-github/about-releases#storage-and-bandwidth-quotas)."""

MAX_WHEELS: Final = 240
"""In one release: GitHub allows 1,000 assets in each and 500 new ones an hour, and every wheel is three."""

QUOTAS: Final = Quotas(asset=MAX_ASSET, wheels=MAX_WHEELS)

_KEPT: Final = frozenset(string.ascii_letters + string.digits + "-_.+")
"""GitHub replaces other characters in the names of assets, such as the ``!`` of an epoch. It does not say which; wheels
with these are on GitHub under their own names, and what is listed after an upload is compared.

https://docs.github.com/en/rest/releases/assets#upload-a-release-asset
"""


def _is_published_policy(platform: str) -> bool:
    glibc, newest = promised_glibc(platform), promised_glibc(PUBLISHED_POLICY)
    return platform == "any" or (glibc is not None and newest is not None and glibc <= newest)


@dataclass(frozen=True, kw_only=True)
class GitHubStore:
    """The date-tagged releases of a repository."""

    repository: Repository
    pace: Pace = field(default_factory=Pace)

    @property
    def failures(self) -> FailureFile:
        """A file on this machine: builds run without permission to write to the repository."""
        return FailureFile(path=user_cache_path("wheelmill") / "failures" / f"{self.repository.full_name}.json")

    @functools.cached_property
    def ledger(self) -> Ledger:
        """A branch of the repository."""
        return Ledger(LedgerBranch(repository=self.repository, pace=self.pace), self.pace.clock)

    @property
    def lock(self) -> Path:
        """A file in the cache."""
        return user_cache_path("wheelmill") / "releases" / f"{self.repository.full_name}.lock"

    @property
    def quotas(self) -> Quotas:
        """Those of GitHub."""
        return QUOTAS

    def manifests(self, warn: Callable[[str], None] | None = None) -> tuple[Manifest, ...]:
        """See `Store.manifests`; the newest first."""
        with Calls(self.repository, self.pace, QUIET) as calls:
            tags = [release.tag_name for release in all_releases(calls) if not release.draft]
        with downloads_from(self.repository, self.pace.clock) as downloads:
            dated = filter(is_date_tag, tags)
            found = ((tag, self.repository.download(tag, MANIFEST), downloads.read(tag, MANIFEST)) for tag in dated)
            return manifests_from(found, warn)

    def assets(self) -> dict[ReleaseTag, frozenset[str]]:
        """See `Store.assets`; the list of releases has them."""
        with Calls(self.repository, self.pace, QUIET) as calls:
            releases = all_releases(calls)
        return {ReleaseTag(release.tag_name): frozenset(each.name for each in release.assets) for release in releases}

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """See `Store.fetch`."""
        copy = folder / filename
        with downloads_from(self.repository, self.pace.clock) as downloads, atomic_write(copy) as file:
            if (found := downloads.save(tag, filename, file)) != sha256:
                raise ReleaseError(f"{tag}/{filename} has sha256 {found}; its manifest says {sha256}")
        return WheelFile.at(copy)

    def read(self, tag: ReleaseTag, filename: str) -> bytes:
        """See `Store.read`."""
        with downloads_from(self.repository, self.pace.clock) as downloads:
            return downloads.read(tag, filename)

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:
        """See `Store.reason_to_refuse`."""
        if replaced := "".join(sorted(set(wheel.filename) - _KEPT)):
            return f"has {replaced!r} in its name, which GitHub would replace"
        if wheel.size >= MAX_ASSET:
            return f"has {wheel.size} bytes; GitHub takes less than 2 GiB: build fewer architectures"
        if newer := [name for name in WheelName.parse(wheel.filename).platforms if not _is_published_policy(name)]:
            return (
                f"is for {', '.join(newer)}; published wheels are for {PUBLISHED_POLICY} or older: build it with "
                f"--sandbox docker, or --policy {PUBLISHED_POLICY}"
            )
        return None

    def check_can_publish(self) -> None:
        """See `Store.check_can_publish`; a token is needed."""
        if self.repository.token is None:
            raise UsageError("GITHUB_TOKEN is not set", hint="a token with 'contents: write' publishes releases")

    def publish(self, wheels: Sequence[TestedWheel], *, now: datetime, progress: Progress) -> Publication:
        """See `Store.publish`."""
        self.check_can_publish()
        reasons = {wheel.file.filename: self.reason_to_refuse(wheel.file) for wheel in wheels}
        refusals = tuple(RefusedWheel(filename=name, reason=reason) for name, reason in reasons.items() if reason)
        accepted = [wheel for wheel in wheels if not reasons[wheel.file.filename]]
        if not accepted:
            return Publication(releases=(), refusals=refusals)
        with Calls(self.repository, self.pace, progress) as calls:
            manifest, late = self._release(accepted, now, calls)
        return Publication(releases=(manifest,), refusals=(*refusals, *late))

    def url_from(self, site: Path) -> str:  # noqa: ARG002 - it is the same from everywhere
        """See `Store.url_from`; a URL."""
        return self.repository.downloads

    def _release(
        self, wheels: Sequence[TestedWheel], now: datetime, calls: Calls
    ) -> tuple[Manifest, tuple[RefusedWheel, ...]]:
        """Claim a tag, fill its draft, publish it, and look at it from outside."""
        published = {release.tag_name for release in all_releases(calls) if not release.draft}
        tag = claim_tag(calls, contents_of(wheel.file for wheel in wheels), published=published, now=now)
        manifest = manifest_of(tag, wheels, now=now)
        draft = draft_of(calls, manifest, self.repository)
        if not draft.draft:
            raise ReleaseError(
                f"{tag} was published meanwhile, with the same wheels", hint="there is nothing left to do"
            )
        assets = {wheel.file.filename: _assets_of(wheel) for wheel in wheels}
        faults = send(calls, draft, list(chain(*assets.values()))).faults
        refusals = {
            filename: fault for filename, own in assets.items() for asset in own if (fault := faults.get(asset.name))
        }
        manifest = replace(manifest, wheels=tuple(each for each in manifest.wheels if each.filename not in refusals))
        if not manifest.wheels:
            raise ReleaseError("\n".join((f"nothing of {tag} could be sent:", *refusals.values())))
        arrived = chain(*(own for filename, own in assets.items() if filename not in refusals))
        once = [Asset.of_bytes(name, content) for name, content in files_of_release(manifest, wheels).items()]
        sent = send(calls, draft, [*arrived, *once])
        if sent.faults:
            raise ReleaseError("\n".join(f"{name} {fault}" for name, fault in sent.faults.items()))
        publish_draft(calls, draft, manifest, self.repository)
        with downloads_from(self.repository, self.pace.clock) as downloads:
            probe(downloads, manifest, unhashed=sent.unhashed)
        return manifest, tuple(RefusedWheel(filename=name, reason=fault) for name, fault in refusals.items())


def _assets_of(wheel: TestedWheel) -> tuple[Asset, ...]:
    """A wheel and what lies beside it."""
    file = wheel.file
    return (
        Asset(name=file.filename, content=file.path, size=file.size, sha256=file.sha256),
        *(Asset.of_bytes(name, content) for name, content in files_beside(wheel).items()),
    )
