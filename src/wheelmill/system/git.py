"""git: sources out of repositories, without what this machine's own settings add; and the checkout that we stand in."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError
from wheelmill.system import process

_GIT: Final = (
    *("git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never", "-c", "protocol.https.allow=always"),
    *("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"),
)


def find_commit(url: str, ref: str) -> str | None:
    """Ask a git repository for the commit of a tag or, where there is no such tag, of a branch.

    Raises:
        ProcessError: it does not answer.
    """
    names = (f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}")  # ^{}: what an annotated tag points to
    answer = _git(url, "ls-remote", url, *names)
    commits = {name: commit for commit, name in re.findall(r"^([0-9a-f]{40})\t(\S+)$", answer, re.MULTILINE)}
    return next((commits[name] for name in names if name in commits), None)


def find_tags(url: str, pattern: str) -> tuple[str, ...]:
    """Ask a git repository for the names of its tags that match a pattern such as ``v2.16.0-rc*``.

    Raises:
        ProcessError: it does not answer.
    """
    answer = _git(url, "ls-remote", "--tags", "--refs", url, f"refs/tags/{pattern}")
    return tuple(line.partition("\trefs/tags/")[2] for line in answer.splitlines())


def fetch_commit(url: str, commit: str, folder: Path, *, submodules: bool) -> None:
    """Put the files of one commit into a new folder, without anything of git's own.

    A ``setup.py`` that finds ``.git`` may fetch what no lock knows.

    Raises:
        ProcessError: the repository does not answer, or has no such commit.
    """
    _git(url, "init", "--quiet", "--template=", folder)
    _git(url, "remote", "add", "origin", url, cwd=folder)  # relative addresses of submodules start there
    try:
        _git(url, "fetch", "--quiet", "--depth=1", "origin", commit, cwd=folder)
    except ProcessError:  # some servers give out only what a name points to
        _git(url, "fetch", "--quiet", "origin", "+refs/*:refs/remotes/origin/*", cwd=folder)
    _git(url, "checkout", "--quiet", "--detach", commit, cwd=folder)
    if submodules:
        _git(url, "submodule", "--quiet", "update", "--init", "--recursive", "--depth=1", cwd=folder)
    for own in list(folder.rglob(".git")):
        if own.is_dir():
            shutil.rmtree(own)
        else:
            own.unlink(missing_ok=True)


def files_of_checkout(folder: Path) -> tuple[Path, ...] | None:
    """List what git knows of a checkout, sorted: tracked files, of submodules too, and new ones that are not ignored.

    None where the folder is not the top of a checkout.

    Raises:
        ProcessError: git refused.
    """
    if not (folder / ".git").exists():
        return None
    tracked = run_git(folder, "ls-files", "-z", "--recurse-submodules")
    new = run_git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    names = {name for name in (tracked + new).split("\0") if name and not name.endswith("/")}  # other checkouts in it
    return tuple(path for name in sorted(names) if os.path.lexists(path := folder / name))


def run_git(checkout: Path, *arguments: str) -> str:
    """Run git in a checkout of this machine, with this machine's settings: they say whom it trusts.

    Raises:
        ProcessError: the folder is in no checkout, or git refused.
    """
    return process.run(["git", "-C", checkout, *arguments])


def _git(url: str, *arguments: str | Path, cwd: Path | None = None) -> str:
    """Run git without hooks, questions and settings of this machine, which could change the bytes."""
    local_files = ("-c", "protocol.file.allow=always") if url.startswith("file://") else ()
    settings = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    variables = process.environment_for_foreign_code() | process.proxy_variables() | settings
    return process.run([*_GIT, *local_files, *arguments], cwd=cwd, env=variables)
