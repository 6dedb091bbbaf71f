"""Putting files into the trees of a site: all wheels, those of a CUDA, those of a CUDA and a torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from wheelmill.config.model import Listing
from wheelmill.errors import SiteError
from wheelmill.index.rules import contradictions
from wheelmill.index.tree import IndexFile, Site, Tree
from wheelmill.names import ProjectName


def site_of(files: Iterable[IndexFile], faults: Sequence[str], listing: Listing, *, hint: str) -> Site:
    """Make the site of files, if nothing is wrong.

    Args:
        files: the wheels of the site, in any order.
        faults: what is wrong with files that are not among them.
        listing: the status of projects and yanked wheels.
        hint: the advice that a fault is reported with.

    Raises:
        SiteError: with these faults, and with every two files that contradict each other.
    """
    every_fault = list(faults)
    by_name: dict[str, IndexFile] = {}
    for file in files:
        other = by_name.setdefault(file.filename, file)
        if other.sha256 != file.sha256:
            every_fault.append(f"{file.filename} has different bytes at {other.url} and {file.url}")
    every_file = sorted(by_name.values(), key=attrgetter("project", "filename"))
    every_fault.extend(contradictions(every_file))
    if every_fault:
        raise SiteError("\n".join(every_fault), hint=hint)
    return Site(trees=_trees(every_file, listing), statuses=listing.yanked.projects)


def _trees(files: Sequence[IndexFile], listing: Listing) -> tuple[Tree, ...]:
    """Make the tree of all wheels, and those that labels name; a quarantined project has no files (PEP 792).

    A wheel that needs no torch stands in the trees of every torch of its CUDA.
    """
    torch_trees: dict[str, set[str]] = defaultdict(set)
    for cuda, *narrower in {file.trees for file in files} - {()}:
        torch_trees[cuda].update(narrower)
    projects: dict[str, dict[ProjectName, tuple[IndexFile, ...]]] = defaultdict(dict)
    projects[""] = {}
    for project, wheels in groupby(files, key=attrgetter("project")):
        if listing.is_quarantined(project):
            projects[""][project] = ()
            continue
        listed: dict[str, list[IndexFile]] = defaultdict(list)
        for file in wheels:
            listed[""].append(file)
            for path in file.trees if len(file.trees) != 1 else (*file.trees, *torch_trees[file.trees[0]]):
                listed[path].append(file)
        for path, each in listed.items():
            projects[path][project] = tuple(each)
    return tuple(Tree(path=path, projects=projects[path]) for path in sorted(projects))
