"""What torch's own indexes have, one for each CUDA: the builds of its releases, and its release candidates.

Upstream gives the wheels of a candidate the version of the release to come, so that the last one can become it
unchanged (https://github.com/pytorch/pytorch/blob/main/.circleci/scripts/binary_populate_env.sh); the number of a
candidate is in its tag alone: ``v2.16.0-rc1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from packaging.version import InvalidVersion, Version

from wheelmill.config.model import TorchFacts
from wheelmill.config.upkeep.published import (
    LINUX_X86_64,
    PublishedTorch,
    TorchWheel,
    promised_by,
    pythons_of,
    torch_files,
    wheels_among,
)
from wheelmill.installers.package_index import open_index
from wheelmill.names import CudaVersion, Platform, ProjectVersion, PythonVersion, TorchVersion
from wheelmill.system.git import find_tags


@dataclass(frozen=True, kw_only=True)
class OwnBuilds:
    """The builds of one release, or of one candidate."""

    wheels: tuple[TorchWheel, ...]
    cuda: Mapping[Platform, frozenset[CudaVersion]]
    """What they are for, by platform."""


def own_builds(template: str, cudas: Iterable[CudaVersion]) -> Mapping[Version, OwnBuilds]:
    """Look up what indexes of torch have; one that is not there has nothing.

    Args:
        template: the simple index for one CUDA, with ``{cuda}`` for ``130``.
        cudas: the CUDA releases to ask for.

    Returns:
        The builds that linux_x86_64 is among, by release without the label of a CUDA.

    Raises:
        NetworkError: an index does not answer.
    """
    found: dict[Version, list[tuple[CudaVersion, TorchWheel]]] = {}
    with open_index() as web:
        for cuda in sorted(cudas):
            for wheel in wheels_among(torch_files(web, template.replace("{cuda}", cuda.tag.removeprefix("cu")))):
                if wheel.version.local == cuda.tag and not wheel.version.is_devrelease:
                    found.setdefault(Version(wheel.version.public), []).append((cuda, wheel))
    builds = {version: _builds(wheels) for version, wheels in found.items()}
    return {version: each for version, each in builds.items() if LINUX_X86_64 in each.cuda}


def with_builds(published: PublishedTorch, builds: Mapping[Version, OwnBuilds]) -> PublishedTorch:
    """Add to a release what torch's own indexes have of it."""
    if (own := builds.get(Version(published.release))) is None:
        return published
    return replace(published, cuda=own.cuda, python={**pythons_of(own.wheels), **published.python})


def with_pythons(
    published: PublishedTorch,
    known: Mapping[Platform, frozenset[PythonVersion]],
    builds: Mapping[Version, OwnBuilds] | None,
) -> PublishedTorch:
    """Add the Pythons of ``compatibility.yml`` for which torch's own indexes have wheels, if not the package index.

    Args:
        published: what the package index has of a release.
        known: the Pythons of the file.
        builds: what torch's own indexes have; None where they do not answer, and the file is believed.
    """
    own = builds.get(Version(published.release)) if builds is not None else None
    elsewhere = pythons_of(own.wheels) if own else {} if builds is not None else known
    python = {
        platform: pythons | (known.get(platform, frozenset()) & elsewhere.get(platform, frozenset()))
        for platform, pythons in published.python.items()
    }
    return replace(published, python=python)


def candidates_among(
    builds: Mapping[Version, OwnBuilds], torch: TorchFacts, published: Iterable[TorchVersion]
) -> tuple[Mapping[TorchVersion, PublishedTorch], tuple[str, ...]]:
    """Pick the newest candidate of every minor release that is to come.

    Args:
        builds: what the index of candidates has.
        torch: the facts about torch, with the repository that has a tag for each candidate.
        published: the minor releases that the package index has.

    Returns:
        The candidates, and what is not known of others.

    Raises:
        ProcessError: the repository does not answer.
    """
    newest = max(*published, *torch)  # a mirror of the package index may lag behind the facts
    found: dict[TorchVersion, tuple[TorchVersion, PublishedTorch]] = {}
    unknown: list[str] = []
    for version in sorted(builds):
        minor = TorchVersion(version.major, version.minor)
        if minor <= newest or version.micro:
            continue
        number = version.pre[1] if version.pre else _newest_tag(version, torch.repository)
        if number is None:
            unknown.append(f"torch {minor}: {version} is a release candidate, and no tag tells its number")
            continue
        candidate = replace(minor, candidate=number)
        found[minor] = candidate, _as_published(version, builds[version], torch)  # ascending: the newest one stays
    return dict(found.values()), tuple(unknown)


def _builds(wheels: list[tuple[CudaVersion, TorchWheel]]) -> OwnBuilds:
    cuda: dict[Platform, set[CudaVersion]] = {}
    for each, wheel in wheels:
        cuda.setdefault(wheel.platform, set()).add(each)
    by_platform = {platform: frozenset(cudas) for platform, cudas in cuda.items()}
    return OwnBuilds(wheels=tuple(wheel for _, wheel in wheels), cuda=by_platform)


def _newest_tag(release: Version, repository: str | None) -> int | None:
    numbers = []
    for tag in find_tags(repository, f"v{release}-rc*") if repository else ():
        try:
            version = Version(tag.removeprefix("v"))
        except InvalidVersion:
            continue
        if version.pre and version.base_version == str(release):
            numbers.append(version.pre[1])
    return max(numbers, default=None)


def _as_published(version: Version, builds: OwnBuilds, torch: TorchFacts) -> PublishedTorch:
    """Describe a candidate; the CUDA that its release will have on the package index is taken to be today's."""
    cudas = builds.cuda[LINUX_X86_64]
    usual = torch[max(torch)].default_cuda
    return PublishedTorch(
        release=ProjectVersion(str(version)),
        python=pythons_of(builds.wheels),
        glibc=promised_by(builds.wheels),
        default_cuda=usual if usual in cudas else max(cudas),
        cuda=builds.cuda,
    )
