"""What an index lists of a folder of wheels, whoever built them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wheelmill.config.model import Listing
from wheelmill.index.sort import NO_TORCHES, Torches, site_of
from wheelmill.index.tree import IndexFile, Site, folder_url
from wheelmill.release.manifest import name_faults
from wheelmill.system.files import sha256_of_bytes
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.metadata import metadata_bytes, read_metadata, reservation
from wheelmill.wheel.name import WheelFile, WheelName


def site_of_folder(
    directory: Path, base_url: str, *, torches: Torches = NO_TORCHES, warn: Callable[[str], None]
) -> Site:
    """Make the site of a folder of wheels, also of wheels that were not built here.

    Args:
        directory: the folder; a sidecar beside a wheel is listed when it matches.
        base_url: the folder's own URL; absolute, or relative to the root of the site.
        torches: as for `site_of_releases`.
        warn: told of wheels without a label, which stand in the widest tree only, and of reserved names, which no
            release may have.

    Raises:
        SiteError: with every wheel that cannot be read or listed.
    """
    files: list[IndexFile] = []
    faults: list[str] = []
    for path in sorted(directory.glob("*.whl")):
        try:
            file = _file_at(path, base_url)
        except (ValueError, KeyError) as error:
            faults.append(f"{path.name}: {error}")
            continue
        if file.name.label is None:
            warn(f"{path.name} has {_lack_of(file.name)}; it is listed under simple/ only")
        if reason := reservation(file.project):
            warn(f"{path.name}: {reason}")
        files.append(file)
    return site_of(files, faults, Listing(), torches, hint="take these files out of the folder, or build them again")


def _file_at(path: Path, base_url: str) -> IndexFile:
    name = WheelName.parse(path.name)
    if findings := check_archive(path):
        raise ValueError("; ".join(finding.detail for finding in findings))
    content = metadata_bytes(path)
    metadata = read_metadata(content)
    if wrong := name_faults(path.name, name, metadata.name, str(metadata.version)):
        raise ValueError("; ".join(wrong))
    sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
    has_sidecar = sidecar.exists() and sidecar.read_bytes() == content
    file = WheelFile.at(path)
    return IndexFile(
        name=name,
        filename=path.name,
        folder=folder_url(base_url),
        sha256=file.sha256,
        size=file.size,
        requires_python=str(metadata.requires_python) if metadata.requires_python is not None else None,
        requires_dist=tuple(str(each) for each in metadata.requires_dist or ()),
        metadata_sha256=sha256_of_bytes(content) if has_sidecar else None,
    )


def _lack_of(name: WheelName) -> str:
    """Why a wheel has no label: ``no CUDA label``, ``a label for ROCm``."""
    named = name.built_for
    if named.cuda_major:
        return f"a label for {named}, of no certain minor release"
    return f"a label for {named}" if named.other_accelerator else str(named)
