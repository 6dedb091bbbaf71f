"""Releases of a GitHub repository: drafts until they are whole, and never touched once they are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from platformdirs import user_cache_path

from wheelmill.errors import ReleaseError, UsageError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.failures import FailureFile
from wheelmill.release.github.assets import Asset, send
from wheelmill.release.github.calls import Calls
from wheelmill.release.github.claim import claim_tag, contents_of
from wheelmill.release.github.download import downloads_from
from wheelmill.release.github.drafts import all_releases, draft_of, publish_draft
from wheelmill.release.github.notes import body_of, title_of
from wheelmill.release.github.pace import Pace
from wheelmill.release.github.probe import probe
from wheelmill.release.github.quotas import QUOTAS, reason_to_refuse
from wheelmill.release.github.repository import Repository
from wheelmill.release.manifest import MANIFEST, Manifest, manifest_from, manifest_of
from wheelmill.release.store import Publication, Quotas, RefusedWheel, files_beside
from wheelmill.release.tags import is_date_tag
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import atomic_write
from wheelmill.system.progress import QUIET, Progress
from wheelmill.system.record_files import record_bytes
from wheelmill.wheel.name import WheelFile


@dataclass(frozen=True, kw_only=True)
class GitHubStore:
    """The date-tagged releases of a repository."""

    repository: Repository
    pace: Pace = field(default_factory=Pace)

    @property
    def failures(self) -> FailureFile:
        """A file on this machine: builds run without permission to write to the repository."""
        return FailureFile(path=user_cache_path("wheelmill") / "failures" / f"{self.repository.full_name}.json")

    @property
    def quotas(self) -> Quotas:
        """Those of GitHub."""
        return QUOTAS

    def manifests(self) -> tuple[Manifest, ...]:
        """See `Store.manifests`; the newest first."""
        with Calls(self.repository, self.pace, QUIET) as calls:
            tags = [release.tag_name for release in all_releases(calls) if not release.draft]
        with downloads_from(self.repository, self.pace.clock) as downloads:
            return tuple(
                manifest_from(downloads.read(tag, MANIFEST), tag=tag, source=self.repository.download(tag, MANIFEST))
                for tag in tags
                if is_date_tag(tag)
            )

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

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:
        """See `Store.reason_to_refuse`."""
        return reason_to_refuse(wheel)

    def check_can_publish(self) -> None:
        """See `Store.check_can_publish`; a token is needed."""
        if self.repository.token is None:
            raise UsageError("GITHUB_TOKEN is not set", hint="a token with 'contents: write' publishes releases")

    def publish(self, wheels: Sequence[TestedWheel], *, now: datetime, progress: Progress) -> Publication:
        """See `Store.publish`."""
        self.check_can_publish()
        reasons = {wheel.file.filename: reason_to_refuse(wheel.file) for wheel in wheels}
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
        draft = draft_of(calls, tag, title=title_of(manifest), body=body_of(manifest, self.repository))
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
        sent = send(calls, draft, [*arrived, Asset.of_bytes(MANIFEST, record_bytes(manifest))])
        if sent.faults:
            raise ReleaseError("\n".join(f"{name} {fault}" for name, fault in sent.faults.items()))
        publish_draft(calls, draft, title=title_of(manifest), body=body_of(manifest, self.repository))
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
