"""The ledger of a repository: a branch that only the factory writes to.

It is read as the archive of a commit, which everybody may download and which counts as no call of the API. A change is
a commit on top of the one that was read. GitHub moves a branch without force to a commit that follows the one it is at,
and to no other: so of two who change it at once one finds out, and does it again.

https://docs.github.com/en/repositories/working-with-files/using-files/downloading-source-code-archives
https://docs.github.com/en/rest/git/trees#create-a-tree
https://docs.github.com/en/rest/git/commits#create-a-commit
https://docs.github.com/en/rest/git/refs#update-a-reference
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from github.GithubObject import NotSet, Opt
from github.GitTree import GitTree
from github.InputGitTreeElement import InputGitTreeElement

from wheelmill.errors import NetworkError, RejectedError, ReleaseError
from wheelmill.release.github.calls import Calls, Pace
from wheelmill.release.github.connection import Repository
from wheelmill.release.github.download import downloads_from
from wheelmill.system.progress import QUIET
from wheelmill.web.transport import PATIENT

BRANCH: Final = "ledger"
_PIECE: Final = 4 << 20
"""Bytes of files that are sent in one call: a new ledger of many releases is sent in several."""


@dataclass(frozen=True, kw_only=True)
class LedgerBranch:
    """The branch ``ledger`` of a repository."""

    repository: Repository
    pace: Pace
    commit: str | None = None
    """The state to read, where somebody asked for the newest before; None asks for it."""

    @property
    def name(self) -> str:
        """See `LedgerPlace.name`; the URL that shows it to people."""
        return f"{self.repository.server_url.rstrip('/')}/{self.repository.full_name}/tree/{BRANCH}"

    def read(self, seen: str | None) -> tuple[str | None, bytes | None]:
        """See `LedgerPlace.read`; a call of the API where no commit is named, and a download."""
        revision = self.commit
        if revision is None:
            with Calls(self.repository, self.pace, QUIET) as calls:
                revision = _newest(calls)
        return revision, None if revision in {None, seen} else self._archive(revision)

    def write(
        self, revision: str | None, before: Mapping[str, bytes], after: Mapping[str, bytes], why: str
    ) -> str | None:
        """See `LedgerPlace.write`; three calls of the API that create something."""
        if self.commit or not self.repository.token:
            hint = "a GITHUB_TOKEN with 'contents: write' can write it"
            raise ReleaseError("read-only", f"{self.name} can only be read here", hint=hint)
        with Calls(self.repository, self.pace, QUIET) as calls:
            commit = _commit(calls, revision, before, after, why)
            try:
                _move(calls, revision, commit)
            except RejectedError:
                if _newest(calls) == revision:
                    raise
                return None
        return commit

    def _archive(self, commit: str) -> bytes:
        """Download the files of a commit; one that was just made may not be there at once."""
        url = f"{self.repository.server_url.rstrip('/')}/{self.repository.full_name}/archive/{commit}.tar.gz"
        with downloads_from(self.repository, self.pace.clock) as downloads:
            for pause in PATIENT:
                try:
                    return downloads.web.read(url)
                except NetworkError as error:
                    if error.status != HTTPStatus.NOT_FOUND:
                        raise
                    self.pace.clock.sleep(pause)
            return downloads.web.read(url)


def _newest(calls: Calls) -> str | None:
    """The commit that the branch is at; None when there is no such branch."""
    name = f"heads/{BRANCH}"
    refs = calls.read("reading the ledger's branch", lambda: list(calls.repository.get_git_matching_refs(name)))
    return next((ref.object.sha for ref in refs if ref.ref == f"refs/{name}"), None)


def _commit(
    calls: Calls, revision: str | None, before: Mapping[str, bytes], after: Mapping[str, bytes], why: str
) -> str:
    """Make a commit of the files that differ; returns its hash. No branch has it yet."""
    repository = calls.repository
    parent = revision and calls.read("reading the ledger's commit", lambda: repository.get_git_commit(revision))
    tree: Opt[GitTree] = parent.tree if parent and before else NotSet
    for piece in _pieces(before, after):
        base, elements = tree, piece
        tree = calls.write("writing the ledger", lambda: repository.create_git_tree(elements, base))  # noqa: B023 - called at once
    written = tree
    assert isinstance(written, GitTree)  # noqa: S101
    made = calls.write(
        "writing the ledger", lambda: repository.create_git_commit(why, written, [parent] if parent else [])
    )
    return made.sha


def _pieces(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[list[InputGitTreeElement]]:
    """What differs, in lists that one call takes."""
    piece: list[InputGitTreeElement] = [
        InputGitTreeElement(path, "100644", "blob", sha=None) for path in before if path not in after
    ]
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
    """Move the branch to a commit, or create it.

    Raises:
        RejectedError: it shows another one than the parent of this commit.
    """
    repository = calls.repository
    if revision is None:
        calls.write("making the ledger's branch", lambda: repository.create_git_ref(f"refs/heads/{BRANCH}", commit))
        return
    place = f"{repository.url}/git/refs/heads/{BRANCH}"
    calls.write(
        "changing the ledger",
        lambda: repository.requester.requestJsonAndCheck("PATCH", place, input={"sha": commit, "force": False}),
    )
