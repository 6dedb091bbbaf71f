"""The build requirements of a package, and the pinned and hashed files that satisfy them."""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from wheelmill.config.model import (
    EVERY_BUILD_NEEDS,
    LockedCommit,
    LockedRequirement,
    LockedRequirements,
    LockedSdist,
    Package,
    without_torch,
)
from wheelmill.config.pyproject import MAX_BYTES, PYPROJECT, Pyproject
from wheelmill.errors import ProcessError, UsageError
from wheelmill.installers.environments import cached_sdist
from wheelmill.installers.uv import compile_requirements, failure_of
from wheelmill.names import ProjectName, Sha256
from wheelmill.system.folders import temporary_folder
from wheelmill.system.git import fetch_commit

OLDEST_PYTHON: Final = "3.9"
"""The oldest Python that requirements are locked for."""


def locked_requirements(
    package: Package, sources: Collection[LockedSdist | LockedCommit], kept: LockedRequirements | None
) -> LockedRequirements:
    """Resolve what the builds of a package need, unless what is locked was resolved from the same.

    Args:
        package: the package whose builds need them.
        sources: of all its versions; with build isolation, they know what they require.
        kept: the requirements that are locked already.

    Raises:
        UsageError: nothing satisfies all of them.
    """
    required = [requirement for source in sources for requirement in source.requires or ()]
    if package.build_args.isolation and isinstance(package.source, Path):
        required.extend(Pyproject.read(package.source).requires)
    inputs = tuple(sorted({*package.build_requirements, *EVERY_BUILD_NEEDS, *without_torch(required)}))
    if kept and kept.inputs == inputs:
        return kept
    try:
        resolved = compile_requirements(
            inputs,
            *("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--refresh"),
            *("--python", sys.executable),  # else uv looks for the oldest Python and may download it
            *("--no-annotate", "--no-emit-index-url"),
            output="requirements.txt",
            without=["torch"],
        )
    except ProcessError as error:
        reason = f"the build requirements of {package.name} ({', '.join(inputs)}) cannot be resolved:\n{error.tail}"
        raise failure_of(error, otherwise=UsageError("requirements-unknown", reason)) from None
    return LockedRequirements(inputs=inputs, pinned=tuple(sorted(_pins(resolved), key=lambda pin: pin.requirement)))


def _pins(resolved: str) -> Iterable[LockedRequirement]:
    """Read the requirements file that uv wrote."""
    for line in resolved.replace("\\\n", "").splitlines():
        requirement, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
        yield LockedRequirement(requirement=str(Requirement(requirement)), sha256=tuple(sorted(map(Sha256, hashes))))


def requires_of_sdist(project: ProjectName, sdist: LockedSdist) -> tuple[str, ...]:
    """Read what the ``pyproject.toml`` of a source distribution asks for, from bytes that have the locked hash.

    Raises:
        NetworkError: the package index does not have it.
        IntegrityError: the package index has other bytes.
        UsageError: its requirements cannot be read.
    """
    archive = cached_sdist(project, sdist.sdist, sdist.sha256)
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and member.name.removeprefix("./").split("/")[1:] == [PYPROJECT]:
                    file = tar.extractfile(member)
                    return Pyproject.parse(file.read(MAX_BYTES) if file else b"", sdist.sdist).requires
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UsageError("sdist-unreadable", f"{sdist.sdist} cannot be read: {error}") from None
    return ()


def requires_of_commit(package: Package, locked: LockedCommit) -> tuple[str, ...]:
    """Read what the ``pyproject.toml`` of a commit asks for.

    Raises:
        UsageError: the commit cannot be fetched, lacks the folder that is built, or its requirements cannot be read.
    """
    with temporary_folder() as place:
        folder = place / package.name
        try:
            fetch_commit(locked.git, locked.commit, folder, submodules=False)
        except ProcessError as error:
            raise UsageError("commit-absent", f"{locked.git} does not give {locked.commit}:\n{error.tail}") from None
        try:
            return Pyproject.read(locked.folder_in(folder)).requires
        except ValueError as error:
            raise UsageError("subdirectory-invalid", f"{package.place_of('source.subdirectory')}: {error}") from None
