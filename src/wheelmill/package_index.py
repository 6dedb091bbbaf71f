"""The package index that this machine is set to: the one that pip or uv would ask."""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from platformdirs import user_cache_path

from wheelmill import process
from wheelmill.errors import IntegrityError, ProcessError, WheelmillError
from wheelmill.files import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pypi_simple import DistributionPackage, PyPISimple

    from wheelmill.names import ProjectName, Sha256


_TIMEOUT: Final = 60
"""Seconds without a byte."""

_TRIES: Final = 3
"""Wheels of gigabytes are downloaded; a connection that breaks is tried again."""


@dataclass(frozen=True, kw_only=True)
class RemoteWheel:
    """A wheel that an index has."""

    project: ProjectName
    filename: str
    url: str
    sha256: Sha256


class PackageIndexError(WheelmillError):
    """The package index did not give what was asked for."""

    exit_code = 2


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


def cached_sdist(project: ProjectName, filename: str, sha256: Sha256) -> Path:
    """Where a source distribution with this hash is, downloaded if need be.

    Raises:
        PackageIndexError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """

    def download(destination: Path) -> None:
        with index_client(project) as client:
            page = client.get_project_page(project, timeout=_TIMEOUT)
            file = next((file for file in page.packages if file.filename == filename), None)
            if file is None:
                raise PackageIndexError(f"the package index no longer has {filename}")
            client.download_package(file, destination, verify=False, timeout=_TIMEOUT)

    return _cached(Path("sdists", sha256, filename), sha256, download)


def cached_wheel(wheel: RemoteWheel) -> Path:
    """Where a wheel with this hash is, downloaded if need be from where the index says it is.

    Raises:
        PackageIndexError: it is not there, or the index does not answer.
        IntegrityError: other bytes are there.
    """
    return _cached(
        Path("mirror", wheel.sha256, wheel.filename), wheel.sha256, functools.partial(_download_wheel, wheel)
    )


def _cached(place: Path, sha256: Sha256, download: Callable[[Path], None]) -> Path:
    """A file of the cache; what is downloaded appears in it whole, or not at all."""
    path = user_cache_path("wheelmill") / place
    if path.exists() and sha256_of(path) == sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as name:  # of this process's own: others may want the file too
        partial = Path(name) / path.name
        download(partial)
        if (found := sha256_of(partial)) != sha256:
            raise IntegrityError(f"{path.name} has sha256 {found}, not the promised {sha256}")
        partial.replace(path)
    return path


def _download_wheel(wheel: RemoteWheel, destination: Path) -> None:
    from pypi_simple import DistributionPackage, Link  # noqa: PLC0415 - factory extra

    address, index = urlsplit(wheel.url), urlsplit(configured_index() or "")
    if address.scheme == "file":
        shutil.copyfile(url2pathname(address.path), destination)
        return
    file = DistributionPackage.from_link(Link(text=wheel.filename, url=wheel.url, attrs={}))
    for left in reversed(range(_TRIES)):
        try:
            with index_client(wheel.project) as client:
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
    import pypi_simple  # noqa: PLC0415 - factory extra
    from requests import RequestException  # noqa: PLC0415

    try:
        with pypi_simple.PyPISimple(configured_index() or pypi_simple.PYPI_SIMPLE_ENDPOINT) as client:
            yield client
    except pypi_simple.NoSuchProjectError:
        raise PackageIndexError(f"the package index has no project {project}") from None
    except RequestException as error:
        raise PackageIndexError(f"the package index does not answer: {_without_password(error)}") from None
    except (pypi_simple.UnsupportedContentTypeError, pypi_simple.UnsupportedRepoVersionError, ValueError) as error:
        said = _without_password(error)
        raise PackageIndexError(f"the package index answers with no page of {project}: {said}") from None


def _without_password(error: Exception) -> str:
    """What an error says, less the user in the addresses that it names."""
    return re.sub(r"//[^/@\s]+@", "//", str(error))
