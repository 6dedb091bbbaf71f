"""The package index that this machine is set to: the one that pip or uv would ask."""

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
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

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

_TRIES: Final = 3
"""Wheels of gigabytes are downloaded; a connection that breaks is tried again."""


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
    with index_client(project) as client:
        page = client.get_project_page(project, timeout=_TIMEOUT)
    return tuple(file for file in page.packages if file.package_type == "sdist" and not file.is_yanked)


def download_sdist(project: ProjectName, filename: str, sha256: Sha256, destination: Path) -> None:
    """Download one source distribution; what does not have the hash is not kept.

    Raises:
        PackageIndexError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """
    with index_client(project) as client:
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


def download_wheel(project: ProjectName, url: str, destination: Path) -> None:
    """Download a wheel from where an index says it is. Its hash is for the caller to check.

    Raises:
        PackageIndexError: it is not there, or the index does not answer.
    """
    from pypi_simple import DistributionPackage, Link  # noqa: PLC0415 - factory extra

    address, index = urlsplit(url), urlsplit(configured_index() or "")
    if address.scheme == "file":
        shutil.copyfile(url2pathname(address.path), destination)
        return
    file = DistributionPackage.from_link(Link(text=destination.name, url=url, attrs={}))
    for left in reversed(range(_TRIES)):
        try:
            with index_client(project) as client:
                if index.username and (address.hostname, address.port) == (index.hostname, index.port):
                    client.s.auth = (unquote(index.username), unquote(index.password or ""))
                client.download_package(file, destination, verify=False, timeout=_TIMEOUT)
        except PackageIndexError:
            if not left:
                raise
        else:
            return


@contextmanager
def index_client(project: ProjectName) -> Iterator[PyPISimple]:
    """Ask the index about a project.

    Raises:
        PackageIndexError: it has no such project or does not answer.
    """
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
