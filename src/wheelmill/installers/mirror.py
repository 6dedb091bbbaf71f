"""Files of the package index, each downloaded once and kept under its hash; and folders that they are linked into.

Such a folder is for places that reach no package index. uv decides which wheels belong there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from platformdirs import user_cache_path

from wheelmill.errors import IntegrityError, NetworkError
from wheelmill.installers.package_folder import another_system
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.installers.uv import compile_requirements, torch_options
from wheelmill.names import Platform, ProjectName, PythonVersion, Sha256
from wheelmill.system.files import link_or_copy, sha256_of
from wheelmill.system.folders import temporary_folder

if TYPE_CHECKING:
    from wheelmill.web.client import Web

_AT_ONCE: Final = 4
"""Downloads."""


def mirror(
    requirements: Sequence[str],
    folder: Path,
    *,
    python: PythonVersion,
    platform: Platform,
    torch_backend: str | None = None,
) -> list[Path]:
    """Put into a folder the wheels that requirements need, dependencies included.

    Args:
        requirements: the requirements, in the form of PEP 508.
        folder: gets the wheels, which may be links to a cache: do not write to them.
        python: the CPython that the packages are for.
        platform: the system they are for; its glibc is at least 2.28.
        torch_backend: where torch is, as `torch_options` takes it.

    Returns:
        The wheels in the folder.

    Raises:
        ProcessError: there are no wheels that fit together, or the package index does not answer.
        NetworkError: one of them cannot be downloaded.
        IntegrityError: the package index has other bytes under its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not requirements:
        return []
    from packaging.pylock import Pylock  # noqa: PLC0415 - takes long, and plans mirror nothing

    lock = compile_requirements(requirements, *another_system(python, platform), *torch_options(torch_backend))
    packages = Pylock.from_dict(tomllib.loads(lock)).packages
    wheels = [
        (wheel.filename, Sha256(wheel.hashes["sha256"]), wheel.url)
        for package in packages
        for wheel in package.wheels or ()
        if wheel.url
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        cached = list(pool.map(lambda each: _cached_wheel(*each), wheels))
    return [link_or_copy(wheel, folder / wheel.name) for wheel in cached]


def _cached_wheel(filename: str, sha256: Sha256, url: str) -> Path:
    return _cached_file(Path("mirror", sha256, filename), sha256, lambda _web: url)


def cached_sdist(project: ProjectName, filename: str, sha256: Sha256) -> Path:
    """The path of a source distribution with this hash, downloaded if need be.

    Raises:
        NetworkError: the index does not have the file or does not answer.
        IntegrityError: it has other bytes under that name.
    """

    def find(web: Web) -> str:
        url = next((file.url for file in files_of(project, web) if file.filename == filename), None)
        if url is None:
            raise NetworkError("file-gone", f"the package index no longer has {filename}")
        return url

    return _cached_file(Path("sdists", sha256, filename), sha256, find)


def _cached_file(place: Path, sha256: Sha256, find: Callable[[Web], str]) -> Path:
    """A file of the cache; what is downloaded appears in it whole, or not at all."""
    path = user_cache_path("wheelmill") / place
    if path.exists() and sha256_of(path) == sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(user_cache_path("wheelmill")) as own:  # others may want the file too
        partial = own / path.name
        with open_index() as web, partial.open("wb") as file:
            web.download(find(web), file)
        if (found := sha256_of(partial)) != sha256:
            raise IntegrityError("hash-differs", f"{path.name} has sha256 {found}, not the promised {sha256}")
        partial.replace(path)
    return path
