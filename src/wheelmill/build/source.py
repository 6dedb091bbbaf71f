"""Source of a build: a source distribution with the locked hash, a locked commit, or a folder."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from wheelmill.config.model.files import LockedCommit, LockedSdist
from wheelmill.config.model.package import Package
from wheelmill.errors import BuildError, IntegrityError, NetworkError, UnreadableError
from wheelmill.installers.environments import cached_sdist
from wheelmill.installers.package_index import unpack_sdist
from wheelmill.names import ProjectName, Sha256
from wheelmill.plan.targets import BuildTarget
from wheelmill.system.files import refuse_links_out
from wheelmill.system.git import fetch_commit, files_of_checkout
from wheelmill.system.process import environment_for_foreign_code, raise_on_failure
from wheelmill.system.sandbox import Sandbox

_NOT_SOURCE: Final = ("*.egg-info", "__pycache__", ".git")
_NOT_SOURCE_AT_THE_TOP: Final = (*_NOT_SOURCE, "build", "dist")


def fetch_source(target: BuildTarget, destination: Path) -> tuple[Path, Sha256]:
    """Put the target's source under an empty folder; return the source's folder, and the hash of the original."""
    cell = target.cell
    match target.source:
        case None:
            raise BuildError(
                "not-locked",
                f"packages.lock has no {cell.project} {cell.version}",
                hint=f"run 'wheelmill config lock {cell.project}'",
            )
        case LockedSdist() as sdist:
            return _unpack(cell.project, sdist, destination), sdist.sha256
        case LockedCommit() as locked:
            folder = destination / f"{cell.project}-{cell.version}"
            message = f"{locked.git} does not give {locked.commit} ({locked.ref})"
            try:
                with raise_on_failure(BuildError("source-unavailable", message)):
                    fetch_commit(locked.git, locked.commit, folder, submodules=locked.submodules)
                locked.folder_in(folder)
            except UnreadableError as error:
                raise BuildError("source-too-large", str(error)) from None
            except ValueError as error:
                raise BuildError(
                    "subdirectory-invalid", f"{target.package.place_of('source.subdirectory')}: {error}"
                ) from None
        case original:
            _refuse_links_out(original, target.package)
            folder = destination / f"{cell.project}-{cell.version}"
            copy_folder(original, folder)
    return folder, sha256_of_tree(folder)


def apply_patches(package: Package, source: Path, *, log: Path) -> None:
    """Apply the patches of a package to its source, without the first part of the paths in them (``-p1``)."""
    for patch in package.patches:
        _refuse_links_out(patch, package)
        words: list[str | Path] = ["patch", "--batch", "--forward", "-p1", "-i", patch.resolve()]
        sandbox = Sandbox(writable={source: source}, readable=[patch.resolve()])
        with raise_on_failure(BuildError("patch-failed", f"{patch.name} does not apply to {source.name}")):
            sandbox.run(words, cwd=source, env=environment_for_foreign_code(), log=log)


def copy_folder(source: Path, destination: Path) -> None:
    """Copy the source in a folder: of a checkout, the files that git knows; else all but output of earlier builds."""
    files = files_of_checkout(source)
    if files is None:
        shutil.copytree(source, destination, ignore=_not_source(source))
        return
    for file in files:
        copy = destination / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(file, copy) if file.is_dir() else shutil.copy2(file, copy)


def _refuse_links_out(path: Path, package: Package) -> None:
    """Check links again: the configuration may have changed since it was loaded."""
    try:
        refuse_links_out(path, package.directory)
    except ValueError as error:
        raise BuildError("source-unreadable", f"{package.name}: {error}") from None


def _not_source(root: Path) -> Callable[[str, list[str]], set[str]]:
    """Ignore output of earlier builds: fewer names below the top, where a package may be called ``dist``."""
    at_the_top = shutil.ignore_patterns(*_NOT_SOURCE_AT_THE_TOP)
    below = shutil.ignore_patterns(*_NOT_SOURCE)
    return lambda folder, names: at_the_top(folder, names) if Path(folder) == root else below(folder, names)


def _unpack(project: ProjectName, sdist: LockedSdist, destination: Path) -> Path:
    try:
        return unpack_sdist(cached_sdist(project, sdist.sdist, sdist.sha256), destination)
    except (NetworkError, IntegrityError, UnreadableError) as error:
        raise BuildError("source-changed", str(error)) from None


def sha256_of_tree(folder: Path) -> Sha256:
    """Hash the names and contents of the files of a folder or checkout, and the targets of links."""
    tree = hashlib.sha256()
    paths = files_of_checkout(folder) or sorted(folder.rglob("*"))
    for path in (path for path in paths if path.is_symlink() or path.is_file()):
        content = bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
        name = path.relative_to(folder).as_posix()
        tree.update(os.fsencode(f"{name}\0{len(content)}\0"))  # a name need not be UTF-8
        tree.update(content)
    return Sha256(tree.hexdigest())
