"""What an index must not list, because installers would refuse it, or would not agree about it.

What pip and uv do with each was tried on them; see docs/index.md.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.config.model import Listing
from wheelmill.index.tree import IndexFile
from wheelmill.names import Architecture, ProjectName, Sha256, read_range, read_requirement
from wheelmill.release.manifest import ListedWheel
from wheelmill.web.pages import MAX_DIGITS, SIDECAR_SUFFIX
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.reserved import reservation

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def faults_of_entry(entry: ListedWheel, name: WheelName, absent: Container[str]) -> list[str]:
    """What is wrong with one entry of a manifest by itself, and with the files of its release.

    PEP 658: a sidecar that an index names must be there, or pip and uv cannot install the wheel.
    """
    faults = [*name_faults(entry.filename, name, entry.name, entry.version)]
    if reason := reservation(name.project):
        faults.append(reason)
    if not _SHA256.fullmatch(entry.sha256):
        faults.append(f"its manifest has no sha256 of it, but {entry.sha256!r}")
    if not _SHA256.fullmatch(entry.metadata_sha256):
        faults.append(f"its manifest has no sha256 of its sidecar, but {entry.metadata_sha256!r}")
    if entry.attestation is not None and not entry.attestation.startswith("https://"):
        faults.append(f"its manifest says that its attestation is at {entry.attestation!r}, which is no https URL")
    if not 0 < entry.size < 10**MAX_DIGITS:
        faults.append(f"its manifest says that it has {entry.size} bytes")
    if reason := _requirement_fault(entry.requires_python or "", entry.requires_dist):
        faults.append(f"its manifest says what it requires: {reason}")
    evidence = entry.certificate.evidence
    if unknown := _unknown((*evidence.sass, *evidence.ptx)):
        faults.append(f"its manifest says that it has code for {', '.join(unknown)}, which is no GPU architecture")
    wanted = (entry.filename, entry.filename + SIDECAR_SUFFIX)
    faults.extend(f"its release has no {filename}" for filename in wanted if filename in absent)
    return faults


@lru_cache(maxsize=4096)  # wheels of one version require the same
def _requirement_fault(requires_python: str, requires_dist: tuple[str, ...]) -> str | None:
    try:
        read_range(requires_python)
        for text in requires_dist:
            read_requirement(text)
    except ValueError as error:
        return str(error)
    return None


@lru_cache(maxsize=4096)  # wheels that were built alike have code for the same
def _unknown(codes: tuple[str, ...]) -> tuple[str, ...]:
    """Those that name no GPU architecture."""
    return tuple(code for code in codes if not _is_architecture(code))


def _is_architecture(code: str) -> bool:
    try:
        Architecture.of_code(code)
    except ValueError:
        return False
    return True


def name_faults(filename: str, name: WheelName, project: str, version: str) -> tuple[str, ...]:
    """What is wrong with a file name, beside the name and the version that METADATA says."""
    return _name_faults(name.project, filename.split("-", 2)[1], project, version)


@lru_cache(maxsize=4096)  # wheels of one version have all of these in common
def _name_faults(project: ProjectName, written: str, metadata_name: str, metadata_version: str) -> tuple[str, ...]:
    version = Version(written)
    return tuple(
        filter(
            None, (_label_fault(version, written), _metadata_fault(project, version, metadata_name, metadata_version))
        )
    )


def _label_fault(version: Version, written: str) -> str | None:
    """pip and uv normalize the version of a file name; a lock file keeps it as it stands and no longer matches."""
    label = written.partition("+")[2]
    if label == (version.local or ""):
        return None
    return f"expected the local version '{version.local}' in its name, not '{label}': uv.lock keeps what is written"


def _metadata_fault(project: ProjectName, version: Version, said: str, said_version: str) -> str | None:
    """pip refuses a wheel whose METADATA has another name or version; ``uv sync`` installs it again on every run."""
    try:
        agree = (canonicalize_name(said), Version(said_version)) == (project, version)
    except ValueError:
        agree = False
    return None if agree else f"METADATA says {said} {said_version}, its name {project} {version}"


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
