"""Contents of an index, collected from the manifests of releases, ``yanked.yml`` and ``removed.yml``.

Lines of those files that match no wheel are reported: most likely a name in them is mistyped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Final

from packaging.requirements import Requirement

from wheelmill.config.model import Listing
from wheelmill.index.sort import NO_TORCHES, Torches, site_of
from wheelmill.index.tree import IndexFile, Site, changed, faults_of_entry, folder_url, quote_name, vanished
from wheelmill.names import ReleaseTag, Sha256, words_like
from wheelmill.release.manifest import ListedRelease, ListedWheel
from wheelmill.web.credentials import is_secure
from wheelmill.web.pages import PROVENANCE_SUFFIX
from wheelmill.wheel.attestation import ATTESTATIONS
from wheelmill.wheel.name import WheelName, wheel_behind

NOTHING_SAID: Final = Listing()
NOTHING_ABSENT: Final[Mapping[ReleaseTag, Container[str]]] = MappingProxyType({})
Folders = Mapping[tuple[str, Sha256], str]
"""The folders of wheels that do not lie in that of their release, by file name and hash."""
NO_FOLDERS: Final[Folders] = MappingProxyType({})
NOTHING_DEPLOYED: Final[Mapping[str, Sha256]] = MappingProxyType({})


def site_of_releases(
    manifests: Sequence[ListedRelease],
    base_url: str,
    listing: Listing = NOTHING_SAID,
    *,
    folders: Folders = NO_FOLDERS,
    torches: Torches = NO_TORCHES,
    absent: Mapping[ReleaseTag, Container[str]] = NOTHING_ABSENT,
    deployed: Mapping[str, Sha256] = NOTHING_DEPLOYED,
    faults: Iterable[str] = (),
) -> Site:
    """Make the site of all releases.

    Args:
        manifests: the manifests of all releases.
        base_url: what lies above the releases' folders; absolute, or relative to the root of the site.
        listing: which wheels are yanked or removed, and the status of projects.
        folders: where wheels are that lie elsewhere; absolute, or relative to the root of the site.
        torches: those that are published for each CUDA, for wheels that serve a range of torches.
        absent: the names of files that a manifest names and its release lacks, by the release's tag.
        deployed: the hash of every wheel in the index that people use now, by file name.
        faults: what is wrong with other releases, reported along with the rest.

    Raises:
        SiteError: names every wheel that must not be listed as it is, every two that contradict each other, and every
            one that changed or vanished since the deployed index.
    """
    every_fault = [*faults]
    place = partial(folder_of, base_url=base_url, folders=folders)
    files = _files_of(manifests, listing, place, absent, every_fault)
    gone = set(deployed).difference(entry.filename for manifest in manifests for entry in manifest.wheels)
    every_fault.extend(vanished(gone, listing))
    every_fault.extend(changed(files, deployed))
    return site_of(
        files, every_fault, listing, torches, hint="publish the right file, or give the reason in removed.yml"
    )


def _files_of(
    manifests: Iterable[ListedRelease],
    listing: Listing,
    place: Callable[[ListedWheel, ListedRelease], str],
    absent: Mapping[ReleaseTag, Container[str]],
    faults: list[str],
) -> list[IndexFile]:
    """The wheels that may be listed, by file name; what is wrong with the others is added to `faults`."""
    files: list[IndexFile] = []
    in_order = sorted(manifests, key=lambda manifest: (manifest.published_at, manifest.tag))
    entries = [(entry, manifest) for manifest in in_order for entry in manifest.wheels]
    entries.sort(key=lambda pair: pair[0].filename)  # names that begin alike are read faster in a row
    for entry, manifest in entries:
        if entry.filename in listing.removed.wheels:
            continue
        try:
            name = WheelName.parse(entry.filename)
        except ValueError as error:
            faults.append(f"{manifest.tag}/{entry.filename}: {error}")
            continue
        if wrong := faults_of_entry(entry, name, absent.get(manifest.tag, ())):
            faults.extend(f"{manifest.tag}/{entry.filename}: {fault}" for fault in wrong)
        else:
            files.append(_file_of(entry, name, manifest, place(entry, manifest), listing))
    return files


def _file_of(entry: ListedWheel, name: WheelName, manifest: ListedRelease, folder: str, listing: Listing) -> IndexFile:
    return IndexFile(
        name=name,
        filename=entry.filename,
        folder=folder,
        sha256=entry.sha256,
        size=entry.size,
        requires_python=entry.requires_python,
        requires_dist=entry.requires_dist,
        metadata_sha256=entry.metadata_sha256,
        uploaded_at=manifest.published_at,
        release=manifest.tag,
        certificate=entry.certificate,
        attestation=entry.attestation or (_attestations_in(folder) if entry.attested else None),
        provenance=f"{folder}{quote_name(entry.filename)}{PROVENANCE_SUFFIX}"
        if entry.provenance and is_secure(folder)
        else None,
        yanked=listing.yank_reason(entry.filename, name.project, name.version),
        external=entry.external,
    )


@lru_cache(maxsize=4096)  # one text for all wheels of a release
def _attestations_in(folder: str) -> str | None:
    return f"{folder}{ATTESTATIONS}" if "://" in folder else None


def folder_of(entry: ListedWheel, release: ListedRelease, base_url: str, folders: Folders) -> str:
    """The URL of the folder that a wheel lies in, with a slash at its end.

    Args:
        entry: the wheel.
        release: the release that has it.
        base_url: what lies above the releases' folders; absolute, or relative to the root of the site.
        folders: where wheels are that lie elsewhere.

    Raises:
        SiteError: nothing can be below that URL.
    """
    elsewhere = folders.get((entry.filename, entry.sha256)) if folders else None
    return folder_url(base_url, release.tag) if elsewhere is None else folder_url(elsewhere)


def idle_lines(listing: Listing, releases: Sequence[ListedRelease], deployed: Collection[str]) -> Iterator[str]:
    """Name the lines that match no wheel, so that the wheels they were meant for stay listed.

    They are not errors: a line may outlive the release of its wheel.

    Args:
        listing: the lines of both files.
        releases: every release.
        deployed: the file names of the index that people use now.
    """
    yanked, removed = listing.yanked, listing.removed
    if not (removed.wheels or yanked.wheels or yanked.versions or yanked.projects):
        return
    filenames = {*chain.from_iterable((wheel.filename for wheel in each.wheels) for each in releases), *deployed}
    for file, wheels in ("removed.yml", removed.wheels), ("yanked.yml", yanked.wheels):
        for filename in sorted(wheels.keys() - filenames):
            start = filename.partition("-")[0] + "-"
            alike = words_like(filename, (each for each in filenames if each.startswith(start)))
            yield _idle(f"{file}: wheels.{filename}: no release has that wheel", alike)
    if not (yanked.versions or yanked.projects):
        return
    names = [name for name in map(wheel_behind, filenames) if name]
    projects = {name.project for name in names}
    for requirement in yanked.versions:
        if not any(_is_about(requirement, name) for name in names):
            alike = [] if requirement.name in projects else words_like(requirement.name, projects)
            yield _idle(f"yanked.yml: versions.{requirement}: no release has such a wheel", alike)
    for project in sorted(yanked.projects.keys() - projects):
        yield _idle(f"yanked.yml: projects.{project}: no release has a wheel of it", words_like(project, projects))


def _idle(text: str, alike: Sequence[str]) -> str:
    return f"{text}, so the line does nothing{f'; did you mean {alike[0]}?' if alike else ''}"


def _is_about(requirement: Requirement, name: WheelName) -> bool:
    return requirement.name == name.project and requirement.specifier.contains(name.version, prereleases=True)
