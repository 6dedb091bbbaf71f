"""The source of a build: a source distribution that has the locked hash, or a folder."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from platformdirs import user_cache_path

from wheelmill.config.records import LockedSdist
from wheelmill.errors import BuildError, IntegrityError
from wheelmill.files import sha256_of
from wheelmill.names import ProjectName, Sha256
from wheelmill.package_index import PackageIndexError, download_sdist
from wheelmill.plan.records import BuildTarget

_NOT_SOURCE: Final = ("*.egg-info", "__pycache__", ".git")
_NOT_SOURCE_AT_THE_TOP: Final = (*_NOT_SOURCE, "build", "dist")


def fetch_source(target: BuildTarget, destination: Path) -> tuple[Path, Sha256]:
    """Put the target's source under an empty folder.

    Returns:
        The folder that holds its build files, and the hash of what it was made from.

    Raises:
        BuildError: it is not locked, cannot be had, or has other bytes than the locked ones.
    """
    cell = target.cell
    if target.source is None:
        raise BuildError(
            f"packages.lock has no {cell.project} {cell.version}", hint=f"run 'wheelmill config lock {cell.project}'"
        )
    if isinstance(target.source, Path):
        folder = destination / target.source.name
        shutil.copytree(target.source, folder, ignore=_not_source(target.source))
        return folder, _sha256_of_tree(folder)
    _unpack(_downloaded(cell.project, target.source), destination)
    folders = [path for path in destination.iterdir() if path.is_dir()]
    if len(folders) != 1:
        raise BuildError(f"{target.source.filename} does not hold one folder, as PEP 517 wants it")
    return folders[0], target.source.sha256


def _not_source(root: Path) -> Callable[[str, list[str]], set[str]]:
    """What earlier builds left; a package further down may well be called ``dist``."""
    at_the_top = shutil.ignore_patterns(*_NOT_SOURCE_AT_THE_TOP)
    below = shutil.ignore_patterns(*_NOT_SOURCE)
    return lambda folder, names: at_the_top(folder, names) if Path(folder) == root else below(folder, names)


def _downloaded(project: ProjectName, sdist: LockedSdist) -> Path:
    """The source distribution in the cache, which keeps it under its hash."""
    path = user_cache_path("wheelmill") / "sdists" / sdist.sha256 / sdist.filename
    if not path.exists() or sha256_of(path) != sdist.sha256:
        partial = path.with_name(f".{path.name}.partial")
        try:
            download_sdist(project, sdist.filename, sdist.sha256, partial)
        except (PackageIndexError, IntegrityError) as error:
            raise BuildError(str(error)) from None
        partial.replace(path)
    return path


def _unpack(archive: Path, destination: Path) -> None:
    """Unpack files and folders; anything else, and anything that leads outside, is refused."""
    if not tarfile.is_tarfile(archive):
        raise BuildError(f"{archive.name} is not a tar archive, which PEP 625 wants a source distribution to be")
    with tarfile.open(archive) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                raise BuildError(f"{archive.name} has an unsafe member {member.name!r}")
        # https://docs.python.org/3/library/tarfile.html#hints-for-further-verification: 3.11.2 has no data_filter.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        tar.extractall(destination)  # noqa: S202 - every member was checked


def _sha256_of_tree(folder: Path) -> Sha256:
    """Hash the names and contents of a folder's files."""
    tree = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        tree.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        tree.update(content)
    return Sha256(tree.hexdigest())
