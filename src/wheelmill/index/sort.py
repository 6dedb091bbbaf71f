"""Sorting the wheels of an index into its trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from wheelmill.config.model import Listing
from wheelmill.errors import SiteError
from wheelmill.index.tree import IndexFile, Site, Tree, VersionFiles, contradictions, rivals
from wheelmill.names import CudaVersion, ProjectName, TorchVersion
from wheelmill.wheel.label import Label, torch_requirement
from wheelmill.wheel.name import written_parts

Torches = Mapping[CudaVersion, Collection[TorchVersion]]
"""The torches that are published for each CUDA."""
NO_TORCHES: Final[Torches] = MappingProxyType({})


def site_of(
    files: Iterable[IndexFile], faults: Sequence[str], listing: Listing, torches: Torches, *, hint: str
) -> Site:
    """Make a site of wheels, if nothing is wrong.

    Args:
        files: the wheels of the site, in any order.
        faults: what is wrong with files that are not among them.
        listing: the status of projects and yanked wheels.
        torches: as for `site_of_releases`.
        hint: what to do about faults.

    Raises:
        SiteError: names these faults, and every two files that contradict each other.
    """
    every_fault = list(faults)
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
    """Make the tree of all wheels, and the narrower ones; a quarantined project has no files (PEP 792).

    A wheel for a release candidate of torch stands in its own tree alone.
    """
    versions = [VersionFiles(tuple(wheels)) for _, wheels in groupby(files, key=_project_and_version)]
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


def _project_and_version(file: IndexFile) -> tuple[ProjectName, str]:
    """The version as it is written: 1.0 and 1.0.0 are equal, and have pages of their own."""
    return file.name.project, written_parts(file.filename)[1]


def _torches_of(versions: Iterable[VersionFiles], published: Torches) -> Mapping[CudaVersion, set[TorchVersion]]:
    """The torches that have a tree, by CUDA: those that labels name, and those that wheels for a range serve.

    So a torch that is new in ``compatibility.yml`` gets a tree with every wheel that serves it, even if none was built
    for it alone.
    """
    torches: dict[CudaVersion, set[TorchVersion]] = defaultdict(set)
    for file in (version.files[0] for version in versions):
        label = file.name.label
        if label and label.torch:
            torches[label.cuda].add(label.torch)
        elif label and (file.torch or torch_requirement(file.requires_dist) is not None):
            torches[label.cuda].update(torch for torch in published.get(label.cuda, ()) if file.serves(torch))
    return torches


def _paths_of(file: IndexFile, torches: Mapping[CudaVersion, set[TorchVersion]]) -> tuple[str, ...]:
    """The trees that a wheel is in: those of its label, and those of each torch in its range."""
    label = file.name.label
    if label is None:
        return ("",)
    served = [torch for torch in torches[label.cuda] if file.serves(torch)] if label.torch is None else []
    narrow = (Label(cuda=label.cuda, torch=torch).trees[-1] for torch in served)
    return (*(() if file.is_for_candidate else ("",)), *label.trees, *narrow)
