"""Releases of a repository, the text on their pages, and the files of a draft.

Releases are found by listing, as a request by tag hides drafts. Files are uploaded one by one, and compared with
GitHub's listing.

https://docs.github.com/en/rest/releases/releases
https://docs.github.com/en/rest/releases/assets
https://github.github.com/gfm/
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Self

from github.GitRelease import GitRelease
from github.GitReleaseAsset import GitReleaseAsset

from wheelmill.errors import NetworkError, RejectedError
from wheelmill.names import ReleaseTag
from wheelmill.release.github.api import Calls, Repository
from wheelmill.release.ledger.records import is_date_tag
from wheelmill.release.manifest.record import Manifest, ManifestEntry
from wheelmill.release.store import KEPT, Asset, Orphan
from wheelmill.web.pages import SIZES
from wheelmill.web.transport import PATIENT
from wheelmill.wheel.label import needed_torch
from wheelmill.wheel.name import name_without_label

_PAGE: Final = SIZES[1]
"""Releases in one answer: of 30 with 962 assets each GitHub makes none in the 10 seconds of a request."""
_OF_VARIANTS: Final = "Variant wheels (PEP 825, a draft): an installer that knows them chooses one from an index.\n"
_PROJECTS_IN_TITLE: Final = 3


def title_of(manifest: Manifest) -> str:
    """Title a release: ``v2026-11-21: flash-attn 2.8.3, mamba-ssm 2.2.5``."""
    names = (name_without_label(entry.filename) for entry in manifest.wheels)
    projects = [*dict.fromkeys(f"{name.project} {name.version.public}" for name in names)]
    more = len(projects) - _PROJECTS_IN_TITLE
    return f"{manifest.tag}: {', '.join(projects[:_PROJECTS_IN_TITLE])}{f' and {more} more' if more > 0 else ''}"


def body_of(manifest: Manifest, repository: Repository) -> str:
    """Tabulate the wheels, and explain how to install one. 240 wheels stay below the 125,000 characters of a body."""
    first = manifest.wheels[0]
    rows = "\n".join(map(_row, manifest.wheels))
    by_address = f"""\
Install a wheel by its address:

```sh
pip install {shlex.quote(repository.download(manifest.tag, first.filename))}
```
"""
    return f"""\
{_OF_VARIANTS if first.plain else by_address}
| wheel | CUDA | torch | GPUs | MB | sha256 |
|---|---|---|---|--:|---|
{rows}

`manifest.json` says how each wheel was built and tested.
"""


def _row(entry: ManifestEntry) -> str:
    label = name_without_label(entry.filename).label
    torch = str((label.torch if label else None) or needed_torch(entry.requires_dist) or "")
    architectures = " ".join((*entry.certificate.evidence.sass, *entry.certificate.evidence.ptx))
    texts = (entry.filename, str(label.cuda) if label else "", torch, architectures)
    return f"| {' | '.join(map(_code, texts))} | {entry.size / 1e6:.1f} | {_code(entry.sha256)} |"


def _code(text: str) -> str:
    """Quote a text for a table cell: in a code span, only backticks and the bar of the table are markup."""
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def all_releases(calls: Calls) -> Iterator[GitRelease]:
    """Yield every release with its assets, and drafts if the token sees them; only one page is in memory."""
    for page in calls.pages("listing releases", f"/releases?per_page={_PAGE}"):
        if not (isinstance(page, list) and all(isinstance(release, dict) for release in page)):
            raise NetworkError("github-unreadable", "listing releases: GitHub gave no list of objects")
        yield from (GitRelease(calls.repository.requester, {}, release) for release in page)


def draft_of(calls: Calls, tag: ReleaseTag, *, is_new: bool) -> GitRelease:
    """Find the draft of a tag that wheelmill made, or make it; return the release if it was published meanwhile.

    A lost answer may leave two: the older one is used and the other one removed. A tag that `is_new` was made just now
    and has none yet.
    """

    def find() -> GitRelease | None:
        ours = [release for release in all_releases(calls) if release.tag_name == tag]
        ours.sort(key=lambda release: (release.draft, release.id))
        for release in ours[1:]:
            calls.write(f"removing a second draft of {tag}", release.delete_release)
        return ours[0] if ours else None

    def make() -> GitRelease:
        return calls.write(
            f"making a draft of {tag}",
            lambda: calls.repository.create_git_release(tag, tag, "These wheels are being sent.", draft=True),
        )

    return calls.ensure(f"making a draft of {tag}", find, make, is_absent=is_new)


def publish_draft(calls: Calls, draft: GitRelease, manifest: Manifest, repository: Repository) -> None:
    """Publish a complete draft under the tag of its final manifest, which may be another than it was made for."""
    tag = manifest.tag

    def find() -> GitRelease | None:
        release = calls.read(f"reading the release {tag}", lambda: calls.repository.get_release(draft.id))
        return None if release.draft else release

    def make() -> GitRelease:
        return calls.write(
            f"publishing {tag}",
            lambda: draft.update_release(
                title_of(manifest),
                body_of(manifest, repository),
                draft=False,
                tag_name=tag,
                make_latest="false",  # leave it to the package's own releases, if this repository has any
            ),
        )

    calls.ensure(f"publishing {tag}", find, make)


def orphaned_drafts(calls: Calls, now: datetime, *, remove: bool) -> list[Orphan]:
    """Find the drafts of date tags; see `Store.orphans`. Tags of removed drafts are not used again."""
    orphans: list[Orphan] = []
    for release in [release for release in all_releases(calls) if release.draft and is_date_tag(release.tag_name)]:
        age = now - release.created_at
        if removed := remove and age > KEPT:
            calls.write(f"removing the draft of {release.tag_name}", release.delete_release)
        orphans.append(Orphan(name=release.tag_name, age=age, files=len(release.assets), removed=removed))
    return orphans


_TOO_MANY_OUTAGES: Final = 3
"""Failures in a row, after which GitHub is considered out of reach, and the other files wait."""


class DraftFiles:
    """Files of a draft in GitHub's listing, which is read once, and again after every failure."""

    def __init__(self, calls: Calls, draft: GitRelease) -> None:
        self._calls, self._draft = calls, draft
        self._unsure = False
        self._listed = self._list()

    def reconcile(self, wanted: Sequence[Asset]) -> dict[str, str]:
        """Make the draft have exactly these files, by a new listing from GitHub; see `send`."""
        self._listed = self._list()
        return self.send(wanted, alone=True)

    @property
    def unhashed(self) -> frozenset[str]:
        """Assets without a digest from GitHub, whose bytes are yet to be compared."""
        return frozenset(listed.name for listed in self._listed.values() if listed.digest is None)

    def faults(self, wanted: Sequence[Asset]) -> dict[str, str]:
        """Return the fault of each missing or wrong asset, by name, according to the last listing."""
        compared = {asset.name: _fault(asset, self._listed.get(asset.name)) for asset in wanted}
        return {name: fault for name, fault in compared.items() if fault}

    def send(self, wanted: Sequence[Asset], *, alone: bool = False) -> dict[str, str]:
        """Upload files to the draft, which may have others; those are removed with `alone`.

        Missing files are sent, up to four times; incomplete and different ones are replaced. A file that cannot be sent
        does not delay the others. The result has the fault of each missing or wrong asset, by name.
        """
        rejected: dict[str, str] = {}
        names = {each.name for each in wanted}
        for pause in (0.0, *PATIENT):
            faults = self.faults(wanted)
            stray = [listed for name, listed in self._listed.items() if name in faults or (alone and name not in names)]
            if not stray and faults.keys() <= rejected.keys():
                break
            self._calls.clock.sleep(pause)
            missing = [asset for asset in wanted if asset.name in faults and asset.name not in rejected]
            self._remove(stray)
            self._upload(missing, rejected)
            if alone or self._unsure:
                self._listed = self._list()
        return {name: rejected.get(name, fault) for name, fault in self.faults(wanted).items()}

    def _list(self) -> dict[str, _Listed]:
        self._unsure = False
        return self._calls.read(
            f"listing the assets of {self._draft.tag_name}",
            lambda: {asset.name: _Listed.of(asset) for asset in self._draft.get_assets()},
        )

    def _remove(self, stray: Sequence[_Listed]) -> None:
        for listed in stray:
            try:
                self._calls.write(f"removing {listed.name}", listed.asset.delete_asset)
                del self._listed[listed.name]
            except (NetworkError, RejectedError) as error:
                self._calls.progress.line(str(error))
                self._unsure = True

    def _upload(self, assets: Sequence[Asset], rejected: dict[str, str]) -> None:
        """Upload assets; add those that will never be sent to `rejected`, with the reason, by name."""
        outages = 0
        for number, asset in enumerate(assets, start=1):
            self._calls.progress.line(f"sending {asset.name} ({number} of {len(assets)})")
            try:
                self._listed[asset.name] = self._calls.write(f"sending {asset.name}", partial(self._post, asset))
                outages = 0
            except RejectedError as error:
                self._unsure = True
                if not error.exists:
                    rejected[asset.name] = str(error)
            except NetworkError as error:
                self._calls.progress.step(str(error))
                self._unsure = True
                outages += 1
                if outages == _TOO_MANY_OUTAGES:
                    break
            except OSError as error:
                rejected[asset.name] = f"cannot be read: {error.strerror or error}"

    def _post(self, asset: Asset) -> _Listed:
        self._calls.check_server(self._draft.upload_url)
        with asset.open() as file:
            return _Listed.of(
                self._draft.upload_asset_from_memory(file, asset.size, asset.name, "application/octet-stream")
            )


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """Asset in GitHub's listing."""

    asset: GitReleaseAsset
    name: str
    state: str
    """``starter`` when an upload broke off."""
    size: int
    digest: str | None
    """``sha256:...``; None on older servers."""

    @classmethod
    def of(cls, asset: GitReleaseAsset) -> Self:
        return cls(asset=asset, name=asset.name, state=asset.state, size=asset.size, digest=asset.digest)


def _fault(wanted: Asset, listed: _Listed | None) -> str | None:
    if listed is None:
        return "did not arrive"
    if listed.state != "uploaded":
        return f"did not arrive whole: its state is {listed.state}"
    if listed.size != wanted.size:
        return f"arrived with {listed.size} bytes instead of {wanted.size}"
    if listed.digest is not None and listed.digest != f"sha256:{wanted.sha256}":
        return f"arrived with {listed.digest} instead of sha256:{wanted.sha256}"
    return None
