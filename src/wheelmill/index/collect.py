"""Contents of an index: from the manifests of releases or a folder of wheels, less ``removed.yml``, sorted into trees.

Lines of ``yanked.yml`` and ``removed.yml`` that match no wheel are reported: most likely a name in them is mistyped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import structs

from wheelmill.config.model.files import Listing
from wheelmill.errors import SiteError
from wheelmill.index.tree import (
    IndexFile,
    Site,
    Tree,
    VersionFiles,
    changed,
    contradictions,
    faults_of_entry,
    folder_url,
    quote_name,
    rivals,
    vanished,
)
from wheelmill.names import CudaVersion, ProjectName, ReleaseTag, Sha256, TorchVersion, words_like
from wheelmill.release.manifest.record import ListedRelease, ListedWheel, attributes_of, listed_file
from wheelmill.release.manifest.rules import name_faults, spelling_fault
from wheelmill.system.folders import entries_below
from wheelmill.system.progress import Warn
from wheelmill.web.credentials import is_secure
from wheelmill.web.pages import PROVENANCE_SUFFIX, SIDECAR_SUFFIX
from wheelmill.wheel.archive import check_archive
from wheelmill.wheel.attestation import ATTESTATIONS
from wheelmill.wheel.label import Label, Torches, torch_requirement
from wheelmill.wheel.metadata import metadata_bytes, read_metadata, reservation
from wheelmill.wheel.name import WHEEL_SUFFIX, WheelFile, WheelName, wheel_behind, written_parts


def site_of(files: Iterable[IndexFile], faults: list[str], listing: Listing, torches: Torches, *, hint: str) -> Site:
    """Make a site of wheels in any order; refuse contradictions between them, and `faults` of other files."""
    every_fault = [*faults]
    every_file: list[IndexFile] = []
    for filename, same in groupby(sorted(files, key=attrgetter("project", "filename")), key=attrgetter("filename")):
        first, *others = same
        every_file.append(first)
        every_fault += [
            f"{filename} has different bytes at {first.url} and {other.url}"
            for other in others
            if other.sha256 != first.sha256
        ]
    every_fault.extend(contradictions(every_file))
    every_fault.extend(rivals(every_file))
    if every_fault:
        raise SiteError("wheels-contradict", "\n".join(every_fault), hint=hint)
    return Site(trees=_trees(every_file, listing, torches), statuses=listing.yanked.projects)


def _trees(files: Sequence[IndexFile], listing: Listing, published: Torches) -> tuple[Tree, ...]:
    """Make the tree of all wheels and the narrower ones; wheels for a candidate of torch are in their own alone."""
    groups = (tuple(wheels) for _, wheels in groupby(files, key=_project_and_version))
    versions = [VersionFiles(_decided(wheels, published)) for wheels in groups]
    torches = _torches_of(versions, published)
    trees: dict[str, dict[ProjectName, list[VersionFiles]]] = defaultdict(lambda: defaultdict(list))
    trees[""] = {}
    for project, of_project in groupby(versions, key=lambda version: version.name.project):
        if listing.is_quarantined(project):
            trees[""][project] = []
            continue
        for version in of_project:
            for path in _paths_of(version.files[0], torches):
                trees[path].setdefault(project, []).append(version)
    return tuple(
        Tree(path=path, versions={project: tuple(listed) for project, listed in trees[path].items()})
        for path in sorted(trees)
    )


def _decided(wheels: tuple[IndexFile, ...], published: Torches) -> tuple[IndexFile, ...]:
    """Decide what joined digits in the label of a version mean, by the published torches."""
    label = wheels[0].name.built_for
    torch = label.decided(published).torch if label.torch_readings else None
    return tuple(structs.replace(wheel, decided_torch=torch) for wheel in wheels) if torch else wheels


def _project_and_version(file: IndexFile) -> tuple[ProjectName, str]:
    """Return project and version as written: 1.0 and 1.0.0 are equal, and have pages of their own."""
    return file.name.project, written_parts(file.filename)[1]


def _torches_of(versions: Iterable[VersionFiles], published: Torches) -> Mapping[CudaVersion, set[TorchVersion]]:
    """Return the torches with a tree, by CUDA: those in labels and in ranges, even if no wheel is for it alone."""
    torches: dict[CudaVersion, set[TorchVersion]] = defaultdict(set)
    for file in (version.files[0] for version in versions):
        label = file.label
        if label and label.torch:
            torches[label.cuda].add(label.torch)
        elif label and (file.torch or torch_requirement(file.requires_dist) is not None):
            torches[label.cuda].update(torch for torch in published.get(label.cuda, ()) if file.serves(torch))
    return torches


def _paths_of(file: IndexFile, torches: Mapping[CudaVersion, set[TorchVersion]]) -> tuple[str, ...]:
    """Return the trees of a wheel: those of its label, and those of each torch in its range."""
    label = file.label
    if label is None:
        return ("",)
    served = [torch for torch in torches[label.cuda] if file.serves(torch)] if label.torch is None else []
    narrow = (Label(cuda=label.cuda, torch=torch).trees[-1] for torch in served)
    return (*(() if file.is_for_candidate else ("",)), *label.trees, *narrow)


EMPTY_LISTING: Final = Listing()
Folders = Mapping[tuple[str, Sha256], str]
"""Folders of wheels outside the folder of their release, by file name and hash."""


def site_of_releases(
    manifests: Sequence[ListedRelease],
    base_url: str,
    listing: Listing = EMPTY_LISTING,
    *,
    folders: Folders = MappingProxyType({}),
    torches: Torches = MappingProxyType({}),
    absent: Mapping[ReleaseTag, Container[str]] = MappingProxyType({}),
    deployed: Mapping[str, Sha256] = MappingProxyType({}),
    faults: Iterable[str] = (),
) -> Site:
    """Make the site of all releases.

    `base_url` is the parent of the releases' folders, `folders` are those of wheels that lie elsewhere: absolute, or
    relative to the root of the site. `torches` are published, for wheels that serve a range of them. `absent` names
    files that a manifest names and its release lacks. `deployed` has the hashes of the deployed index, by file name.
    `faults` are those of other releases, reported along with the rest.
    """
    every_fault = [*faults]
    place = partial(folder_of, base_url=base_url, folders=folders)
    files = _files_of(manifests, listing, place, absent, every_fault)
    gone = set(deployed).difference(entry.filename for manifest in manifests for entry in manifest.wheels)
    every_fault.extend(vanished(gone, listing))
    every_fault.extend(changed(files, deployed))
    return site_of(files, every_fault, listing, torches, hint="publish the right file, or give a reason in removed.yml")


def _files_of(
    manifests: Iterable[ListedRelease],
    listing: Listing,
    place: Callable[[ListedWheel, ListedRelease], str],
    absent: Mapping[ReleaseTag, Container[str]],
    faults: list[str],
) -> list[IndexFile]:
    """Return the wheels that may be listed, by file name; add the faults of the others to `faults`."""
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
            yanked = listing.yank_reason(entry.filename, name.project, name.version)
            files.append(file_of(entry, name, manifest, place(entry, manifest), yanked))
    return files


def file_of(entry: ListedWheel, name: WheelName, manifest: ListedRelease, folder: str, yanked: str | None) -> IndexFile:
    """Return the index entry of a wheel in a release; `yanked` is the reason, None if it is not yanked."""
    return IndexFile(
        *attributes_of(entry),
        name=name,
        folder=folder,
        uploaded_at=manifest.published_at,
        release=manifest.tag,
        certificate=entry.certificate,
        attestation=entry.attestation or (_attestations_in(folder) if entry.attested else None),
        provenance=f"{folder}{quote_name(entry.filename)}{PROVENANCE_SUFFIX}"
        if entry.provenance and is_secure(folder)
        else None,
        yanked=yanked,
    )


@lru_cache(maxsize=4096)  # one text for all wheels of a release
def _attestations_in(folder: str) -> str | None:
    return f"{folder}{ATTESTATIONS}" if "://" in folder else None


def folder_of(entry: ListedWheel, release: ListedRelease, base_url: str, folders: Folders) -> str:
    """Return the URL of a wheel's folder, with a trailing slash; `base_url` is as in `site_of_releases`."""
    elsewhere = folders.get((entry.filename, entry.sha256)) if folders else None
    return folder_url(base_url, release.tag) if elsewhere is None else folder_url(elsewhere)


def unused_entries(listing: Listing, releases: Sequence[ListedRelease], deployed: Collection[str]) -> Iterator[str]:
    """Name the lines that match no wheel: the intended wheels stay listed.

    They are not errors: a line may outlive the release of its wheel. `deployed` has the file names of the deployed
    index.
    """
    yanked, removed = listing.yanked, listing.removed
    if not (removed.wheels or yanked.wheels or yanked.versions or yanked.projects):
        return
    filenames = {*chain.from_iterable((wheel.filename for wheel in each.wheels) for each in releases), *deployed}
    for file, wheels in ("removed.yml", removed.wheels), ("yanked.yml", yanked.wheels):
        for filename in sorted(wheels.keys() - filenames):
            start = filename.partition("-")[0] + "-"
            alike = words_like(filename, (each for each in filenames if each.startswith(start)))
            yield _unused(f"{file}: wheels.{filename}: no release has that wheel", alike)
    if not (yanked.versions or yanked.projects):
        return
    names = [name for name in map(wheel_behind, filenames) if name]
    projects = {name.project for name in names}
    for requirement in yanked.versions:
        own = (name.version for name in names if name.project == requirement.name)
        if not any(requirement.specifier.contains(version, prereleases=True) for version in own):
            alike = [] if requirement.name in projects else words_like(requirement.name, projects)
            yield _unused(f"yanked.yml: versions.{requirement}: no release has such a wheel", alike)
    for project in sorted(yanked.projects.keys() - projects):
        yield _unused(f"yanked.yml: projects.{project}: no release has a wheel of it", words_like(project, projects))


def _unused(text: str, alike: Sequence[str]) -> str:
    return f"{text}, so the line does nothing{f'; did you mean {alike[0]}?' if alike else ''}"


def site_of_folder(
    directory: Path,
    base_url: str,
    *,
    torches: Torches = MappingProxyType({}),
    warn: Warn,
    leave_out: Warn | None = None,
) -> Site:
    """Make the site of a folder of wheels and the folders in it, including wheels that were built elsewhere.

    A sidecar beside a wheel is listed if it matches. `base_url` is the folder's own; absolute, or relative to the root
    of the site. `warn` receives wheels without a label, listed in the widest tree only, reserved names, which no
    release may have, and versions that locks spell otherwise. `leave_out` receives wheels that cannot be listed.
    """
    files: list[IndexFile] = []
    faults: list[str] = []
    report = leave_out or faults.append
    entries = entries_below(directory, on_error=lambda error: report(f"{error.filename}: {error.strerror}"))
    for path in (entry for entry in entries if entry.name.endswith(WHEEL_SUFFIX)):
        place = path.relative_to(directory)
        try:
            file = _file_at(path, folder_url(base_url, *place.parts[:-1]))
        except (OSError, ValueError, KeyError) as error:
            report(f"{place}: {error}")
            continue
        if file.name.label is None:
            warn(f"{place} has {_lack_of(file.name)}; it is listed under simple/ only")
        for reason in filter(None, (reservation(file.project), spelling_fault(path.name))):
            warn(f"{place}: {reason}")
        files.append(file)
    return site_of(files, faults, Listing(), torches, hint="take these files out of the folder, or build them again")


def _file_at(path: Path, folder: str) -> IndexFile:
    name = WheelName.parse(path.name)
    if not path.is_file():
        raise ValueError("not a file")
    if findings := check_archive(path):
        raise ValueError("; ".join(finding.detail for finding in findings))
    content = metadata_bytes(path)
    metadata = read_metadata(content)
    if wrong := name_faults(path.name, name, metadata.name, str(metadata.version)):
        raise ValueError("; ".join(wrong))
    sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
    has_sidecar = sidecar.is_file() and sidecar.read_bytes() == content
    listed = listed_file(WheelFile.at(path), metadata, content if has_sidecar else None)
    return IndexFile(*attributes_of(listed), name=name, folder=folder)


def _lack_of(name: WheelName) -> str:
    """Explain why a wheel has no label: ``no CUDA label``, ``a label for ROCm``."""
    named = name.built_for
    if named.cuda_major:
        return f"a label for {named}, of no certain minor release"
    return f"a label for {named}" if named.other_accelerator else str(named)
