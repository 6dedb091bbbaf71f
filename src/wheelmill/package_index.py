"""Where sources come from: the package index that this machine is set to, and git repositories.

Nothing of what is fetched is run.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from platformdirs import user_cache_path

from wheelmill import process
from wheelmill.errors import IntegrityError, ProcessError, WheelmillError
from wheelmill.files import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypi_simple import DistributionPackage, PyPISimple

    from wheelmill.names import ProjectName, Sha256


_TIMEOUT: Final = 60
"""Seconds without a byte."""

_GIT: Final = (
    *("git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never", "-c", "protocol.https.allow=always"),
    *("-c", "http.lowSpeedLimit=1", "-c", f"http.lowSpeedTime={_TIMEOUT}"),
)


class PackageIndexError(WheelmillError):
    """The package index did not give what was asked for."""


@functools.cache
def configured_index() -> str | None:
    """The URL that pip or uv is configured with; None when neither is, and libraries use their own default."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if url := os.environ.get(name):
            return url
    try:
        listed = process.run([sys.executable, "-m", "pip", "config", "list"])
    except ProcessError:  # there is no pip beside this interpreter
        return None
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    quoted = settings.get("install.index-url") or settings.get("global.index-url")
    return str(ast.literal_eval(quoted)) if quoted else None


def sdists_of(project: ProjectName) -> tuple[DistributionPackage, ...]:
    """List a project's source distributions, yanked ones left out.

    Raises:
        PackageIndexError: the index has no such project or does not answer.
    """
    with _client(project) as client:
        page = client.get_project_page(project, timeout=_TIMEOUT)
    return tuple(file for file in page.packages if file.package_type == "sdist" and not file.is_yanked)


def download_sdist(project: ProjectName, filename: str, sha256: Sha256, destination: Path) -> None:
    """Download one source distribution; what does not have the hash is not kept.

    Raises:
        PackageIndexError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """
    with _client(project) as client:
        page = client.get_project_page(project, timeout=_TIMEOUT)
        file = next((file for file in page.packages if file.filename == filename), None)
        if file is None:
            raise PackageIndexError(f"the package index no longer has {filename}")
        client.download_package(file, destination, verify=False, timeout=_TIMEOUT)
    if (found := sha256_of(destination)) != sha256:
        destination.unlink()
        raise IntegrityError(f"{filename} has sha256 {found}; packages.lock says {sha256}")


def cached_sdist(project: ProjectName, filename: str, sha256: Sha256) -> Path:
    """Where a source distribution with this hash is, downloaded if need be; the cache keeps it under its hash.

    Raises:
        PackageIndexError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """
    path = user_cache_path("wheelmill") / "sdists" / sha256 / filename
    if not path.exists() or sha256_of(path) != sha256:
        partial = path.with_name(f".{path.name}.partial")
        download_sdist(project, filename, sha256, partial)
        partial.replace(path)
    return path


def find_commit(url: str, ref: str) -> str | None:
    """Ask a git repository for the commit of a tag or, where there is no such tag, of a branch.

    Raises:
        ProcessError: it does not answer.
    """
    names = (f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}")  # ^{}: what an annotated tag points to
    answer = _git(url, "ls-remote", url, *names)
    commits = {name: commit for commit, name in re.findall(r"^([0-9a-f]{40})\t(\S+)$", answer, re.MULTILINE)}
    return next((commits[name] for name in names if name in commits), None)


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


def _git(url: str, *arguments: str | Path, cwd: Path | None = None) -> str:
    """Run git without hooks, questions and settings of this machine, which could change the bytes."""
    local_files = ("-c", "protocol.file.allow=always") if url.startswith("file://") else ()
    settings = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    return process.run(
        [*_GIT, *local_files, *arguments], cwd=cwd, env=process.environment_for_foreign_code() | settings
    )


@contextmanager
def _client(project: ProjectName) -> Iterator[PyPISimple]:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT, NoSuchProjectError, PyPISimple, UnsupportedContentTypeError  # noqa: PLC0415 - factory extra
    from requests import RequestException  # noqa: PLC0415

    try:
        with PyPISimple(configured_index() or PYPI_SIMPLE_ENDPOINT) as client:
            yield client
    except NoSuchProjectError:
        raise PackageIndexError(f"the package index has no project {project}") from None
    except (RequestException, UnsupportedContentTypeError) as error:
        message = re.sub(r"//[^/@\s]+@", "//", str(error))  # the address may hold a password
        raise PackageIndexError(f"the package index does not answer: {message}") from None
