"""Collecting what an index lists: from the manifests of releases, or from a folder of wheels."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from wheelmill.errors import SiteError
from wheelmill.index.records import IndexFile, Site, Tree
from wheelmill.names import ProjectName, Sha256
from wheelmill.release.records import SIDECAR_SUFFIX, Manifest
from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.records import WheelFile, WheelName


def site_of_releases(manifests: Sequence[Manifest], base_url: str) -> Site:
    """Make the site of all releases.

    Args:
        manifests: of every release.
        base_url: what lies above the releases' folders; absolute, or relative to the root of the site.

    Raises:
        SiteError: two releases have the same file name with different bytes.
    """
    return _site(
        IndexFile(
            project=(name := WheelName.parse(entry.filename)).project,
            filename=entry.filename,
            url=_url(base_url, manifest.tag, entry.filename),
            sha256=entry.sha256,
            size=entry.size,
            requires_python=entry.requires_python,
            metadata_sha256=entry.metadata_sha256,
            uploaded_at=manifest.published_at,
            trees=name.label.trees if name.label else (),
        )
        for manifest in manifests
        for entry in manifest.wheels
    )


def site_of_folder(directory: Path, base_url: str, *, warn: Callable[[str], None]) -> Site:
    """Make the site of a folder of wheels, also of wheels that were not built here.

    Args:
        directory: the folder; a sidecar beside a wheel is listed when it matches.
        base_url: the folder's own URL; absolute, or relative to the root of the site.
        warn: told of wheels without a label, which stand in the widest tree only.

    Raises:
        SiteError: with every wheel that cannot be read.
    """
    files, faults = [], []
    for path in sorted(directory.glob("*.whl")):
        try:
            file = _file_at(path, base_url)
        except (ValueError, KeyError) as error:
            faults.append(f"{path.name}: {error}")
            continue
        if not file.trees:
            warn(f"{path.name} has no CUDA label; it is listed under simple/ only")
        files.append(file)
    if faults:
        raise SiteError("\n".join(faults), hint="take these files out of the folder, or build them again")
    return _site(files)


def _file_at(path: Path, base_url: str) -> IndexFile:
    name = WheelName.parse(path.name)
    if findings := check_archive(path):
        raise ValueError("; ".join(finding.detail for finding in findings))
    metadata = metadata_bytes(path)
    requires_python = read_metadata(metadata).requires_python
    sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
    has_sidecar = sidecar.exists() and sidecar.read_bytes() == metadata
    file = WheelFile.at(path)
    return IndexFile(
        project=name.project,
        filename=path.name,
        url=_url(base_url, path.name),
        sha256=file.sha256,
        size=file.size,
        requires_python=str(requires_python) if requires_python is not None else None,
        metadata_sha256=Sha256(hashlib.sha256(metadata).hexdigest()) if has_sidecar else None,
        uploaded_at=None,
        trees=name.label.trees if name.label else (),
    )


def _url(base_url: str, *parts: str) -> str:
    """Join URL parts; ``+`` becomes ``%2B``, which object stores would take for a space."""
    return posixpath.join(base_url, *(quote(part) for part in parts))


def _site(files: Iterable[IndexFile]) -> Site:
    by_name: dict[str, IndexFile] = {}
    for file in files:
        other = by_name.setdefault(file.filename, file)
        if other.sha256 != file.sha256:
            raise SiteError(f"{file.filename} has different bytes at {other.url} and {file.url}")
    every_file = sorted(by_name.values(), key=lambda file: (file.project, file.filename))
    narrow = sorted({path for file in every_file for path in file.trees})
    return Site(trees=tuple(_tree(path, every_file) for path in ("", *narrow)))


def _tree(path: str, files: Sequence[IndexFile]) -> Tree:
    projects: dict[ProjectName, tuple[IndexFile, ...]] = {}
    for file in files:
        if _stands_in(file, path):
            projects[file.project] = (*projects.get(file.project, ()), file)
    return Tree(path=path, projects=projects)


def _stands_in(file: IndexFile, path: str) -> bool:
    """A wheel that needs no torch stands in the trees of every torch of its CUDA."""
    if path in ("", *file.trees):
        return True
    cuda, _, torch = path.partition("/")
    return bool(torch) and file.trees == (cuda,)
