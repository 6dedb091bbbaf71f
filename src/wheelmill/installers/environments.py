"""Virtual environments, folders of installed packages, and mirrors of the package index, all filled by uv.

uv finds interpreters, decides which wheels an environment gets, and links big wheels instead of copying them. A mirror
holds each file of the index once, under its hash, for environments that reach no index. Functions and methods raise
ProcessError if uv or pip fails.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from platformdirs import user_cache_path

from wheelmill.errors import IntegrityError, NetworkError
from wheelmill.installers.index_settings import index_only_variables
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.installers.uv import (
    compile_requirements,
    index_only_environment,
    index_variables,
    own_uv,
    run_own_uv,
    torch_options,
)
from wheelmill.names import Platform, ProjectName, PythonVersion, Sha256
from wheelmill.system import process
from wheelmill.system.files import link_or_copy, sha256_of
from wheelmill.system.folders import temporary_folder
from wheelmill.system.sandbox import Sandbox
from wheelmill.web.credentials import without_credentials

if TYPE_CHECKING:
    from wheelmill.web.client import Web


@dataclass(frozen=True, kw_only=True)
class VirtualEnvironment:
    """Virtual environment on disk."""

    directory: Path

    @property
    def python(self) -> Path:
        """Interpreter of the environment."""
        return self.directory / "bin" / "python"

    def install(self, requirements: Sequence[str], *, torch_backend: str | None = None) -> None:
        """Install PEP 508 requirements as wheels from the configured index alone; see `index_only_environment`."""
        argv = ("pip", "install", "--only-binary", ":all:", "--python", self.python)
        run_own_uv([*argv, *torch_options(torch_backend), *requirements])

    def pip_install(self, requirements: Sequence[str], *, extra_index: str, sandbox: Sandbox) -> None:
        """Install PEP 508 requirements with pip, as a user would: from an extra index, dependencies from any.

        Constraints of this machine are ignored; see `index_only_variables`. If pip needs a password, it installs wheels
        only, because a ``setup.py`` could read the password. pip runs in `sandbox`, because a dependency may have only
        a source distribution.
        """
        variables = {**index_only_variables(), **index_variables()}
        settings = {name: value for name, value in variables.items() if name.startswith("PIP_")}
        settings |= process.proxy_variables()
        wheels_only = any(without_credentials(value) != value for value in settings.values())
        places = (settings.get(f"PIP_{name}", "") for name in ("FIND_LINKS", "INDEX_URL", "EXTRA_INDEX_URL"))
        paths = (Path(word.removeprefix("file://")) for word in " ".join(places).split())
        # Pages of an index on disk link to files beside it.
        folders = [path.parent if path.name == "simple" else path for path in paths if path.is_absolute()]
        names = ":all:" if wheels_only else ",".join(Requirement(text).name for text in requirements)
        replace(sandbox, readable=[*sandbox.readable, *folders]).run(
            [
                *(self.python, "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir"),
                *("--only-binary", names, "--extra-index-url", extra_index, *requirements),
            ],
            cwd=self.directory,
            # pip unpacks gigabytes in TMPDIR.
            env=process.environment_for_foreign_code() | settings | {"TMPDIR": str(self.directory)},
        )

    def evaluate(self, code: str, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """Run wheelmill's own Python code in the environment and parse the JSON of its last printed line."""
        printed = process.run(
            [self.python, "-I", "-c", code, *arguments], cwd=self.directory, env=process.environment_for_foreign_code()
        )
        return json.loads(printed.splitlines()[-1])


def create(directory: Path, *, python: PythonVersion | None = None, with_pip: bool = False) -> VirtualEnvironment:
    """Make an empty virtual environment, replacing an existing one, with the running interpreter by default."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    wanted = sys.executable if python is None or str(python) == running else str(python)
    with index_only_environment() as variables:
        process.run(
            [own_uv(), "venv", "--clear", *(["--seed"] if with_pip else []), "--python", wanted, directory],
            # pyenv's shims run only the versions that this variable names.
            env=variables | ({"PYENV_VERSION": wanted} if wanted == str(python) else {}),
        )
    return VirtualEnvironment(directory=directory)


_VIA_SHELL: Final = b"#!/bin/sh\n'''exec' "
"""First bytes of a script whose interpreter has a space in its path, or a path too long for ``#!``; three lines."""


@dataclass(frozen=True, kw_only=True)
class PackageFolder:
    """Packages for one Python and one platform."""

    directory: Path
    python: PythonVersion
    interpreter: Path | None = None
    """The interpreter of this machine that the packages are for; None if they are for another system."""
    platform: Platform | None = None
    """The system, if it is another one; its glibc is at least 2.28."""
    sealed: bool = False
    """True if it is complete: `install` then only checks that the requirements are there."""

    @property
    def scripts(self) -> Path:
        """Folder of the installed programs."""
        return self.directory / "bin"

    def install(
        self, requirements: Sequence[str], *, torch_backend: str | None = None, log: Path | None = None
    ) -> None:
        """Install PEP 508 requirements from the configured index; source distributions are refused."""
        offline = ["--no-index", "--no-config"] if self.sealed else []
        if requirements:
            self._install(*offline, *torch_options(torch_backend), *requirements, log=log)

    def install_locked(self, requirements: Path, *, log: Path | None = None) -> PackageFolder:
        """Install exactly the pins of a requirements file, by their hashes, over all else; return the sealed folder."""
        self._install("--require-hashes", "--no-deps", "--reinstall", "-r", requirements, log=log)
        return replace(self, sealed=True)

    def distributions(self) -> dict[str, str]:
        """Return the version of every installed project by name."""
        installed = importlib.metadata.distributions(path=[str(self.directory)])
        return dict(sorted((canonicalize_name(each.metadata["Name"]), each.version) for each in installed))

    def _install(self, *arguments: str | Path, log: Path | None) -> None:
        target = ("--only-binary", ":all:", "--target", self.directory)
        own = ("--python", self.interpreter or str(self.python))
        system = another_system(self.python, self.platform) if self.platform else own
        # uv makes its cache even offline, and the home folder may be read-only.
        cache = {name: os.environ[name] for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME") if name in os.environ}
        nothing = nullcontext({**process.environment_for_foreign_code(), **cache})
        with nothing if self.sealed else index_only_environment() as variables:
            process.run([own_uv(), "pip", "install", *target, *system, *arguments], env=variables, log=log)
        self._free_scripts()

    def _free_scripts(self) -> None:
        """Make scripts start the first Python on PATH instead of uv's interpreter."""
        for script in self.scripts.glob("*"):
            content = script.read_bytes()
            first, _, rest = content.partition(b"\n")
            if content.startswith(_VIA_SHELL):
                rest = rest.split(b"\n", 2)[2]
            elif not (first.startswith(b"#!") and b"python" in first):
                continue
            script.write_bytes(b"#!/usr/bin/env python3\n" + rest)


def another_system(python: PythonVersion, platform: Platform) -> tuple[str, ...]:
    """Return the uv options that select wheels for another system with glibc 2.28 or newer."""
    system = ("--python-platform", f"{platform.machine}-manylinux_2_28")
    if python.free_threaded:  # uv needs a free-threaded interpreter to know its tags, and downloads one once
        return ("--python", str(python), *system)
    return ("--python", sys.executable, "--python-version", str(python), *system)


MIRROR: Final = "mirror"
"""Folder of the cache with the wheels of mirrors, each in a folder named by its hash."""
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
    """Put the wheels that requirements need, dependencies too, into a folder, maybe as links to a cache: read-only.

    Raises NetworkError for a wheel that cannot be downloaded, and IntegrityError for other bytes under its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not requirements:
        return []
    from packaging.pylock import Pylock  # takes long, and plans mirror nothing

    lock = compile_requirements(requirements, *another_system(python, platform), *torch_options(torch_backend))
    packages = Pylock.from_dict(tomllib.loads(lock)).packages
    wheels = [
        (wheel.filename, Sha256(wheel.hashes["sha256"]), wheel.url)
        for package in packages
        for wheel in package.wheels or ()
        if wheel.url
    ]

    def linked(wheel: tuple[str, Sha256, str]) -> Path:
        filename, sha256, url = wheel
        # At once: another process may empty the cache.
        return link_or_copy(_cached_file(Path(MIRROR, sha256, filename), sha256, lambda _web: url), folder / filename)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(linked, wheels))


def cached_sdist(project: ProjectName, filename: str, sha256: Sha256) -> Path:
    """Return the path of a source distribution, downloaded once; raises NetworkError or IntegrityError."""

    def find(web: Web) -> str:
        url = next((file.url for file in files_of(project, web) if file.filename == filename), None)
        if url is None:
            raise NetworkError("file-gone", f"the package index no longer has {filename}")
        return url

    return _cached_file(Path("sdists", sha256, filename), sha256, find)


def _cached_file(place: Path, sha256: Sha256, find: Callable[[Web], str]) -> Path:
    """Return a cached file; a download appears in the cache whole or not at all."""
    path = user_cache_path("wheelmill") / place
    if path.exists() and sha256_of(path) == sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(user_cache_path("wheelmill")) as own:  # another process may download the same file
        partial = own / path.name
        with open_index() as web, partial.open("wb") as file:
            web.download(find(web), file)
        if (actual := sha256_of(partial)) != sha256:
            raise IntegrityError("hash-differs", f"{path.name} has sha256 {actual}, not the promised {sha256}")
        partial.replace(path)
    return path
