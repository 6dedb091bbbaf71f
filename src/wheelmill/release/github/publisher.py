"""Publishing on GitHub: a tag is reserved, a draft gets files wheel by wheel, and is published when it is complete.

The creator of ``refs/tags/X`` owns it: GitHub refuses to create a reference twice, so of two publishers one takes the
next number. The tag's annotation has the hash of its first wheels, so an interrupted publication recognises its tag.
Tags are made before anything else and never removed, so a used one is never used again.

https://docs.github.com/en/rest/git/refs#create-a-reference
https://docs.github.com/en/rest/git/tags#create-a-tag-object
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Final, Self

from github.GitRef import GitRef
from github.GitRelease import GitRelease

from wheelmill.errors import RejectedError, ReleaseError, TimeIsOver
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.github.api import Calls, Repository
from wheelmill.release.github.download import probe
from wheelmill.release.github.drafts import DraftFiles, draft_of, publish_draft
from wheelmill.release.ledger.records import date_tags, is_date_tag
from wheelmill.release.manifest.record import Manifest, ManifestEntry, entry_of, manifest_of
from wheelmill.release.publish_lease import RateLimitedLease
from wheelmill.release.store import Asset, Publication, RefusedWheel, files_beside, files_of_release
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.name import WheelFile

_MARK: Final = "contents: sha256:"
"""Begins the last line of a tag's message."""

MOST_BURNED: Final = 9
"""Tags in a row that may have been those of immutable releases that were removed; a rule of the repository against all
new tags looks the same."""


def contents_of(wheels: Iterable[WheelFile]) -> Sha256:
    """Hash names and bytes of the wheels of a release."""
    lines = sorted(f"{wheel.sha256}  {wheel.filename}\n" for wheel in wheels)
    return sha256_of_bytes("".join(lines).encode())


def _owner(calls: Calls, tag: ReleaseTag, contents: Sha256) -> str | None:
    """Try to make a tag; return the contents in its annotation, which may be those of another publisher."""

    def find() -> GitRef | None:
        return next((ref for ref in _tags(calls, tag) if _name_of(ref) == tag), None)

    def make() -> GitRef:
        commit = calls.read(
            "reading the default branch",
            lambda: calls.repository.get_branch(calls.repository.default_branch).commit.sha,
        )
        message = f"wheels of {tag}\n\n{_MARK}{contents}\n"
        make_tag, make_ref = calls.repository.create_git_tag, calls.repository.create_git_ref
        annotated = calls.write(f"describing tag {tag}", lambda: make_tag(tag, message, commit, "commit"))
        return calls.write(f"making tag {tag}", lambda: make_ref(f"refs/tags/{tag}", annotated.sha))

    return _contents(calls, calls.ensure(f"making tag {tag}", find, make))


def _tags(calls: Calls, beginning: str) -> list[GitRef]:
    return calls.read("listing tags", lambda: list(calls.repository.get_git_matching_refs(f"tags/{beginning}")))


def _name_of(ref: GitRef) -> str:
    return ref.ref.removeprefix("refs/tags/")


def _contents(calls: Calls, ref: GitRef) -> str | None:
    """Return the contents hash of a tag; None if it is not annotated for a release."""
    if ref.object.type != "tag":
        return None
    annotated = calls.read(f"reading tag {_name_of(ref)}", lambda: calls.repository.get_git_tag(ref.object.sha))
    *_, last = annotated.message.splitlines() or [""]
    return last.removeprefix(_MARK) if last.startswith(_MARK) else None


@dataclass(frozen=True, kw_only=True)
class _SentWheel:
    """Wheel that was uploaded to a draft. Its file may be gone from this disk by now."""

    wheel: TestedWheel
    entry: ManifestEntry
    assets: tuple[Asset, ...]
    """The wheel and the files beside it."""

    @classmethod
    def of(cls, wheel: TestedWheel) -> Self:
        beside = (Asset.of_bytes(name, content) for name, content in files_beside(wheel).items())
        return cls(wheel=wheel, entry=entry_of(wheel), assets=(Asset.of_wheel(wheel.file), *beside))

    def refusal(self, faults: Mapping[str, str]) -> RefusedWheel | None:
        """Return the first fault of its assets, given by name, as a refusal; None if all arrived."""
        reason = next((faults[asset.name] for asset in self.assets if asset.name in faults), None)
        return RefusedWheel(filename=self.entry.filename, code="not-sent", reason=reason) if reason else None


@dataclass(kw_only=True)
class _Draft:
    contents: Sha256
    """Hash of the first wheels that were put into it, by which an interrupted publication is recognized."""
    tag: ReleaseTag
    release: GitRelease
    files: DraftFiles
    sent: list[_SentWheel] = field(default_factory=list)

    def manifest(self, now: datetime) -> Manifest:
        return manifest_of(self.tag, [each.entry for each in self.sent], now=now)

    def drop(self, faults: Mapping[str, str]) -> tuple[RefusedWheel, ...]:
        """Drop the wheels whose assets have faults; return them with the reasons."""
        looked = [(each, each.refusal(faults)) for each in self.sent]
        self.sent = [each for each, refusal in looked if refusal is None]
        return tuple(refusal for _, refusal in looked if refusal)


class GitHubPublisher:
    """Publisher that holds the publish lease; see `Publisher`."""

    def __init__(
        self,
        repository: Repository,
        calls: Calls,
        lease: RateLimitedLease,
        *,
        used: Iterable[ReleaseTag],
        now: datetime,
    ) -> None:
        self._repository, self._calls, self._lease, self._now = repository, calls, lease, now
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
            self.over = True  # wheels that arrived are still published
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
        assert draft is not None  # noqa: S101 - callers check the count first
        with self._lease.finishing():
            refusals = self._reconcile(draft)
            while (manifest := self._try(draft)) is None:
                draft.tag, _ = self._claim(draft.contents)
                refusals += self._reconcile(draft)
        self._used.add(draft.tag)
        probe(self._repository, self._calls.clock, manifest, unhashed=draft.files.unhashed)
        return Publication(releases=(manifest,), refusals=refusals)

    def _try(self, draft: _Draft) -> Manifest | None:
        """Publish a draft, after a last check of the lease; None if its tag can never be used again."""
        manifest = draft.manifest(self._now)
        self._lease.renew()
        try:
            publish_draft(self._calls, draft.release, manifest, self._repository)
        except RejectedError as error:
            if not error.burned or len(self._burned) == MOST_BURNED:
                raise
            self._burned.add(draft.tag)
            return None
        return manifest

    def _begin(self, contents: Sha256) -> _Draft:
        tag, is_new = self._claim(contents)
        release = draft_of(self._calls, tag, is_new=is_new)
        if not release.draft:
            raise ReleaseError(
                "published-meanwhile", f"{tag} was published meanwhile, with the same wheels", hint="run this again"
            )
        self._lease.tag, self._lease.draft = tag, release.id
        return _Draft(contents=contents, tag=tag, release=release, files=DraftFiles(self._calls, release))

    def _claim(self, contents: Sha256) -> tuple[ReleaseTag, bool]:
        """Find the tag that an earlier try made for these contents, or make today's next one; True if it is new."""
        used = self._used | self._burned
        taken = {_name_of(ref): ref for ref in _tags(self._calls, "v")}
        for name, ref in taken.items():
            if name not in used and is_date_tag(name) and _contents(self._calls, ref) == contents:
                return ReleaseTag(name), False
        rejected = 0
        for tag in (tag for tag in date_tags(self._now) if tag not in taken and tag not in used):
            try:
                if _owner(self._calls, tag, contents) == contents:
                    return tag, True
            except RejectedError as error:
                rejected += 1
                if not error.burned or rejected > MOST_BURNED:
                    raise
        raise AssertionError  # a day has no last tag

    def _reconcile(self, draft: _Draft) -> tuple[RefusedWheel, ...]:
        """Make a draft have exactly the files in its manifest; return the wheels that did not arrive as sent."""
        refusals: tuple[RefusedWheel, ...] = ()
        while True:
            manifest, wheels = draft.manifest(self._now), [each.wheel for each in draft.sent]
            once = [Asset.of_bytes(name, content) for name, content in files_of_release(manifest, wheels).items()]
            faults = draft.files.reconcile([*chain(*(each.assets for each in draft.sent)), *once])
            if not faults:
                return refusals
            gone = draft.drop(faults)
            refusals += gone
            if not gone or not draft.sent:
                raise ReleaseError("assets-refused", "\n".join(f"{name} {fault}" for name, fault in faults.items()))
