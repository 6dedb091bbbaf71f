"""What an index must not list, because installers would refuse it or disagree about it.

How pip and uv treat each was tested; see docs/what-an-index-has.md.
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
    """The faults of one entry of a manifest, and of its files in the release.

    PEP 658: a sidecar that an index names must be there, or pip and uv cannot install the wheel.
    """
    wanted = (entry.filename, entry.filename + SIDECAR_SUFFIX)
    lacking = [f"its release has no {filename}" for filename in wanted if filename in absent]
    return faults_of_wheel(entry, name) + lacking


def contradictions(files: Sequence[IndexFile]) -> Iterator[str]:
    """Name wheels of one version with different requirements: uv reads one METADATA for all of them.

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


def rivals(files: Iterable[IndexFile]) -> Iterator[str]:
    """Name wheels of one version, build and tags under two names: pip takes the last link of a page, uv another.

    ``Demo-1.0`` and ``demo-1.0.0`` are both version 1.0 of demo.
    """
    first_of: dict[tuple[object, ...], IndexFile] = {}
    for file in files:
        name = file.name
        first = first_of.setdefault((name.project, name.version, name.build, name.tags), file)
        if first is not file:
            yield f"{first.filename} and {file.filename} are the same wheel to installers"


def changed(files: Iterable[IndexFile], deployed: Mapping[str, Sha256]) -> Iterator[str]:
    """Name wheels whose bytes differ from the deployed index: lock files hold those hashes."""
    for file in files:
        if (sha256 := deployed.get(file.filename, file.sha256)) != file.sha256:
            yield f"{file.filename} has sha256 {sha256} in the deployed index, {file.sha256} at {file.url}"


def vanished(filenames: Iterable[str], listing: Listing) -> Iterator[str]:
    """Name wheels of the deployed index that are in no release, unless a reason is given."""
    for filename in sorted(filenames):
        if filename not in listing.removed.wheels and not _is_quarantined(filename, listing):
            yield f"{filename} stands in the deployed index and in no release; removed.yml gives no reason"


def _is_quarantined(filename: str, listing: Listing) -> bool:
    try:
        project = WheelName.parse(filename).project
    except ValueError:
        return False
    return listing.is_quarantined(project)
