"""Publishing on GitHub: a draft gets files, wheel by wheel, and is published when it is complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Self

from github.GitRelease import GitRelease

from wheelmill.errors import RejectedError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.asset import Asset
from wheelmill.release.github.assets import DraftFiles
from wheelmill.release.github.calls import Calls
from wheelmill.release.github.claim import MOST_BURNED, claim_tag, contents_of
from wheelmill.release.github.connection import Repository
from wheelmill.release.github.download import downloads_from, probe
from wheelmill.release.github.drafts import draft_of, publish_draft
from wheelmill.release.github.turn import CountedTurn
from wheelmill.release.manifest import Manifest, ManifestEntry, entry_of, manifest_of
from wheelmill.release.store import Publication, RefusedWheel, files_beside, files_of_release
from wheelmill.smoke.verdict import TestedWheel


@dataclass(frozen=True, kw_only=True)
class _SentWheel:
    """A wheel that was uploaded to a draft. Its file may be gone from this disk by now."""

    wheel: TestedWheel
    entry: ManifestEntry
    assets: tuple[Asset, ...]
    """The wheel and what lies beside it."""

    @classmethod
    def of(cls, wheel: TestedWheel) -> Self:
        """Describe a wheel that is to be uploaded, with all its files."""
        file = wheel.file
        beside = (Asset.of_bytes(name, content) for name, content in files_beside(wheel).items())
        itself = Asset(name=file.filename, content=file.path, size=file.size, sha256=file.sha256)
        return cls(wheel=wheel, entry=entry_of(wheel), assets=(itself, *beside))

    def refusal(self, faults: Mapping[str, str]) -> RefusedWheel | None:
        """Say why it did not arrive, given the faults of assets by name; None when it did."""
        reasons = (faults[asset.name] for asset in self.assets if asset.name in faults)
        return next(
            (RefusedWheel(filename=self.entry.filename, code="not-sent", reason=reason) for reason in reasons), None
        )


@dataclass(kw_only=True)
class _Draft:
    """The release that is being made."""

    contents: Sha256
    """Of the first wheels that were put into it: a publication that broke off is known again by them."""
    tag: ReleaseTag
    release: GitRelease
    files: DraftFiles
    sent: list[_SentWheel] = field(default_factory=list)
    unhashed: frozenset[str] = frozenset()
    """Names of files that GitHub gives no hash of."""

    def manifest(self, now: datetime) -> Manifest:
        """Describe the wheels that arrived."""
        return manifest_of(self.tag, [each.entry for each in self.sent], now=now)

    def drop(self, faults: Mapping[str, str]) -> tuple[RefusedWheel, ...]:
        """Drop the wheels whose assets have faults; returns them with the reasons."""
        looked = [(each, each.refusal(faults)) for each in self.sent]
        self.sent = [each for each, refusal in looked if refusal is None]
        return tuple(refusal for _, refusal in looked if refusal)


class GitHubPublisher:
    """Publishes in its turn; see `Publisher`."""

    def __init__(
        self, repository: Repository, calls: Calls, turn: CountedTurn, *, used: Iterable[ReleaseTag], now: datetime
    ) -> None:
        self._repository, self._calls, self._turn, self._now = repository, calls, turn, now
        self._used = set(used)
        self._burned: set[ReleaseTag] = set()
        self._draft: _Draft | None = None
        self.over = False

    @property
    def count(self) -> int:
        """See `Publisher.count`."""
        return len(self._draft.sent) if self._draft else 0

    def add(self, wheels: Sequence[TestedWheel]) -> tuple[RefusedWheel, ...]:
        """See `Publisher.add`."""
        adding = [_SentWheel.of(wheel) for wheel in wheels]
        assets = list(chain(*(each.assets for each in adding)))
        try:
            if self._draft is None:
                self._draft = self._begin(contents_of(wheel.file for wheel in wheels))
            faults = self._draft.files.send(assets)
        except TimeIsOver:
            self.over = True  # what arrived is published all the same
            if self._draft is None:
                return ()
            faults = self._draft.files.faults(assets)
        self._draft.sent += adding
        refusals = self._draft.drop(faults)
        if not self._draft.sent and not self.over:
            raise ReleaseError(
                "nothing-sent", "\n".join((f"nothing of {self._draft.tag} could be sent:", *map(str, refusals)))
            )
        return () if self.over else refusals

    def publish(self) -> Publication:
        """See `Publisher.publish`."""
        draft, self._draft = self._draft, None
        assert draft is not None  # noqa: S101 - who calls this asks for the count
        with self._turn.finishing():
            refusals = self._settle(draft)
            while (manifest := self._try(draft)) is None:
                draft.tag, _ = self._claim(draft.contents)
                refusals += self._settle(draft)
        self._used.add(draft.tag)
        with downloads_from(self._repository, self._calls.clock) as downloads:
            probe(downloads, manifest, unhashed=draft.unhashed)
        return Publication(releases=(manifest,), refusals=refusals)

    def _try(self, draft: _Draft) -> Manifest | None:
        """Publish a draft, after one more check; None if its tag can never be used again."""
        manifest = draft.manifest(self._now)
        self._turn.look()
        try:
            publish_draft(self._calls, draft.release, manifest, self._repository)
        except RejectedError as error:
            if not error.burned or len(self._burned) == MOST_BURNED:
                raise
            self._burned.add(draft.tag)
            return None
        return manifest

    def _begin(self, contents: Sha256) -> _Draft:
        """Make a draft, or find the one that was made for the same wheels before."""
        tag, is_new = self._claim(contents)
        release = draft_of(self._calls, tag, is_new=is_new)
        if not release.draft:
            raise ReleaseError(
                "published-meanwhile", f"{tag} was published meanwhile, with the same wheels", hint="run this again"
            )
        self._turn.tag, self._turn.draft = tag, release.id
        return _Draft(contents=contents, tag=tag, release=release, files=DraftFiles(self._calls, release))

    def _claim(self, contents: Sha256) -> tuple[ReleaseTag, bool]:
        return claim_tag(self._calls, contents, used=self._used | self._burned, now=self._now)

    def _settle(self, draft: _Draft) -> tuple[RefusedWheel, ...]:
        """Make a draft have exactly the files in its manifest, by what GitHub lists now.

        Returns:
            The wheels that are no longer there as they were sent.

        Raises:
            ReleaseError: the manifest does not arrive, or no wheel is left.
        """
        refusals: tuple[RefusedWheel, ...] = ()
        while True:
            manifest, wheels = draft.manifest(self._now), [each.wheel for each in draft.sent]
            once = [Asset.of_bytes(name, content) for name, content in files_of_release(manifest, wheels).items()]
            settled = draft.files.settle([*chain(*(each.assets for each in draft.sent)), *once])
            if not settled.faults:
                draft.unhashed = settled.unhashed
                return refusals
            gone = draft.drop(settled.faults)
            refusals += gone
            if not gone or not draft.sent:
                raise ReleaseError(
                    "assets-refused", "\n".join(f"{name} {fault}" for name, fault in settled.faults.items())
                )
