"""Releases of a repository: found by listing, since asking for one by its tag hides drafts.

https://docs.github.com/en/rest/releases/releases
"""

from __future__ import annotations

from github.GitRelease import GitRelease

from wheelmill.names import ReleaseTag
from wheelmill.release.github.calls import Calls


def all_releases(calls: Calls) -> list[GitRelease]:
    """Every release, drafts too where the token may see them."""
    return calls.read("listing releases", lambda: list(calls.repository.get_releases()))


def draft_of(calls: Calls, tag: ReleaseTag, *, title: str, body: str) -> GitRelease:
    """Find the draft of a tag that is ours, or make it.

    Two may be there when an answer was lost: the older one is taken and the other one removed.

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
            lambda: calls.repository.create_git_release(tag, title, body, draft=True),
        )

    return calls.ensure(f"making a draft of {tag}", find, make)


def publish_draft(calls: Calls, draft: GitRelease, *, title: str, body: str) -> None:
    """Let everybody see a release. Afterwards nothing about it changes."""
    tag = draft.tag_name

    def find() -> GitRelease | None:
        return calls.read(f"reading the release {tag}", lambda: _published(calls.repository.get_release(draft.id)))

    def make() -> GitRelease:
        return calls.write(f"publishing {tag}", lambda: draft.update_release(title, body, draft=False))

    calls.ensure(f"publishing {tag}", find, make)


def _published(release: GitRelease) -> GitRelease | None:
    return None if release.draft else release
