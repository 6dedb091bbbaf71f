"""git: sources from repositories, without this machine's settings; a command's own checkout, and versions of tags."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError, UnreadableError
from wheelmill.names import ProjectVersion, project_version
from wheelmill.system import process

_GIT: Final = (
    *("git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never", "-c", "protocol.https.allow=always"),
    *("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"),
)
_SUBMODULE: Final = "160000"
"""The mode of another repository's commit in an index: https://git-scm.com/docs/index-format"""

MAX_SUBMODULES: Final = 512
"""Submodules of a source, nested ones too; PyTorch has about 100."""
MAX_CHECKOUT: Final = 16 << 30
"""Bytes of all files of a source."""

_clones: Final[dict[str, Path]] = {}
"""Folders on this disk to fetch from, by URL; see `use_clones`."""
_unused: Final[set[str]] = set()
"""URLs among them that are not requested yet."""


@contextmanager
def use_clones(clones: Mapping[str, Path]) -> Iterator[set[str]]:
    """Fetch repositories and submodules from clones on this disk, by URL; yields the URLs not requested yet."""
    _clones.update({_without_suffix(url): folder for url, folder in clones.items()})
    _unused.update(_clones)
    try:
        yield _unused
    finally:
        _clones.clear()
        _unused.clear()


def find_commit(url: str, ref: str) -> str | None:
    """Query a repository for the commit of a tag, or else of a branch or HEAD; raises ProcessError if it is silent."""
    names = [f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}"]  # ^{}: the commit of an annotated tag
    names += ["HEAD"] * (ref == "HEAD")
    place = _place_of(url)
    answer = _git("ls-remote", place, *names, files=_is_file(place))
    commits = {name: commit for commit, name in re.findall(r"^([0-9a-f]{40})\t(\S+)$", answer, re.MULTILINE)}
    return next((commits[name] for name in names if name in commits), None)


def find_tags(url: str, pattern: str) -> tuple[str, ...]:
    """Query a repository for its tags that match ``v2.16.0-rc*`` or the like; raises as `find_commit` does."""
    answer = _git("ls-remote", "--tags", "--refs", url, f"refs/tags/{pattern}", files=_is_file(url))
    return tuple(line.partition("\trefs/tags/")[2] for line in answer.splitlines())


def fetch_commit(url: str, commit: str, folder: Path, *, submodules: bool) -> None:
    """Fetch the files of one commit into a new folder, without ``.git``: a ``setup.py`` that finds it may fetch more.

    Raises ProcessError if the repository does not answer, or it or a submodule lacks the commit; UnreadableError if the
    source has too many submodules or bytes.
    """
    files = _is_file(url)  # submodules of a remote repository must not be folders of this machine
    checkouts, size = [(url, commit, folder)], 0
    for address, wanted, place in checkouts:  # submodules are added meanwhile
        origin = _place_of(address)
        try:
            _fetch(address, origin, wanted, place, files=files or origin != address)
            size += _size_of(wanted, place)
            if len(checkouts) > 1 + MAX_SUBMODULES or size > MAX_CHECKOUT:
                most = f"{MAX_SUBMODULES} submodules or {MAX_CHECKOUT >> 30} GiB"
                raise UnreadableError("source-too-large", f"{url} has more than {most}, as {origin} shows")
            _git("checkout", "--quiet", "--detach", wanted, cwd=place)
        except ProcessError as error:  # name the submodule or clone, unknown to the caller
            tail = f"{origin}: {error.tail}"
            raise ProcessError("git-failed", str(error), returncode=error.returncode, tail=tail) from None
        if submodules:
            checkouts.extend(_submodules_in(place))
    for own in list(folder.rglob(".git")):
        if own.is_dir():
            shutil.rmtree(own)
        else:
            own.unlink(missing_ok=True)


def _fetch(url: str, origin: str, commit: str, folder: Path, *, files: bool) -> None:
    _git("init", "--quiet", "--template=", folder)
    _git("remote", "add", "origin", url, cwd=folder)  # the base of relative URLs of submodules
    try:
        _git("fetch", "--quiet", "--depth=1", "--", origin, commit, cwd=folder, files=files)
    except ProcessError:  # some servers provide only commits that a ref names
        _git("fetch", "--quiet", "--", origin, "+refs/*:refs/remotes/origin/*", cwd=folder, files=files)


def _size_of(commit: str, folder: Path) -> int:
    """Bytes of the files of a commit, as they will be on disk."""
    sizes = (line.split(maxsplit=4)[3] for line in _git("ls-tree", "-r", "--long", commit, cwd=folder).splitlines())
    return sum(int(size) for size in sizes if size != "-")  # of submodules


def _submodules_in(checkout: Path) -> Iterator[tuple[str, str, Path]]:
    """URL, commit and folder of every submodule of a checkout."""
    entries = _git("ls-files", "--stage", "-z", cwd=checkout).split("\0")  # MODE COMMIT STAGE\tPATH
    commits = {entry.partition("\t")[2]: entry.split()[1] for entry in entries if entry.startswith(_SUBMODULE)}
    if not commits:
        return
    _git("submodule", "--quiet", "init", cwd=checkout)  # resolves relative addresses
    modules = _settings(checkout, "--blob=HEAD:.gitmodules")
    addresses = _settings(checkout, "--local")
    for key, path in modules.items():
        url = addresses.get(key.removesuffix("path") + "url")
        if key.endswith(".path") and url and path in commits:
            yield url, commits[path], checkout / path


def _settings(checkout: Path, origin: str) -> dict[str, str]:
    """Read git settings by name, such as ``submodule.cutlass.path``."""
    entries = _git("config", "--null", "--list", origin, cwd=checkout).split("\0")
    return {key: value for key, _, value in (entry.partition("\n") for entry in entries)}


def _place_of(url: str) -> str:
    """URL that a repository is fetched from: its own, or that of a clone."""
    key = _without_suffix(url)
    _unused.discard(key)
    return _clones[key].resolve().as_uri() if key in _clones else url


def _without_suffix(url: str) -> str:
    return url.rstrip("/").removesuffix(".git")


def _is_file(url: str) -> bool:
    return url.startswith("file://")


def files_of_checkout(folder: Path) -> tuple[Path, ...] | None:
    """List the tracked and new files of a checkout and its submodules, sorted; None if the folder is not its top."""
    if not (folder / ".git").exists():
        return None
    listing = ("-c", "core.quotePath=true", "ls-files")  # as ASCII, since the output arrives decoded
    tracked = run_git(folder, *listing, "--recurse-submodules")
    new = run_git(folder, *listing, "--others", "--exclude-standard")
    names = {_unquoted(line) for line in (tracked + new).split("\n") if line}
    files = sorted(name for name in names if not name.endswith("/"))  # the others are nested checkouts
    return tuple(path for name in files if os.path.lexists(path := folder / name))


def _unquoted(name: str) -> str:
    """Undo git's quotes and escapes, which are those of C.

    https://git-scm.com/docs/git-config#Documentation/git-config.txt-corequotePath
    """
    if not name.startswith('"'):
        return name
    return os.fsdecode(name[1:-1].encode("ascii").decode("unicode_escape").encode("latin-1"))


def run_git(checkout: Path, *arguments: str) -> str:
    """Run git in a checkout with this machine's settings, which define trusted owners; raises ProcessError."""
    return process.run(["git", "-C", checkout, *arguments])


def _git(*arguments: str | Path, cwd: Path | None = None, files: bool = False) -> str:
    """Run git without hooks, prompts and settings that could change bytes; with `files`, it may fetch from folders."""
    local_files = ("-c", "protocol.file.allow=always") if files else ()
    settings = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    variables = process.environment_for_foreign_code() | process.proxy_variables() | settings
    return process.run([*_GIT, *local_files, *arguments], cwd=cwd, env=variables)


UNTAGGED: Final = ProjectVersion("0.0.0")
"""Version of a checkout without tags, such as a shallow one of a branch: ``package.yml`` releases none of it."""


def pushed_tag() -> str | None:
    """Return the tag that a workflow runs for; None for a branch, and outside of GitHub.

    https://docs.github.com/en/actions/reference/workflows-and-actions/variables#default-environment-variables
    """
    return os.environ.get("GITHUB_REF_NAME") if os.environ.get("GITHUB_REF_TYPE") == "tag" else None


def versions_of_tag(tag: str | None) -> tuple[ProjectVersion, ...]:
    """Return the version that a tag reads as, if any, and the one before its first hyphen.

    ``v1.2.3-rc1`` may be of 1.2.3rc1 or of 1.2.3; ``v1.2.3-torch2.16`` is of 1.2.3.
    """
    versions = []
    for text in (tag, tag.partition("-")[0]) if tag else ():
        with suppress(ValueError):
            versions.append(project_version(text))
    return tuple(dict.fromkeys(versions))


def tagged_version(folder: Path) -> ProjectVersion | None:
    """Return the version of the pushed tag, else of the nearest that is not a release of wheels; None without one."""
    tags = ("--tags", "--abbrev=0", "--match=v[0-9]*", "--match=[0-9]*", "--exclude=v20[0-9][0-9]-*-*")
    tag = pushed_tag()
    with suppress(ProcessError):  # there is no tag
        tag = tag or run_git(folder, "describe", *tags).strip()
    return next(iter(versions_of_tag(tag)), None) if tag else UNTAGGED
