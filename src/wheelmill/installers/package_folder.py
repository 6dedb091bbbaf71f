"""A folder of installed packages: any interpreter of its version imports from it, wherever it is mounted."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.installers.uv import index_only_environment, own_uv, torch_options
from wheelmill.names import Platform, PythonVersion
from wheelmill.system import process

_VIA_SHELL: Final = b"#!/bin/sh\n'''exec' "
"""How a script begins whose interpreter has a space in its path, or a path that is too long for ``#!``; three lines."""


@dataclass(frozen=True, kw_only=True)
class PackageFolder:
    """Packages for one Python and one platform."""

    directory: Path
    python: PythonVersion
    interpreter: Path | None = None
    """One of this machine that the packages are for; None when they will run on another system."""
    platform: Platform | None = None
    """The system, if it is another one; its glibc is at least 2.28."""
    sealed: bool = False
    """Whether it is complete: then, `install` only checks that what it is asked for is there."""

    @property
    def scripts(self) -> Path:
        """The folder of programs."""
        return self.directory / "bin"

    def install(
        self, requirements: Sequence[str], *, torch_backend: str | None = None, log: Path | None = None
    ) -> None:
        """Install wheels from the index that pip or uv is configured with; source distributions are refused.

        Args:
            requirements: the requirements, in the form of PEP 508.
            torch_backend: where torch is, as `torch_options` takes it.
            log: the file that gets what uv prints.

        Raises:
            ProcessError: uv could not.
        """
        offline = ["--no-index", "--no-config"] if self.sealed else []
        if requirements:
            self._install(*offline, *torch_options(torch_backend), *requirements, log=log)

    def install_locked(self, requirements: Path, *, log: Path | None = None) -> PackageFolder:
        """Install exactly what a requirements file pins, and only wheels that have one of its hashes.

        What is there already is replaced, for nobody knows its hash.

        Returns:
            The folder, sealed.

        Raises:
            ProcessError: uv could not.
        """
        self._install("--require-hashes", "--no-deps", "--reinstall", "-r", requirements, log=log)
        return replace(self, sealed=True)

    def distributions(self) -> dict[str, str]:
        """The version of every project in it, by name."""
        found = importlib.metadata.distributions(path=[str(self.directory)])
        return dict(sorted((canonicalize_name(each.metadata["Name"]), each.version) for each in found))

    def _install(self, *arguments: str | Path, log: Path | None) -> None:
        target = ("--only-binary", ":all:", "--target", self.directory)
        here = ("--python", self.interpreter or str(self.python))
        system = another_system(self.python, self.platform) if self.platform else here
        # It reaches nothing then, but makes its cache all the same, and a home may be read-only.
        cache = {name: os.environ[name] for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME") if name in os.environ}
        nothing = nullcontext({**process.environment_for_foreign_code(), **cache})
        with nothing if self.sealed else index_only_environment() as variables:
            process.run([own_uv(), "pip", "install", *target, *system, *arguments], env=variables, log=log)
        self._free_scripts()

    def _free_scripts(self) -> None:
        """Let scripts start the first Python on PATH, not the one that uv happened to run with."""
        for script in self.scripts.glob("*"):
            content = script.read_bytes()
            first, _, rest = content.partition(b"\n")
            if content.startswith(_VIA_SHELL):
                rest = rest.split(b"\n", 2)[2]
            elif not (first.startswith(b"#!") and b"python" in first):
                continue
            script.write_bytes(b"#!/usr/bin/env python3\n" + rest)


def another_system(python: PythonVersion, platform: Platform) -> tuple[str, ...]:
    """The options with which uv chooses wheels for a system that is not this one and has glibc 2.28 or newer."""
    system = ("--python-platform", f"{platform.machine}-manylinux_2_28")
    if python.free_threaded:  # uv must see such an interpreter to know its tags
        return ("--python", str(python), *system)
    return ("--python", sys.executable, "--python-version", str(python), *system)
