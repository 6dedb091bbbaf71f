"""Files of the package index, each downloaded once and kept under its hash."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from platformdirs import user_cache_path

from wheelmill.errors import IntegrityError
from wheelmill.installers.package_index import TIMEOUT, PackageIndexError, configured_index, index_client
from wheelmill.names import ProjectName, Sha256
from wheelmill.system.files import sha256_of

_TRIES: Final = 3
"""Wheels of gigabytes are downloaded; a connection that breaks is tried again."""


@dataclass(frozen=True, kw_only=True)
class RemoteWheel:
    """A wheel that an index has."""

    project: ProjectName
    filename: str
    url: str
    sha256: Sha256


def cached_sdist(project: ProjectName, filename: str, sha256: Sha256) -> Path:
    """Where a source distribution with this hash is, downloaded if need be.

    Raises:
        PackageIndexError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """

    def download(destination: Path) -> None:
        with index_client(project) as client:
            page = client.get_project_page(project, timeout=TIMEOUT)
            file = next((file for file in page.packages if file.filename == filename), None)
            if file is None:
                raise PackageIndexError(f"the package index no longer has {filename}")
            client.download_package(file, destination, verify=False, timeout=TIMEOUT)

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
                client.download_package(file, destination, verify=False, timeout=TIMEOUT)
        except PackageIndexError:
            if not left:
                raise
        else:
            return
