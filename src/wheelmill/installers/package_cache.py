"""Files of the package index, each downloaded once and kept under its hash."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from platformdirs import user_cache_path

from wheelmill.errors import IntegrityError, NetworkError
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.names import ProjectName, Sha256
from wheelmill.system.files import sha256_of


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
        NetworkError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """

    def download(destination: IO[bytes]) -> None:
        with open_index() as web:
            file = next((file for file in files_of(project, web) if file.filename == filename), None)
            if file is None:
                raise NetworkError(f"the package index no longer has {filename}")
            web.download(file.url, destination)

    return _cached(Path("sdists", sha256, filename), sha256, download)


def cached_wheel(wheel: RemoteWheel) -> Path:
    """Where a wheel with this hash is, downloaded if need be from where the index says it is.

    Raises:
        NetworkError: it is not there, or the index does not answer.
        IntegrityError: other bytes are there.
    """

    def download(destination: IO[bytes]) -> None:
        with open_index() as web:
            web.download(wheel.url, destination)

    return _cached(Path("mirror", wheel.sha256, wheel.filename), wheel.sha256, download)


def _cached(place: Path, sha256: Sha256, download: Callable[[IO[bytes]], None]) -> Path:
    """A file of the cache; what is downloaded appears in it whole, or not at all."""
    path = user_cache_path("wheelmill") / place
    if path.exists() and sha256_of(path) == sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as name:  # of this process's own: others may want the file too
        partial = Path(name) / path.name
        with partial.open("wb") as file:
            download(file)
        if (found := sha256_of(partial)) != sha256:
            raise IntegrityError(f"{path.name} has sha256 {found}, not the promised {sha256}")
        partial.replace(path)
    return path
