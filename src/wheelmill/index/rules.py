"""What an index must not list, because installers would refuse it, or would not agree about it.

What pip and uv do with each was tried on them; see docs/what-an-index-has.md.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from packaging.version import Version

from wheelmill.config.model import Listing
from wheelmill.index.tree import IndexFile
from wheelmill.names import Sha256
from wheelmill.release.manifest import ListedWheel, faults_of_wheel
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.name import WheelName


def faults_of_entry(entry: ListedWheel, name: WheelName, absent: Container[str]) -> list[str]:
    """What is wrong with one entry of a manifest by itself, and with the files of its release.

    PEP 658: a sidecar that an index names must be there, or pip and uv cannot install the wheel.
    """
    wanted = (entry.filename, entry.filename + SIDECAR_SUFFIX)
    lacking = [f"its release has no {filename}" for filename in wanted if filename in absent]
    return faults_of_wheel(entry, name) + lacking


def contradictions(files: Sequence[IndexFile]) -> Iterator[str]:
    """Name wheels of one version that require different things: uv reads one METADATA for all of them.

    Args:
        files: by project, and by file name in each.
    """
    for _, wheels in groupby(files, key=lambda file: file.project):
        first_of: dict[Version, IndexFile] = {}
        for file in wheels:
            first = first_of.setdefault(file.name.version, file)
            if first.requires_python != file.requires_python:
                ranges = f"{first.requires_python or 'any'}, {file.requires_python or 'any'}"
                yield f"{first.filename} and {file.filename} have different Requires-Python: {ranges}"
            if first.requires_dist != file.requires_dist and (only := {*first.requires_dist} ^ {*file.requires_dist}):
                one_sided = ", ".join(map(repr, sorted(only)))
                yield f"{first.filename} and {file.filename} have different Requires-Dist: only one has {one_sided}"


def changed(files: Iterable[IndexFile], deployed: Mapping[str, Sha256]) -> Iterator[str]:
    """Name wheels that have other bytes than the index that people use now says: lock files hold those hashes."""
    for file in files:
        if (sha256 := deployed.get(file.filename, file.sha256)) != file.sha256:
            yield f"{file.filename} has sha256 {sha256} in the deployed index, {file.sha256} at {file.url}"


def vanished(filenames: Iterable[str], listing: Listing) -> Iterator[str]:
    """Name wheels that the index that people use now has, and no release, where no reason is given."""
    for filename in sorted(filenames):
        if filename not in listing.removed.wheels and not _is_quarantined(filename, listing):
            yield f"{filename} stands in the deployed index and in no release; removed.yml gives no reason"


def _is_quarantined(filename: str, listing: Listing) -> bool:
    try:
        project = WheelName.parse(filename).project
    except ValueError:
        return False
    return listing.is_quarantined(project)
