"""The git data API and archives of a repository: https://docs.github.com/en/rest/git"""

import hashlib
import io
import itertools
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.github_calls import Answer

HEAD = "5" * 40
"""The commit of the default branch."""

RESTRICTED = "Repository rule violations found\n\nCannot create ref due to creations being restricted.\n\n"
"""What is said of a reference whose name an immutable release had."""


@dataclass(frozen=True)
class Commit:
    """A state of all files, and what it was made from."""

    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass(kw_only=True)
class GitData:
    """A repository's objects by hash, and its references."""

    refs: dict[str, str] = field(default_factory=dict)
    """``refs/tags/x``: the hash of a commit or of a tag object."""
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    """Tag objects."""
    trees: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The files of every tree, by path."""
    commits: dict[str, Commit] = field(default_factory=lambda: {HEAD: Commit("0" * 40, (), "first")})
    blobs: dict[str, bytes] = field(default_factory=dict)
    burned: set[str] = field(default_factory=set)
    """Tags of immutable releases that were removed: no tag and no release gets such a name again."""
    origin: str = ""
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def files(self, ref: str) -> dict[str, bytes]:
        """The files of a branch; none where there is no such branch."""
        return self.trees.get(self.commits[self.refs[ref]].tree, {}) if ref in self.refs else {}

    def answer_git(self, method: str, path: list[str], given: dict[str, Any]) -> Answer | None:  # noqa: C901, PLR0911 - a table of routes
        """Answer a call below ``/repos/OWNER/REPO/git/``; None where there is no such route."""
        match [method, *path]:
            case ["GET", "ref", *rest] if (name := "refs/" + "/".join(rest)) in self.refs:
                return 200, {}, self.ref(name)
            case ["GET", "tags", sha] if sha in self.tags:
                return 200, {}, {"sha": sha, **self.tags[sha]}
            case ["POST", "tags"]:
                sha = _hash(given, next(self._ids))
                self.tags[sha] = {"tag": given["tag"], "message": given["message"]}
                return 201, {}, {"sha": sha, **self.tags[sha]}
            case ["POST", "refs"]:
                return self._make_ref(given["ref"], given["sha"])
            case ["PATCH", "refs", *rest]:
                return self._move_ref("refs/" + "/".join(rest), given["sha"], force=given.get("force", False))
            case ["POST", "blobs"]:
                self.blobs[sha := _hash(given, 0)] = given["content"].encode()
                return 201, {}, {"sha": sha}
            case ["POST", "trees"]:
                return self._make_tree(given)
            case ["GET", "trees", sha] if sha in self.trees:
                entries = [{"path": name, "type": "blob", "mode": "100644"} for name in sorted(self.trees[sha])]
                return 200, {}, {"sha": sha, "tree": entries, "truncated": False}
            case ["POST", "commits"]:
                sha = _hash(given, next(self._ids))
                self.commits[sha] = Commit(given["tree"], tuple(given.get("parents", ())), given["message"])
                return 201, {}, self._commit(sha)
            case ["GET", "commits", sha] if sha in self.commits:
                return 200, {}, self._commit(sha)
            case _:
                return None

    def archive(self, name: str) -> Answer:
        """Answer who takes an archive of a commit or a branch, with no token: ``5555.tar.gz``."""
        name = name.removesuffix(".tar.gz")
        sha = self.refs.get(name, name)
        if sha not in self.commits:
            return 404, {"Content-Type": "text/html"}, "Not Found"
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w:gz") as archive:
            for path, content in self.trees.get(self.commits[sha].tree, {}).items():
                member = tarfile.TarInfo(f"wheels-{sha}/{path}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return 200, {"Content-Type": "application/x-gzip"}, written.getvalue()

    def ref(self, name: str) -> dict[str, Any]:
        """A reference as it is shown."""
        sha = self.refs[name]
        return {"ref": name, "object": {"type": "tag" if sha in self.tags else "commit", "sha": sha}}

    def _make_ref(self, name: str, sha: str) -> Answer:
        if name.removeprefix("refs/tags/") in self.burned:
            return 422, {}, {"message": RESTRICTED}
        if name in self.refs:
            return 422, {}, {"message": "Reference already exists"}
        self.refs[name] = sha
        return 201, {}, self.ref(name)

    def _move_ref(self, name: str, sha: str, *, force: bool) -> Answer:
        if name not in self.refs:
            return 422, {}, {"message": "Reference does not exist"}
        if not force and self.refs[name] not in self._ancestors(sha):
            return 422, {}, {"message": "Update is not a fast forward"}
        self.refs[name] = sha
        return 200, {}, self.ref(name)

    def _ancestors(self, sha: str) -> set[str]:
        found, left = set[str](), [sha]
        while left:
            found.add(one := left.pop())
            left += self.commits[one].parents
        return found

    def _make_tree(self, given: dict[str, Any]) -> Answer:
        files = dict(self.trees[given["base_tree"]]) if given.get("base_tree") else {}
        for entry in given["tree"]:
            if "content" in entry:
                files[entry["path"]] = entry["content"].encode()
            elif entry["sha"] is None:
                if entry["path"] not in files:
                    return 422, {}, {"message": "GitRPC::BadObjectState"}
                del files[entry["path"]]
            else:
                files[entry["path"]] = self.blobs[entry["sha"]]
        sha = hashlib.sha1(repr(sorted(files.items())).encode(), usedforsecurity=False).hexdigest()
        self.trees[sha] = files
        return 201, {}, {"sha": sha, "tree": [], "truncated": False}

    def _commit(self, sha: str) -> dict[str, Any]:
        commit = self.commits[sha]
        parents = [{"sha": parent} for parent in commit.parents]
        return {"sha": sha, "message": commit.message, "tree": {"sha": commit.tree}, "parents": parents}


def _hash(given: dict[str, Any], number: int) -> str:
    return hashlib.sha1(json.dumps([given, number]).encode(), usedforsecurity=False).hexdigest()
