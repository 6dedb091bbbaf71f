"""Git repositories for tests, made once a machine and kept by their content."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from tests.files import own_folder

_SOMEBODY: Final = "tests <tests@example.org> 1767225600 +0000"
_ENVIRONMENT: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
"""No hooks, signatures or line ends of the user's."""


@dataclass(frozen=True)
class Repository:
    """A repository that many tests read. A test that changes one copies it."""

    path: Path
    commits: tuple[str, ...]
    """Hashes, the oldest first."""

    def copy(self, path: Path) -> Path:
        """Copy the repository, with its checkout if it has one."""
        return Path(shutil.copytree(self.path, path, symlinks=True, dirs_exist_ok=True))


@dataclass(frozen=True)
class Commit:
    """Changes on top of the commit before."""

    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    submodules: Mapping[str, Repository] = field(default_factory=dict)
    """By path; what is pinned is the newest commit."""
    tags: tuple[str, ...] = ()
    annotated_tags: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Beside main, which has all commits."""


def repository(*commits: Commit, name: str = "upstream", checkout: bool = False) -> Repository:
    """Make a repository of commits, oldest first, unless an earlier run did; bare unless ``checkout``."""
    return _made(_history(commits), len(commits), name, checkout)


@cache
def _made(history: bytes, commits: int, name: str, checkout: bool) -> Repository:  # noqa: FBT001 - of a cache's key
    key = hashlib.sha256(f"{name} {checkout} ".encode() + history).hexdigest()[:32]
    repositories = own_folder("repositories")
    place = repositories / key  # the hash of its history
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=repositories) as folder:
            _import(history, Path(folder) / key / name, checkout=checkout)
            try:
                (Path(folder) / key).rename(place)
            except OSError:
                if not place.exists():  # else another run was faster
                    raise
    marks = (place / "commits").read_text().split()
    by_mark = dict(zip(marks[::2], marks[1::2], strict=True))
    return Repository(place / name, tuple(by_mark[f":{number}"] for number in range(1, commits + 1)))


def _import(history: bytes, path: Path, *, checkout: bool) -> None:
    git("init", "--quiet", "--template=", "--initial-branch=main", *([] if checkout else ["--bare"]), str(path))
    imported = ["git", "-C", str(path), "fast-import", "--quiet", f"--export-marks={path.parent / 'commits'}"]
    subprocess.run(imported, input=history, check=True, env=os.environ | _ENVIRONMENT)
    if checkout:
        git("-C", str(path), "reset", "--quiet", "--hard")


def git(*arguments: str | Path) -> str:
    """Run git as somebody, without the settings of the user, and return what it printed."""
    somebody = ("-c", "user.name=tests", "-c", "user.email=tests@example.org", "-c", "protocol.file.allow=always")
    argv = ["git", *somebody, *arguments]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env=os.environ | _ENVIRONMENT)
    return done.stdout.strip()


def _history(commits: Sequence[Commit]) -> bytes:
    """Commits in the words of ``git fast-import``: https://git-scm.com/docs/git-fast-import."""
    lines: list[str] = []
    modules = ""
    for number, commit in enumerate(commits, 1):
        lines += ["commit refs/heads/main", f"mark :{number}", f"committer {_SOMEBODY}", *_data(f"commit {number}")]
        for path, submodule in commit.submodules.items():
            modules += f'[submodule "{path}"]\n\tpath = {path}\n\turl = {submodule.path.as_uri()}\n'
            lines.append(f"M 160000 {submodule.commits[-1]} {path}")
        files = ({".gitmodules": modules} if commit.submodules else {}) | {**commit.files}
        for mode, contents in (("100644", files), ("120000", commit.links)):
            for path, content in contents.items():
                lines += [f"M {mode} inline {path}", *_data(content)]
        lines += [line for tag in commit.tags for line in (f"reset refs/tags/{tag}", f"from :{number}")]
        lines += [line for branch in commit.branches for line in (f"reset refs/heads/{branch}", f"from :{number}")]
        for tag in commit.annotated_tags:
            lines += [f"tag {tag}", f"from :{number}", f"tagger {_SOMEBODY}", *_data(tag)]
    return "".join(f"{line}\n" for line in lines).encode()


def _data(content: str) -> tuple[str, str]:
    return f"data {len(content.encode())}", content
