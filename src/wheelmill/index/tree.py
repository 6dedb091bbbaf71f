"""Contents of an index, the one model of every page for installers, programs and people, with its rules.

The rules refuse wheels that installers would refuse or disagree about. How pip and uv treat each was tested; see
docs/what-an-index-has.md.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property, lru_cache
from itertools import chain, groupby
from typing import Final, Self
from urllib.parse import quote, urlsplit

from packaging.version import Version

from wheelmill.config.model.files import Listing, Status, StatusEntry
from wheelmill.config.model.package import Package
from wheelmill.errors import SiteError
from wheelmill.names import (
    TORCH,
    CudaVersion,
    Platform,
    ProjectName,
    PythonVersion,
    ReleaseTag,
    Sha256,
    StableTorch,
    TorchNeed,
    TorchVersion,
)
from wheelmill.plan.targets import Plan
from wheelmill.release.manifest.record import ListedCertificate, ListedFile, ListedWheel
from wheelmill.release.manifest.rules import faults_of_wheel
from wheelmill.web.credentials import without_credentials
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.label import BuiltFor, Label, needed_torch, runs_beside
from wheelmill.wheel.name import WheelName, wheel_behind

WHEELS_JSON: Final = "wheels.json"
"""Everything that the index lists, for programs; the next build compares itself with it."""

ALIASES: Final = "aliases"
"""The folder of a site with the files of aliases: the only wheels that are its own."""

VARIANTS: Final = "variants"
"""The folder of trees of variant wheels, and of the lists of variants."""

DOCUMENTS: Final = "docs"
"""The folder of a site with wheelmill's documents."""
INVENTORY: Final = "objects.inv"
"""The file by which a folder that Sphinx rendered is known."""

SOURCES: Final = "sources.yml"
"""Other people's wheels for clients of this index; see `SOURCES_HASH`."""
SOURCES_HASH: Final = f"{SOURCES}.sha256"
"""The hash of `SOURCES` in the form of sha256sum, so that clients need not download the same list again."""

_quote_part: Final = lru_cache(maxsize=4096)(quote)
"""Cached by the parts before and after the ``+``: wheels of a version share the first, those of a label the second."""


def quote_name(name: str) -> str:
    """Quote a file name for a URL; ``+`` becomes ``%2B``, because object stores take it for a space."""
    return "%2B".join(map(_quote_part, name.split("+")))


@lru_cache(maxsize=4096)
def folder_url(url: str, *names: str) -> str:
    """Return the URL of a folder, or of one below it, with a trailing slash."""
    if (shown := without_credentials(url)) != url:
        raise SiteError("url-with-credentials", f"expected a URL without a user and a password, not one of {shown!r}")
    if not _is_folder(url):
        raise SiteError("url-not-a-folder", f"expected the URL of a folder, without ? or #, not {url!r}")
    return posixpath.join(url, *map(quote_name, names), "")


def _is_folder(url: str) -> bool:
    with suppress(ValueError):  # half of an IPv6 address
        return bool(urlsplit(url)) and url.isprintable() and not {"?", "#"} & {*url}
    return False


_ACTIVE: Final = StatusEntry(status=Status.ACTIVE, reason=None)


class IndexFile(ListedFile, frozen=True, kw_only=True):
    """Wheel of an index of up to a million; a msgspec struct, since nothing in Python is constructed faster."""

    name: WheelName
    """Its parsed file name."""
    folder: str
    """URL of its folder, with a trailing slash: absolute, or relative to the root of the site."""
    uploaded_at: datetime | None = None
    release: ReleaseTag | None = None
    """None for a wheel of a folder, which no release has."""
    certificate: ListedCertificate | None = None
    """Results of smoke and facts about the build; None for a wheel of a folder."""
    attestation: str | None = None
    """The address of the attestation of who built it."""
    provenance: str | None = None
    """The address of its provenance object (PEP 740)."""
    yanked: str | None = None
    """Why it is yanked; None when it is not (PEP 592)."""
    decided_torch: TorchVersion | None = None
    """Torch of a label with joined digits, by the torches that exist; None if the label alone names it."""

    @property
    def url(self) -> str:
        """URL, absolute or relative to the root of the site; stored for all wheels, it would be a fifth of memory."""
        return self.folder + quote_name(self.filename)

    @property
    def project(self) -> ProjectName:
        """Project of the wheel."""
        return self.name.project

    @property
    def built_for(self) -> BuiltFor:
        """All facts in its name."""
        return self.name.built_for.with_torch(self.decided_torch)

    @property
    def label(self) -> Label | None:
        """CUDA and torch in its name; None if that names no single release of CUDA."""
        return self.built_for.label

    @property
    def torch(self) -> TorchNeed | None:
        """Torch of its label, or the range that it requires if the label names only a CUDA."""
        named = self.built_for
        return named.torch or (needed_torch(self.requires_dist) if named.cuda else None)

    def serves(self, torch: TorchVersion) -> bool:
        """Return whether the wheel is for a torch; a wheel that needs none is for all."""
        match self.built_for.torch:
            case TorchVersion() as named:
                return named == torch
            case StableTorch() as named if torch not in named:
                return False
            case _:
                return runs_beside(self.requires_dist, torch)

    @property
    def is_for_candidate(self) -> bool:
        """True if it is for a release candidate of torch, so that only the candidate's tree has it."""
        return bool((label := self.label) and label.torch and label.torch.is_candidate)


@dataclass(frozen=True, eq=False, slots=True)
class VersionFiles:
    """Wheels of one version and label, by file name; a tree has all of them or none."""

    files: tuple[IndexFile, ...]

    @property
    def name(self) -> WheelName:
        """Name of the first wheel; all have the same project, version and label."""
        return self.files[0].name


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Simple index of a site's wheels for one CUDA and torch, for one CUDA, or all."""

    path: str
    """Its folder in the site: empty, ``cu130``, ``cu130/torch2.11``."""
    versions: Mapping[ProjectName, tuple[VersionFiles, ...]]
    """Sorted by name; the files of each project by file name."""

    @cached_property
    def projects(self) -> Mapping[ProjectName, tuple[IndexFile, ...]]:
        """Files of every project."""
        return {project: _files_of(versions) for project, versions in self.versions.items()}

    @property
    def folder(self) -> str:
        """Folder of its project list: ``simple``, ``cu130/torch2.11/simple``."""
        return f"{self.path}/simple" if self.path else "simple"


@dataclass(frozen=True, kw_only=True)
class Site:
    """Trees of an index; the first has all wheels for releases of torch."""

    trees: tuple[Tree, ...]
    statuses: Mapping[ProjectName, StatusEntry] = field(default_factory=dict)
    """The status of projects that are not simply active (PEP 792)."""

    @property
    def projects(self) -> Mapping[ProjectName, tuple[IndexFile, ...]]:
        """Files of every project, except those for release candidates of torch."""
        return self.trees[0].projects

    @cached_property
    def versions(self) -> Mapping[ProjectName, tuple[VersionFiles, ...]]:
        """Versions of every project."""
        every = {project: dict.fromkeys(versions) for project, versions in self.trees[0].versions.items()}
        for tree in self.trees[1:]:
            for project, versions in tree.versions.items():
                candidates = (version for version in versions if version.files[0].is_for_candidate)
                every.setdefault(project, {}).update(dict.fromkeys(candidates))
        return {project: tuple(versions) for project, versions in sorted(every.items())}

    @property
    def files(self) -> Mapping[ProjectName, tuple[IndexFile, ...]]:
        """Files of every project."""
        return {project: _files_of(versions) for project, versions in self.versions.items()}

    @property
    def torches(self) -> Mapping[CudaVersion, Sequence[TorchVersion]]:
        """Torches of the narrower trees, ascending, by their CUDA."""
        torches: dict[CudaVersion, set[TorchVersion]] = {}
        for tree in self.trees:
            if label := Label.parse(tree.path.replace("/", "")):
                torches.setdefault(label.cuda, set()).update([label.torch] if label.torch else [])
        return {cuda: sorted(torches[cuda]) for cuda in sorted(torches)}

    def status_of(self, project: ProjectName) -> StatusEntry:
        """Return the status of a whole project."""
        return self.statuses.get(project, _ACTIVE)


def _files_of(versions: Iterable[VersionFiles]) -> tuple[IndexFile, ...]:
    return tuple(chain.from_iterable(version.files for version in versions))


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Plan of the factory, shown to people beside the built wheels."""

    packages: Mapping[ProjectName, Package]
    plan: Plan
    """Made as if nothing were published: its targets are wanted, its skips are impossible or failed."""
    drivers: Mapping[CudaVersion, str]
    """The oldest Linux driver that runs each CUDA release."""
    ptx_drivers: Mapping[CudaVersion, str] = field(default_factory=dict)
    """The oldest driver that compiles the PTX of each CUDA release, where that is known."""
    gpu_drivers: Mapping[str, str] = field(default_factory=dict)
    """Oldest driver for each GPU, by compute capability; no entry if every driver that runs a CUDA supports it."""
    pythons: tuple[PythonVersion, ...] = ()
    """Pythons that torch is published for, which wheels for an older one and all newer ones do not name."""
    homes: Mapping[ProjectName, Sequence[str]] = field(default_factory=dict)
    """Sources that have wheels of a project, by their names in sources.yml."""
    downloads: Mapping[date, Mapping[ProjectName, int]] = field(default_factory=dict)
    """Downloads of each package up to some days, ascending."""
    torch_url: Callable[[TorchVersion, CudaVersion, Platform], str | None] = lambda *_: None
    """Index of torch for a CUDA; None where PyPI has it, or nothing is known."""

    def modules_of(self, project: ProjectName) -> tuple[str, ...]:
        """Return what a project is imported as, by its entry."""
        package = self.packages.get(project)
        modules = (name.partition(".")[0] for name in (package.test_import if package else None) or ())
        return tuple(dict.fromkeys(name for name in modules if name != TORCH))


@dataclass(frozen=True, kw_only=True)
class SiteAddress:
    """Where people read a site, and who makes it."""

    url: str = ""
    """With a slash at its end; empty if it is not known."""
    repository: str = ""
    """Address of the repository on GitHub; empty for a site of other hosts."""

    @classmethod
    def of(cls, url: str | None, base_url: str) -> Self:
        """Read the repository off `base_url`, the folder of the releases on GitHub, else off a site on GitHub Pages."""
        site = f"{without_credentials(url).rstrip('/')}/" if url else ""
        releases, pages = urlsplit(folder_url(without_credentials(base_url))), urlsplit(site)
        folders, name = releases.path.strip("/").split("/"), pages.path.strip("/")
        owner, _, host = (pages.hostname or "").partition(".")
        if releases.scheme and folders[2:] == ["releases", "download"]:
            return cls(url=site, repository=f"{releases.scheme}://{releases.netloc}/{'/'.join(folders[:2])}")
        if host == "github.io" and "/" not in name:
            return cls(url=site, repository=f"https://github.com/{owner}/{name or pages.hostname}")
        return cls(url=site)

    def of_folder(self, folder: str) -> str:
        """Return the address of a folder of the site, without what means something to a shell; ADDRESS if unknown."""
        return quote(f"{self.url}{folder}/", safe="%@+=:,./~[]-") if self.url else "ADDRESS"

    @property
    def root(self) -> str:
        """Path of the site on its host; empty if it is not known."""
        return urlsplit(self.url).path

    @property
    def full_name(self) -> str:
        """Owner and name of the repository: ``OWNER/REPO``."""
        return urlsplit(self.repository).path.strip("/")


UNKNOWN_ADDRESS: Final = SiteAddress()


def faults_of_entry(entry: ListedWheel, name: WheelName, absent: Container[str]) -> list[str]:
    """List the faults of a manifest's entry; pip and uv cannot install a wheel whose sidecar is absent (PEP 658)."""
    wanted = (entry.filename, entry.filename + SIDECAR_SUFFIX)
    lacking = [f"its release has no {filename}" for filename in wanted if filename in absent]
    return faults_of_wheel(entry, name) + lacking


def contradictions(files: Sequence[IndexFile]) -> Iterator[str]:
    """Name wheels of a version whose requirements differ: uv reads one METADATA. `files` are sorted by project."""
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
    """Name wheels that differ in spelling only, as ``Demo-1.0`` and ``demo-1.0.0``: pip and uv take different ones."""
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
        name = wheel_behind(filename)
        if filename not in listing.removed.wheels and not (name and listing.is_quarantined(name.project)):
            yield f"{filename} stands in the deployed index and in no release; removed.yml gives no reason"
