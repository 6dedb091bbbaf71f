"""Wheels in a folder with all that they need, for places that reach no package index.

uv decides which files these are; each is downloaded once and kept under its hash.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from packaging.pylock import Pylock

from wheelmill.installers.package_cache import RemoteWheel, cached_wheel
from wheelmill.installers.package_folder import another_system
from wheelmill.installers.uv import compile_requirements
from wheelmill.names import Platform, PythonVersion, Sha256

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
    """Put into a folder the wheels that requirements need, and what those need in their turn.

    Args:
        requirements: the requirements, in the form of PEP 508.
        folder: gets the wheels, which may be links to a cache: do not write to them.
        python: the CPython that the packages are for.
        platform: the system they are for; its glibc is at least 2.28.
        torch_backend: ``cu128`` takes torch from the index that uv knows for that CUDA.

    Returns:
        The wheels in the folder.

    Raises:
        ProcessError: there are no wheels that fit together, or the package index does not answer.
        NetworkError: one of them cannot be downloaded.
        IntegrityError: the package index has other bytes under its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wheels = _resolve(requirements, python, platform, torch_backend) if requirements else []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [_link(cached, folder / cached.name) for cached in pool.map(cached_wheel, wheels)]


def _resolve(
    requirements: Sequence[str], python: PythonVersion, platform: Platform, torch_backend: str | None
) -> list[RemoteWheel]:
    backend = ["--torch-backend", torch_backend] if torch_backend else []
    lock = compile_requirements(requirements, *another_system(python, platform), *backend)
    return [
        RemoteWheel(project=package.name, filename=wheel.filename, url=wheel.url, sha256=Sha256(wheel.hashes["sha256"]))
        for package in Pylock.from_dict(tomllib.loads(lock)).packages
        for wheel in package.wheels or ()
        if wheel.url
    ]


def _link(source: Path, destination: Path) -> Path:
    """Give a file a second name; where the file system cannot, copy it."""
    try:
        os.link(source, destination)
    except OSError:
        shutil.copyfile(source, destination)
    return destination
