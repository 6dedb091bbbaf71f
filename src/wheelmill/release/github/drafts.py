"""Releases of a repository, and the text on their pages.

They are found by listing, since asking for one by its tag hides drafts:
https://docs.github.com/en/rest/releases/releases. Their text is https://github.github.com/gfm/.
"""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Final

from github.GitRelease import GitRelease

from wheelmill.names import ReleaseTag
from wheelmill.release.github.calls import Calls
from wheelmill.release.github.connection import Repository
from wheelmill.release.manifest import Manifest, ManifestEntry
from wheelmill.release.store import KEPT, LeftDraft
from wheelmill.release.tags import is_date_tag
from wheelmill.web.github_pages import SIZES
from wheelmill.wheel.name import name_without_label
from wheelmill.wheel.torch_need import needed_torch

_PAGE: Final = SIZES[1]
"""Releases in one answer: of 30 with 962 assets each GitHub makes none in the 10 seconds of a request."""
_OF_VARIANTS: Final = "Variant wheels (PEP 825, a draft): an installer that knows them chooses one from an index.\n"
_SHOWN: Final = 3
"""How many projects a title names."""


def title_of(manifest: Manifest) -> str:
    """``v2026-11-21: flash-attn 2.8.3, mamba-ssm 2.2.5``."""
    names = (name_without_label(entry.filename) for entry in manifest.wheels)
    projects = list(dict.fromkeys(f"{name.project} {name.version.public}" for name in names))
    more = len(projects) - _SHOWN
    return f"{manifest.tag}: {', '.join(projects[:_SHOWN])}{f' and {more} more' if more > 0 else ''}"


def body_of(manifest: Manifest, repository: Repository) -> str:
    """A table of the wheels and how to install one. With 240 wheels it stays below the 125,000 characters of a body."""
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
    size = f"{entry.size / 1e6:.1f}"
    return f"| {' | '.join(map(_code, texts))} | {size} | {_code(entry.sha256)} |"


def _code(text: str) -> str:
    """Text as it is, in a cell of a table.

    Nothing in a code span is markup, but for the backticks that end it and the bar that ends the cell.
    """
    plain = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def all_releases(calls: Calls) -> list[GitRelease]:
    """Every release with its assets, and drafts if the token may see them; in pages that get smaller if need be."""
    requester = calls.repository.requester
    usual, requester.per_page = requester.per_page, _PAGE
    try:
        return calls.read("listing releases", lambda: list(calls.repository.get_releases()))
    finally:
        requester.per_page = usual


def draft_of(calls: Calls, tag: ReleaseTag, *, is_new: bool) -> GitRelease:
    """Find the draft of a tag that is ours, or make it.

    Two may be there when an answer was lost: the older one is taken and the other one removed.

    Args:
        calls: makes the calls of GitHub's API.
        tag: the tag.
        is_new: whether it was made just now, so that there is no draft to look for among all releases.

    Returns:
        The draft, or the release that somebody made of it meanwhile.
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
    """Publish a release, with its final manifest. Afterwards, nothing about it changes.

    Args:
        calls: makes the calls of GitHub's API.
        draft: has all files of the release.
        manifest: says under which tag, which the draft gets now if it was made for another one.
        repository: the repository that both are in.

    Raises:
        RejectedError: GitHub will not publish it under that tag.
    """
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
                make_latest="false",  # that is a package's own release, where it has some in this repository
            ),
        )

    calls.ensure(f"publishing {tag}", find, make)


def left_drafts(calls: Calls, now: datetime, *, remove: bool) -> list[LeftDraft]:
    """Find the drafts of date tags; see `Store.left_drafts`.

    Args:
        calls: makes the calls of GitHub's API.
        now: the time, in UTC.
        remove: whether those of more than a day ago are removed. Their tags stay, and are not used again.
    """
    left: list[LeftDraft] = []
    for release in all_releases(calls):
        if release.draft and is_date_tag(release.tag_name):
            age = now - release.created_at
            if removed := remove and age > KEPT:
                calls.write(f"removing the draft of {release.tag_name}", release.delete_release)
            left.append(LeftDraft(name=release.tag_name, age=age, files=len(release.assets), removed=removed))
    return left
