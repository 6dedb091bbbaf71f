"""Drift of ``compatibility.yml`` and of package names from the package index, and updates of the file.

A stranger may register a name that is free on the index, or that its owner gave up. Installers would then take the
stranger's project for ours; see docs/security.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from packaging.version import Version

from wheelmill.config.fields import KeyPath
from wheelmill.config.maintenance.amend import Difference, Drift, amend
from wheelmill.config.maintenance.published import (
    LINUX_X86_64,
    OwnBuilds,
    PublishedTorch,
    candidates_among,
    own_builds,
    published_torch,
    with_builds,
    with_pythons,
)
from wheelmill.config.model.compatibility import Compatibility, TorchRelease
from wheelmill.config.model.config import Config
from wheelmill.config.model.container_builder import ContainerBuilder
from wheelmill.config.model.package import Package
from wheelmill.config.yaml import read_document
from wheelmill.errors import NetworkError, ProcessError, UnreadableError
from wheelmill.installers.package_index import files_of, has_project, open_index
from wheelmill.names import CudaVersion, Platform, ProjectName, PythonVersion, TorchVersion, project_name
from wheelmill.web.pages import Link
from wheelmill.wheel.name import WheelName

_TOOLKIT: Final = project_name("cuda-toolkit")
"""NVIDIA's project on the package index with every release of the toolkit."""

_NOT_PUBLISHED: Final = """\
  No index has these facts; check them before you merge:
  - cxx, the C++ standard that torch/all.h asks for: without a line, that of the torch before it is taken;
  - glibc, which is what file names promise: the symbols of libc10 and libtorch_python tell what is true;
  - old_cxx_abi, where torch._C._GLIBCXX_USE_CXX11_ABI is false: without a line it is true everywhere."""


@dataclass(frozen=True, kw_only=True)
class TorchDifference(Difference):
    """One differing fact about a torch minor release, with both values as ``compatibility.yml`` writes them."""

    torch: TorchVersion
    fact: Literal["missing", "release", "python", "default_cuda"]
    file: Any
    """None for a missing release."""
    index: Any
    """All facts of a missing release, with None for unknown ones."""

    @property
    def section(self) -> Literal["releases", "candidates"]:
        """Section of ``compatibility.yml`` that holds the torch."""
        return "candidates" if self.torch.is_candidate else "releases"

    @property
    def writable(self) -> bool:
        """True if the index gives every value that the file needs."""
        return self.fact != "missing" or None not in self.index.values()

    @property
    def outcome(self) -> str:
        """Line for a written difference; for a new torch with the facts that a person has to look up."""
        if not self.writable:
            return f"{self}; not written: the index does not tell all of it"
        if self.fact != "missing":
            return super().outcome
        cuda = " and ".join(f"{', '.join(own)} on {platform}" for platform, own in self.index["cuda"].items())
        return f"{self}; written with CUDA {cuda}\n{_NOT_PUBLISHED}"

    def __str__(self) -> str:
        """Format as ``torch 2.11: release 2.11.0, the index has 2.11.1``."""
        if self.fact == "missing":
            pythons, cuda = _in_words(self.index["python"]), self.index["default_cuda"] or "unknown"
            return f"torch {self.torch}: missing (release {self.index['release']}, Python {pythons}, CUDA {cuda})"
        return f"torch {self.torch}: {self.fact} {_in_words(self.file)}, the index has {_in_words(self.index)}"


def find_torch_drift(compatibility: Compatibility) -> Drift[TorchDifference]:
    """Compare torch releases with the package index, and candidates and new builds with torch's own indexes."""
    torch, cudas = compatibility.torch, compatibility.cuda.keys()
    published = dict(published_torch(since=min(torch)))
    new = published.keys() - torch.keys()
    doubtful = [each for each in published.keys() & torch.keys() if _lacks_pythons(published[each], torch[each])]
    unknown: list[str] = []
    builds: Mapping[Version, OwnBuilds] | None = None
    candidates = None
    try:
        builds = own_builds(torch.index, cudas) if new or doubtful else {}
        published |= {each: with_builds(published[each], builds) for each in new}
        if torch.test_index:
            candidates, unnumbered = candidates_among(own_builds(torch.test_index, cudas), torch, published)
            unknown.extend(unnumbered)
    except (NetworkError, ProcessError) as error:
        unknown.append(f"not all that torch's own indexes have is known: {error}")
    published |= {each: with_pythons(published[each], torch[each].python, builds) for each in doubtful}
    drift = find_drift(compatibility, published, candidates)
    return replace(drift, unknown=(*drift.unknown, *unknown))


def find_drift(
    compatibility: Compatibility,
    published: Mapping[TorchVersion, PublishedTorch],
    candidates: Mapping[TorchVersion, PublishedTorch] | None = None,
) -> Drift[TorchDifference]:
    """Compare torch with the package index; `candidates` is the newest of each coming release, None if unknown."""
    differences: list[TorchDifference] = []
    unknown: list[str] = []
    for torch in sorted(compatibility.torch.keys() | published.keys()):
        known, newest = compatibility.torch.get(torch), published.get(torch)
        if newest is None:
            unknown.append(f"torch {torch}: the index has no wheels of it for linux x86_64")
            continue
        if newest.default_cuda is None:
            unknown.append(f"torch {torch}: the index does not tell the CUDA of {newest.release}")
        unknown.extend(
            f"torch {torch}: the index has no wheels of {newest.release} for {platform}"
            for platform in (known.python if known else ())
            if platform not in newest.python
        )
        if known is None:
            differences.append(TorchDifference(torch=torch, fact="missing", file=None, index=_block(newest)))
        else:
            differences.extend(_changes(torch, known, newest))
    listed = compatibility.torch.candidates
    if candidates is not None:
        over = sorted(listed.keys() - candidates.keys())
        unknown.extend(f"torch {torch}: no candidate any more; its entry can go" for torch in over)
        new = sorted(candidates.keys() - listed.keys())
        differences.extend(
            TorchDifference(torch=torch, fact="missing", file=None, index=_block(candidates[torch])) for torch in new
        )
    return Drift(differences=tuple(differences), unknown=tuple(unknown))


def _lacks_pythons(published: PublishedTorch, known: TorchRelease) -> bool:
    return any(pythons - published.python.get(platform, pythons) for platform, pythons in known.python.items())


def write_differences(path: Path, differences: Collection[TorchDifference], *, checked: dt.date) -> None:
    """Update ``compatibility.yml`` with writable differences, and date its facts about torch."""
    torch = read_document(path).content["torch"]
    keys = {TorchVersion.parse(key): key for key in torch["releases"]}
    values: dict[KeyPath, Any] = {("torch", "checked"): checked.isoformat()}
    for difference in (each for each in differences if each.writable):
        if difference.section not in torch:
            values.setdefault(("torch", difference.section), {})[str(difference.torch)] = difference.index
            continue
        release = ("torch", difference.section, keys.get(difference.torch, str(difference.torch)))
        values[release if difference.fact == "missing" else (*release, difference.fact)] = difference.index
    amend(path, values)


def _changes(torch: TorchVersion, known: TorchRelease, newest: PublishedTorch) -> Iterable[TorchDifference]:
    if known.release != newest.release:
        yield TorchDifference(torch=torch, fact="release", file=known.release, index=newest.release)
    pythons = {platform: newest.python.get(platform, own) for platform, own in known.python.items()}
    if known.python != pythons:
        yield TorchDifference(torch=torch, fact="python", file=_as_written(known.python), index=_as_written(pythons))
    if newest.default_cuda and known.default_cuda != newest.default_cuda:
        file, index = str(known.default_cuda), str(newest.default_cuda)
        yield TorchDifference(torch=torch, fact="default_cuda", file=file, index=index)


def _block(new: PublishedTorch) -> dict[str, object]:
    """Return a release as ``compatibility.yml`` has it; ``cuda`` includes the CUDA of the package index's wheels."""
    usual = {LINUX_X86_64: frozenset({new.default_cuda})} if new.default_cuda else {}
    cuda = {
        platform: own
        for platform in new.python
        if (own := new.cuda.get(platform, frozenset()) | usual.get(platform, frozenset()))
    }
    return {
        "release": new.release,
        "cuda": {str(platform): list(map(str, sorted(own))) for platform, own in cuda.items()} or None,
        "python": _as_written({platform: new.python[platform] for platform in cuda or [LINUX_X86_64]}),
        "default_cuda": str(new.default_cuda) if new.default_cuda else None,
        "glibc": str(new.glibc) if new.glibc else None,
    }


def _as_written(pythons: Mapping[Platform, frozenset[PythonVersion]]) -> list[str] | dict[str, list[str]]:
    """Return one list if the platforms agree, else a list for each; free-threaded Pythons last, as in the file."""
    lists = {
        str(platform): list(map(str, sorted(own, key=lambda python: (python.free_threaded, python))))
        for platform, own in pythons.items()
    }
    first = next(iter(lists.values()), [])
    return first if all(each == first for each in lists.values()) else lists


def _in_words(value: str | list[str] | dict[str, list[str]]) -> str:
    """Return a value as it is; a list of Pythons as ``3.10-3.14, 3.13t-3.14t``, with platforms if they differ."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " and ".join(f"{_in_words(pythons)} on {platform}" for platform, pythons in value.items())
    runs: list[list[PythonVersion]] = []
    for python in map(PythonVersion.parse, value):
        if runs and replace(python, minor=python.minor - 1) == runs[-1][-1]:
            runs[-1].append(python)
        else:
            runs.append([python])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


@dataclass(frozen=True, kw_only=True)
class ReleaseDifference(Difference):
    """Release of CUDA or Python that the files lack, or that another one took the place of."""

    subject: str
    """``CUDA 13.2`` or ``Python 3.16``."""
    file: str | None
    """Toolkit or Python of ``compatibility.yml`` or ``images.yml``; None if they lack it."""
    current: str | None
    """Newest toolkit, or the Python; None if `origin` lacks it."""
    origin: str

    def __str__(self) -> str:
        """Format as ``CUDA 13.2: 13.2.1, the package index has 13.2.2``."""
        return f"{self.subject}: {self.file or 'missing'}, {self.origin} has {self.current or 'none'}"


def find_toolkit_differences(config: Config) -> Iterator[ReleaseDifference]:
    """Compare toolkits with NVIDIA's package: those of newer CUDAs, and of the CUDAs of the newest torch."""
    facts, images = config.compatibility, config.images
    with open_index() as web:
        releases = sorted(_toolkits_among(files_of(_TOOLKIT, web)))
    newest = {CudaVersion(release.major, release.minor): release for release in releases}  # ascending: the last counts
    needed = frozenset[CudaVersion]().union(*facts.torch[max(facts.torch)].cuda.values())
    for cuda, release in newest.items():
        own = {each.toolkit for each in (facts.cuda.get(cuda), images.cuda.get(cuda)) if each and cuda in needed}
        older: list[str | None] = [toolkit for toolkit in sorted(own) if Version(toolkit) < release]
        is_new = facts.cuda and cuda > max(facts.cuda)
        current = ".".join(map(str, release.release[:3]))
        for file in [None] if is_new else older:
            yield ReleaseDifference(subject=f"CUDA {cuda}", file=file, current=current, origin="the package index")


def _toolkits_among(links: Iterable[Link]) -> Iterator[Version]:
    for link in links:
        with suppress(UnreadableError):  # a source distribution
            version = WheelName.parse(link.filename).version
            if link.yanked is None and not version.is_prerelease:
                yield version


def find_python_differences(facts: Compatibility, builder: ContainerBuilder) -> Iterator[ReleaseDifference]:
    """Compare the Pythons for packages without torch with those that the builder has on every platform."""
    theirs = frozenset.intersection(*map(builder.pythons, facts.platforms))
    newer = {python for python in theirs if python > max(facts.pythons)}
    for python in sorted(newer | set(facts.pythons) - theirs):
        file, current = (None, str(python)) if python in newer else (str(python), None)
        yield ReleaseDifference(subject=f"Python {python}", file=file, current=current, origin=builder.name)


@dataclass(frozen=True, kw_only=True)
class NameDifference(Difference):
    """Contradiction between an entry's claim about a name and the package index."""

    project: ProjectName
    file: Literal["same", "absent"]
    """Its key ``pypi``."""
    alias_of: ProjectName | None = None
    """Package with this alias; None if it is the package's own name."""

    @property
    def index(self) -> str:
        """State of the name on the package index."""
        return "a project" if self.file == "absent" else "no project"

    def __str__(self) -> str:
        """Format as ``apex: pypi says 'absent', the package index has a project of this name: ...``."""
        advice = "look whose it is" if self.file == "absent" else "write 'absent'"
        key = f"aliases.pypi of {self.alias_of}" if self.alias_of else "pypi"
        return f"{self.project}: {key} says '{self.file}', the package index has {self.index} of this name: {advice}"


def find_name_differences(packages: Iterable[Package], cudas: Iterable[CudaVersion]) -> tuple[NameDifference, ...]:
    """Check the entries' claims about names: the package index shows if a project exists, not its owner."""
    majors = sorted({cuda.major for cuda in cudas})
    claims = []
    for package in packages:
        if package.pypi in ("same", "absent"):
            claims.append(NameDifference(project=package.name, file=package.pypi))
        if aliases := package.aliases:
            names = aliases.names(package.name, majors)
            claims += (NameDifference(project=name, file=aliases.pypi, alias_of=package.name) for name in names)
    with open_index() as web:
        return tuple(claim for claim in claims if has_project(claim.project, web) == (claim.file == "absent"))
