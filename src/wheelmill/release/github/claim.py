"""Claiming a tag for one publication.

Whoever creates ``refs/tags/X`` has it: GitHub refuses to create a reference twice, so of two publishers one goes on to
the next number. The tag is annotated with the hash of the first wheels that it is for: a publication that was
interrupted knows its tag again. Tags are made before anything else and never removed, so one that was used is never
used again.

https://docs.github.com/en/rest/git/refs#create-a-reference
https://docs.github.com/en/rest/git/tags#create-a-tag-object
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final

from github.GitRef import GitRef

from wheelmill.errors import RejectedError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.github.calls import Calls
from wheelmill.release.tags import date_tags, is_date_tag
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.name import WheelFile

_MARK: Final = "contents: sha256:"
"""Begins the last line of a tag's message."""

MOST_BURNED: Final = 9
"""Tags in a row that may have been those of immutable releases that were removed; a rule of the repository that lets
nobody make tags looks the same."""


def contents_of(wheels: Iterable[WheelFile]) -> Sha256:
    """Hash names and bytes of the wheels of a release."""
    lines = sorted(f"{wheel.sha256}  {wheel.filename}\n" for wheel in wheels)
    return sha256_of_bytes("".join(lines).encode())


def claim_tag(calls: Calls, contents: Sha256, *, used: Collection[str], now: datetime) -> tuple[ReleaseTag, bool]:
    """Find the tag that an earlier try made for these contents, or make the next one of today.

    Args:
        calls: makes the calls of GitHub's API.
        contents: the hash of the wheels that the tag is for.
        used: tags that are not taken up again: those of all published releases, and those that GitHub will not
            publish a release under.
        now: the time of publication, in UTC.

    Returns:
        The tag, and whether it was made now.

    Raises:
        ReleaseError: no tag can be made.
    """
    taken = {_name_of(ref): ref for ref in _tags(calls, "v")}
    for name, ref in taken.items():
        if name not in used and is_date_tag(name) and _contents(calls, ref) == contents:
            return ReleaseTag(name), False
    free = (tag for tag in date_tags(now) if tag not in taken and tag not in used)
    burned = 0
    for tag in free:
        try:
            if _owner(calls, tag, contents) == contents:
                return tag, True
        except RejectedError as error:
            burned += 1
            if not error.burned or burned > MOST_BURNED:
                raise
    raise AssertionError  # a day has no last tag


def _owner(calls: Calls, tag: ReleaseTag, contents: Sha256) -> str | None:
    """Try to make a tag; returns what it is for then, which may be what somebody else made it for."""

    def find() -> GitRef | None:
        return next((ref for ref in _tags(calls, tag) if _name_of(ref) == tag), None)

    def make() -> GitRef:
        commit = calls.read(
            "reading the default branch",
            lambda: calls.repository.get_branch(calls.repository.default_branch).commit.sha,
        )
        message = f"wheels of {tag}\n\n{_MARK}{contents}\n"
        annotated = calls.write(
            f"describing tag {tag}", lambda: calls.repository.create_git_tag(tag, message, commit, "commit")
        )
        return calls.write(
            f"making tag {tag}", lambda: calls.repository.create_git_ref(f"refs/tags/{tag}", annotated.sha)
        )

    return _contents(calls, calls.ensure(f"making tag {tag}", find, make))


def _tags(calls: Calls, beginning: str) -> list[GitRef]:
    return calls.read("listing tags", lambda: list(calls.repository.get_git_matching_refs(f"tags/{beginning}")))


def _name_of(ref: GitRef) -> str:
    return ref.ref.removeprefix("refs/tags/")


def _contents(calls: Calls, ref: GitRef) -> str | None:
    """What a tag was made for; None for one that nobody annotated for a release."""
    if ref.object.type != "tag":
        return None
    annotated = calls.read(f"reading tag {_name_of(ref)}", lambda: calls.repository.get_git_tag(ref.object.sha))
    *_, last = annotated.message.splitlines() or [""]
    return last.removeprefix(_MARK) if last.startswith(_MARK) else None
