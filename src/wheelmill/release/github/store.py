"""Releases and ledger of a GitHub repository: drafts until they are complete, never changed once published.

The store refuses wheels that GitHub would refuse, before their upload. The ledger is a branch to which only the factory
writes. It is read as the archive of a commit: a public download that counts as no API call. A change is a commit on top
of the one that was read. Without force, GitHub moves a branch only to a descendant of its commit. So of two concurrent
writers one gets a refusal, and tries again.

https://docs.github.com/en/repositories/working-with-files/using-files/downloading-source-code-archives
https://docs.github.com/en/rest/git/trees#create-a-tree
https://docs.github.com/en/rest/git/commits#create-a-commit
https://docs.github.com/en/rest/git/refs#update-a-reference
"""

from __future__ import annotations

import functools
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final

from github import UnknownObjectException
from github.GithubObject import NotSet, Opt
from github.GitTree import GitTree
from github.InputGitTreeElement import InputGitTreeElement

from wheelmill.errors import NetworkError, RejectedError, ReleaseError, UsageError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.github.api import Calls, Pace, Repository
from wheelmill.release.github.download import without_token
from wheelmill.release.github.drafts import all_releases, orphaned_drafts
from wheelmill.release.github.publisher import GitHubPublisher
from wheelmill.release.ledger.ledger import Ledger, Opened
from wheelmill.release.ledger.records import is_like_date_tag
from wheelmill.release.ledger.releases import ReadFiles, WantedFiles, cached_read
from wheelmill.release.publish_lease import RateLimitedLease
from wheelmill.release.store import Orphan, PlainStore, Quotas, checked_wheel
from wheelmill.system.files import atomic_write
from wheelmill.system.progress import QUIET, Clock, Progress
from wheelmill.web.client import MAX_CONTENT
from wheelmill.web.transport import PATIENT
from wheelmill.wheel.archive import MAX_WHEEL
from wheelmill.wheel.name import WheelFile, name_without_label
from wheelmill.wheel.platforms import PUBLISHED_POLICY, promised_glibc

BRANCH: Final = "ledger"
_PIECE: Final = 4 << 20
"""Bytes of files that are sent in one call: a new ledger of many releases is sent in several."""


@dataclass(frozen=True, kw_only=True)
class LedgerBranch:
    """Branch ``ledger`` of a repository."""

    repository: Repository
    pace: Pace
    commit: str | None = None
    """State to read; None reads the newest."""

    @property
    def name(self) -> str:
        """See `LedgerPlace.name`; the URL of its web page."""
        return f"{self.repository.server_url.rstrip('/')}/{self.repository.full_name}/tree/{BRANCH}"

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """See `LedgerPlace.read`; an API call if no commit is named, and a download."""
        revision = self.commit
        if revision is None:
            with Calls(self.repository, self.pace, QUIET) as calls:
                revision = _newest(calls)
        return revision, None if revision in {None, seen} else self._archive(revision)

    def write(self, opened: Opened, files: Mapping[str, bytes], why: str) -> str | None:
        """See `LedgerPlace.write`; three API calls that create something."""
        if self.commit or not self.repository.token:
            hint = "a GITHUB_TOKEN with 'contents: write' can write it"
            raise ReleaseError("read-only", f"{self.name} can only be read here", hint=hint)
        with Calls(self.repository, self.pace, QUIET) as calls:
            commit = _commit(calls, opened, files, why)
            try:
                _move(calls, opened.revision, commit)
            except RejectedError:
                if _newest(calls) == opened.revision:
                    raise
                return None
        return commit

    def _archive(self, commit: str) -> bytes:
        """Download the files of a commit; a new commit may not be available at once."""
        url = f"{self.repository.server_url.rstrip('/')}/{self.repository.full_name}/archive/{commit}.tar.gz"
        with without_token(self.pace.clock) as web:
            for pause in PATIENT:
                try:
                    return web.read(url)
                except NetworkError as error:
                    if error.status != HTTPStatus.NOT_FOUND:
                        raise
                    self.pace.clock.sleep(pause)
            return web.read(url)


def _newest(calls: Calls) -> str | None:
    """Return the commit of the branch; None if there is no such branch."""
    name = f"heads/{BRANCH}"
    refs = calls.read("reading the ledger's branch", lambda: list(calls.repository.get_git_matching_refs(name)))
    return next((ref.object.sha for ref in refs if ref.ref == f"refs/{name}"), None)


def _commit(calls: Calls, opened: Opened, files: Mapping[str, bytes], why: str) -> str:
    """Commit the files that differ, on no branch yet; return the hash of the commit."""
    repository, revision = calls.repository, opened.revision
    parent = revision and calls.read("reading the ledger's commit", lambda: repository.get_git_commit(revision))
    tree: Opt[GitTree] = parent.tree if parent and opened.files else NotSet
    for piece in _pieces(opened.files, files):
        base, elements = tree, piece
        tree = calls.write("writing the ledger", lambda: repository.create_git_tree(elements, base))  # noqa: B023 - called at once
    written, parents = tree, [parent] if parent else []
    assert isinstance(written, GitTree)  # noqa: S101
    return calls.write("writing the ledger", lambda: repository.create_git_commit(why, written, parents)).sha


def _pieces(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[list[InputGitTreeElement]]:
    """Split the differences into lists that fit one call."""
    piece = [InputGitTreeElement(path, "100644", "blob", sha=None) for path in before if path not in after]
    size = 0
    for path, content in after.items():
        if before.get(path) == content:
            continue
        if size + len(content) > _PIECE and piece:
            yield piece
            piece, size = [], 0
        piece.append(InputGitTreeElement(path, "100644", "blob", content=content.decode()))
        size += len(content)
    yield piece


def _move(calls: Calls, revision: str | None, commit: str) -> None:
    """Move the branch to a commit, or create it; GitHub rejects that if the branch is not at the commit's parent."""
    repository = calls.repository
    if revision is None:
        calls.write("making the ledger's branch", lambda: repository.create_git_ref(f"refs/heads/{BRANCH}", commit))
        return
    place = f"{repository.url}/git/refs/heads/{BRANCH}"
    calls.write(
        "changing the ledger",
        lambda: repository.requester.requestJsonAndCheck("PATCH", place, input={"sha": commit, "force": False}),
    )


MAX_WHEELS: Final = 240
"""In one release: GitHub allows 1,000 assets in each and 500 new ones an hour. A wheel is three; four where a bundle
of its own attests it."""

QUOTAS: Final = Quotas(wheels=MAX_WHEELS)

_KEPT: Final = frozenset(string.ascii_letters + string.digits + "-_.+")
"""GitHub replaces other characters in the names of assets, such as the ``!`` of an epoch. It does not say which; wheels
with these are on GitHub under their own names, and what is listed after an upload is compared
(https://docs.github.com/en/rest/releases/assets#upload-a-release-asset)."""


def _is_published_policy(platform: str) -> bool:
    glibc, newest = promised_glibc(platform), promised_glibc(PUBLISHED_POLICY)
    return platform == "any" or (glibc is not None and newest is not None and glibc <= newest)


@dataclass(frozen=True, kw_only=True)
class GitHubStore(PlainStore):
    """Date-tagged releases of a repository."""

    repository: Repository
    pace: Pace
    ledger_commit: str | None = None
    """The state of the ledger to read, where it was compared with the releases before; None reads the newest."""
    quotas = QUOTAS
    lists_at_once = False  # GitHub needs many calls, and ends those that take 10 seconds

    @property
    def clock(self) -> Clock:
        """See `Releases.clock`."""
        return self.pace.clock

    @functools.cached_property
    def ledger(self) -> Ledger:
        """Branch of the repository."""
        place = LedgerBranch(repository=self.repository, pace=self.pace, commit=self.ledger_commit)
        return Ledger(place, self.pace.clock)

    def is_over(self, run: str) -> bool | None:
        """See `Store.is_over` (https://docs.github.com/en/rest/actions/workflow-runs#get-a-workflow-run)."""
        with Calls(self.repository, self.pace, QUIET) as calls:
            try:
                status = calls.read(f"asking for run {run}", lambda: calls.repository.get_workflow_run(int(run)).status)
            except RejectedError:  # deleted, or hidden from the token
                return None
        return status == "completed"

    def tags(self) -> frozenset[ReleaseTag] | None:
        """See `Releases.tags`; one listing of references."""
        if self.ledger_commit:
            return None
        with Calls(self.repository, self.pace, QUIET) as calls:
            refs = calls.read("listing tags", lambda: list(calls.repository.get_git_matching_refs("tags/v")))
        names = (ref.ref.removeprefix("refs/tags/") for ref in refs)
        return frozenset(ReleaseTag(name) for name in names if is_like_date_tag(name))

    def is_published(self, tag: ReleaseTag) -> bool:
        """See `Releases.is_published`; a request by tag hides drafts."""

        def exists() -> bool:
            try:
                calls.repository.get_release(tag)
            except UnknownObjectException:
                return False
            return True

        with Calls(self.repository, self.pace, QUIET) as calls:
            return calls.read(f"reading the release {tag}", exists)

    def read_each(self, wanted: WantedFiles, filename: str) -> ReadFiles:
        """See `Releases.read_each`; from the download pages."""
        with without_token(self.pace.clock) as web:

            def download(tag: ReleaseTag, file: IO[bytes]) -> Sha256:
                return web.download(self.repository.download(tag, filename), file, limit=MAX_CONTENT).sha256

            yield from cached_read(wanted, download)

    def assets(self) -> dict[ReleaseTag, frozenset[str]]:
        """See `Releases.assets`; the list of releases has them."""
        with Calls(self.repository, self.pace, QUIET) as calls:
            return {
                ReleaseTag(release.tag_name): frozenset(each.name for each in release.assets)
                for release in all_releases(calls)
            }

    def downloads(self) -> dict[str, int]:
        """See `CountsDownloads.downloads`; the list of releases has them."""
        with Calls(self.repository, self.pace, QUIET) as calls:
            counts: Counter[str] = Counter()
            for release in all_releases(calls):
                for asset in () if release.draft else release.assets:
                    counts[asset.name] += asset.download_count
        return dict(counts)

    def fetch(self, tag: ReleaseTag, filename: str, sha256: Sha256, folder: Path) -> WheelFile:
        """See `Store.fetch`."""
        copy = folder / filename
        with without_token(self.pace.clock) as web, atomic_write(copy) as file:
            web.download(self.repository.download(tag, filename), file)
        return checked_wheel(copy, tag, sha256)

    def reason_to_refuse(self, wheel: WheelFile) -> str | None:
        """See `Store.reason_to_refuse`."""
        if replaced := "".join(sorted(set(wheel.filename) - _KEPT)):
            return f"has {replaced!r} in its name, which GitHub would replace"
        if wheel.size >= MAX_WHEEL:
            return f"has {wheel.size} bytes; GitHub takes less than 2 GiB: build fewer architectures"
        if newer := [name for name in name_without_label(wheel.filename).platforms if not _is_published_policy(name)]:
            return (
                f"is for {', '.join(newer)}; published wheels are for {PUBLISHED_POLICY} or older: build it with "
                f"--sandbox docker, or --policy {PUBLISHED_POLICY}"
            )
        return None

    def check_can_publish(self) -> None:
        """See `Store.check_can_publish`; a token is needed."""
        if self.repository.token is None:
            raise UsageError("token-absent", "GITHUB_TOKEN is not set", hint="set a token with 'contents: write'")

    @contextmanager
    def publisher(self, *, now: datetime, progress: Progress, until: float | None) -> Iterator[GitHubPublisher]:
        """See `Store.publisher`."""
        self.check_can_publish()
        lease = RateLimitedLease(self.ledger, self.pace.clock, progress, until)
        with lease.held() as used, Calls(self.repository, Pace(self.pace.clock, lease), progress) as calls:
            yield GitHubPublisher(self.repository, calls, lease, used=used, now=now)

    def orphans(self, *, remove: bool, progress: Progress) -> list[Orphan]:
        """See `Store.orphans`."""
        lease = RateLimitedLease(self.ledger, self.clock, progress)
        with lease.held_now() if remove else nullcontext(), Calls(self.repository, self.pace, progress) as calls:
            return orphaned_drafts(calls, self.clock.utc(), remove=remove)

    def url_from(self, site: Path) -> str:  # noqa: ARG002 - it is the same from everywhere
        """See `Store.url_from`; a URL."""
        return self.repository.downloads
