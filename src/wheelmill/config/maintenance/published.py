"""Releases of torch on the package index and on torch's own indexes: targets of their wheels, and exported symbols.

Upstream gives a candidate's wheels the version of the coming release, so that the last candidate can become it
unchanged. A candidate's number is in its tag alone: ``v2.16.0-rc1``.
https://github.com/pytorch/pytorch/blob/main/.circleci/scripts/binary_populate_env.sh

Symbols need only the libraries of a wheel: their byte ranges are downloaded, and unpacked one after the other. Names of
libraries, also of those in NVIDIA's wheels, need only the list of members at the end of each zip.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Self

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.config.model.compatibility import Compatibility, TorchFacts, TorchRelease
from wheelmill.errors import IntegrityError, UnreadableError, UsageError
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.names import TORCH, CudaVersion, Platform, ProjectVersion, PythonVersion, TorchVersion
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.git import find_tags
from wheelmill.system.progress import number_of
from wheelmill.web.pages import SIDECAR_SUFFIX, Link
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.metadata import LINUX_MARKERS, metadata_in, read_metadata
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import BUILT_FOR, promised_glibc
from wheelmill.wheel.shared_objects import read_members
from wheelmill.wheel.torch_symbols import Exported, MachineLibraries, TableSummary, TorchBuild, TorchSymbols

if TYPE_CHECKING:
    from wheelmill.web.client import Web


_CUDA_RUNTIMES: Final = frozenset(
    {"nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime", "cuda-toolkit"}
)
"""Projects with the version of a CUDA release that torch's wheels pin."""

_TORCH_LIB: Final = PurePosixPath("torch/lib")
"""Folder of the libraries in a wheel of torch."""
_MARKERS: Final = LINUX_MARKERS | {"platform_machine": "x86_64"}
"""The values of environment markers on linux_x86_64 (PEP 508)."""
_OF_NVIDIA: Final = ("nvidia-", "cuda-")
"""Prefixes of NVIDIA's projects; ``cuda-toolkit`` only requires others."""
LINUX_X86_64: Final = Platform("linux", "x86_64")


@dataclass(frozen=True, kw_only=True)
class PublishedTorch:
    """Newest patch release of a torch minor release with wheels for linux_x86_64."""

    release: ProjectVersion
    python: Mapping[Platform, frozenset[PythonVersion]]
    """The Pythons of its wheels, by the platforms that it has wheels for."""
    glibc: Version | None
    """Oldest glibc of wheels for linux_x86_64; None for the tag ``linux_x86_64``, which promises none."""
    default_cuda: CudaVersion | None
    """CUDA of the wheels for linux_x86_64; None if their METADATA is missing or does not name one."""
    cuda: Mapping[Platform, frozenset[CudaVersion]] = field(default_factory=dict)
    """CUDA releases that torch's own indexes have it for, by platform; empty if they were not asked or lack it."""


@dataclass(frozen=True, kw_only=True)
class TorchWheel:
    """Torch wheel for one of the platforms that wheels are built for."""

    file: Link
    version: Version
    platform: Platform
    pythons: frozenset[PythonVersion]
    platform_tags: frozenset[str]


def published_torch(since: TorchVersion) -> Mapping[TorchVersion, PublishedTorch]:
    """Look up the final torch releases since one, without yanked files: one project page, and one METADATA for each."""
    releases: dict[Version, list[TorchWheel]] = {}
    with open_index() as web:
        for wheel in _wheels_among(_torch_files(web)):
            version = wheel.version
            is_release = not version.is_prerelease and not version.local
            if is_release and TorchVersion(version.major, version.minor) >= since:
                releases.setdefault(version, []).append(wheel)
        # Ascending: the newest patch release of a minor release overwrites older ones.
        newest = {
            TorchVersion(version.major, version.minor): wheels
            for version, wheels in sorted(releases.items())
            if any(wheel.platform == LINUX_X86_64 for wheel in wheels)
        }
        return {torch: _torch_of(wheels, web) for torch, wheels in newest.items()}


def _torch_files(web: Web) -> tuple[Link, ...]:
    if files := files_of(TORCH, web):
        return files
    raise UsageError("torch-not-in-index", f"the package index has no project {TORCH}")


def _wheels_among(files: Iterable[Link]) -> Iterator[TorchWheel]:
    """Parse the wheel names among files, for supported platforms only and without yanked files."""
    for file in files:
        with suppress(UnreadableError):
            name = WheelName.parse(file.filename)
            tags = frozenset(platform for platform in name.platforms if platform.startswith(("manylinux", "linux")))
            platform = next((platform for platform in BUILT_FOR if platform in set(map(Platform.of_tag, tags))), None)
            pythons = frozenset(python for tag in name.tags if (python := _cpython(tag.abi)))
            if file.yanked is None and platform and pythons:
                yield TorchWheel(
                    file=file, version=name.version, platform=platform, pythons=pythons, platform_tags=tags
                )


def _cpython(abi: str) -> PythonVersion | None:
    try:
        return PythonVersion.parse(abi)
    except ValueError:  # "none", and Pythons before 3.8 such as "cp37m"
        return None


def _torch_of(wheels: list[TorchWheel], web: Web) -> PublishedTorch:
    usual = [wheel for wheel in wheels if wheel.platform == LINUX_X86_64]
    return PublishedTorch(
        release=ProjectVersion(str(wheels[0].version)),
        python=pythons_of(wheels),
        glibc=promised_by(wheels),
        default_cuda=_default_cuda(min(usual, key=lambda wheel: wheel.file.filename).file, web),
    )


def pythons_of(wheels: Iterable[TorchWheel]) -> Mapping[Platform, frozenset[PythonVersion]]:
    """Return the Pythons of wheels, by platform."""
    by_platform: dict[Platform, frozenset[PythonVersion]] = {}
    for wheel in wheels:
        by_platform[wheel.platform] = by_platform.get(wheel.platform, frozenset()) | wheel.pythons
    return by_platform


def promised_by(wheels: Iterable[TorchWheel]) -> Version | None:
    """Return the oldest glibc that wheels for linux_x86_64 promise to run on; None if they promise none."""
    tags = (tag for wheel in wheels if wheel.platform == LINUX_X86_64 for tag in wheel.platform_tags)
    return max((glibc for tag in tags if (glibc := promised_glibc(tag))), default=None)


def _default_cuda(file: Link, web: Web) -> CudaVersion | None:
    answer = web.get(file.url + SIDECAR_SUFFIX)
    if not answer.ok:
        return None
    # The hash of a METADATA is optional on an index (PEP 658).
    function, _, digest = (file.core_metadata or file.legacy_metadata or "").partition("=")
    if function == "sha256" and digest != sha256_of_bytes(answer.content):
        raise IntegrityError(
            "metadata-hash-differs", f"{file.filename}.metadata does not have the hash that the package index gives"
        )
    try:
        return _pinned_cuda(read_metadata(answer.content).requires_dist or ())
    except ValueError:
        return None


def _pinned_cuda(requirements: Iterable[Requirement]) -> CudaVersion | None:
    """Return the one CUDA release that requirements pin; None if none or several. Raises ValueError on odd pins."""
    pinned = {
        CudaVersion.parse(pin.version)
        for requirement in requirements
        if canonicalize_name(requirement.name) in _CUDA_RUNTIMES
        and (requirement.marker is None or requirement.marker.evaluate(_MARKERS))
        for pin in requirement.specifier
        if pin.operator == "=="
    }
    return pinned.pop() if len(pinned) == 1 else None


@dataclass(frozen=True, kw_only=True)
class OwnBuilds:
    """Builds of one release or candidate."""

    wheels: tuple[TorchWheel, ...]
    cuda: Mapping[Platform, frozenset[CudaVersion]]
    """CUDA releases that they are for, by platform."""


def own_builds(template: str, cudas: Iterable[CudaVersion]) -> Mapping[Version, OwnBuilds]:
    """Look up the builds for linux_x86_64 on torch's indexes, by release; ``{cuda}`` in `template` is ``130``."""
    by_release: dict[Version, list[tuple[CudaVersion, TorchWheel]]] = {}
    with open_index() as web:
        for cuda in sorted(cudas):
            index = template.replace("{cuda}", cuda.tag.removeprefix("cu"))
            for wheel in _wheels_among(files_of(TORCH, web, index)):
                if wheel.version.local == cuda.tag and not wheel.version.is_devrelease:
                    by_release.setdefault(Version(wheel.version.public), []).append((cuda, wheel))
    builds = {version: _builds(wheels) for version, wheels in by_release.items()}
    return {version: each for version, each in builds.items() if LINUX_X86_64 in each.cuda}


def with_builds(published: PublishedTorch, builds: Mapping[Version, OwnBuilds]) -> PublishedTorch:
    """Add the builds of torch's own indexes to a release."""
    if (own := builds.get(Version(published.release))) is None:
        return published
    return replace(published, cuda=own.cuda, python={**pythons_of(own.wheels), **published.python})


def with_pythons(
    published: PublishedTorch,
    known: Mapping[Platform, frozenset[PythonVersion]],
    builds: Mapping[Version, OwnBuilds] | None,
) -> PublishedTorch:
    """Add the known Pythons that only torch's own indexes have wheels for: all if those do not answer (None)."""
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
    """Return the newest candidate of each coming minor release, and messages about those without a number."""
    newest = max(*published, *torch)  # a mirror of the package index may lag behind the facts
    newest_of: dict[TorchVersion, tuple[TorchVersion, PublishedTorch]] = {}
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
        newest_of[minor] = candidate, _as_published(version, builds[version], torch)  # ascending: newest wins
    return dict(newest_of.values()), tuple(unknown)


def _builds(wheels: list[tuple[CudaVersion, TorchWheel]]) -> OwnBuilds:
    platforms = dict.fromkeys(wheel.platform for _, wheel in wheels)
    cuda = {platform: frozenset(cuda for cuda, wheel in wheels if wheel.platform == platform) for platform in platforms}
    return OwnBuilds(wheels=tuple(wheel for _, wheel in wheels), cuda=cuda)


def _newest_tag(release: Version, repository: str | None) -> int | None:
    numbers = []
    for tag in find_tags(repository, f"v{release}-rc*") if repository else ():
        with suppress(InvalidVersion):
            version = Version(tag.removeprefix("v"))
            if version.pre and version.base_version == str(release):
                numbers.append(version.pre[1])
    return max(numbers, default=None)


def _as_published(version: Version, builds: OwnBuilds, torch: TorchFacts) -> PublishedTorch:
    """Describe a candidate; its release is assumed to have today's CUDA on the package index."""
    cudas = builds.cuda[LINUX_X86_64]
    usual = torch[max(torch)].default_cuda
    return PublishedTorch(
        release=ProjectVersion(str(version)),
        python=pythons_of(builds.wheels),
        glibc=promised_by(builds.wheels),
        default_cuda=usual if usual in cudas else max(cudas),
        cuda=builds.cuda,
    )


_LIBRARIES: Final = ("libtorch*.so", "libc10*.so")
_PIECE: Final = 8 << 20
"""Bytes of one request."""
_BUDGET: Final = 4 << 30
"""Maximum number of bytes to download of a wheel."""
_SOURCE: Final = "torch's wheels for linux_x86_64 on the package index"


def stale_torches(facts: Compatibility, table: TableSummary | None) -> list[TorchVersion]:
    """Return the torches of ``compatibility.yml`` that the table lacks, or has for another patch release."""
    known = {build.torch: build.release for build in table.builds} if table else {}
    return [torch for torch, release in facts.torch.items() if known.get(torch) != release.release]


def read_symbols(
    facts: Compatibility, table: TorchSymbols | None, *, today: dt.date, tell: Callable[[str], None]
) -> TorchSymbols | None:
    """Update the table from ``compatibility.yml``; current builds are not read again. None without any symbols."""
    stale = stale_torches(facts, table.summary if table else None)
    current = [b for b in table.summary.builds if b.torch in facts.torch and b.torch not in stale] if table else []
    exported = {build: table.exported_by(build) for build in current} if table else {}
    with open_index() as web:
        files = _torch_files(web) if stale else ()
        for torch in stale:
            release = facts.torch[torch]
            wheels = _wheels_of(release, files)
            if (file := wheels.get(LINUX_X86_64)) is None:
                tell(f"torch {torch}: the index has no wheel of {release.release} for {LINUX_X86_64}")
                continue
            symbols = _exported_by(file, web)
            build = TorchBuild(
                torch=torch,
                release=ProjectVersion(release.release),
                wheel=file.filename,
                libraries=own_libraries(wheels, web),
                nvidia=nvidia_libraries(file, web),
                cxx11_abi=release.default_cuda not in release.old_cxx_abi,
                symbols=len(symbols.all),
            )
            exported[build] = symbols
            tell(f"torch {torch}: {number_of(len(symbols.all), 'symbol')} in {file.filename}")
    if table and exported.keys() == set(table.summary.builds):
        return table
    return TorchSymbols.of(exported, checked=today.isoformat(), source=_SOURCE) if exported else None


def _wheels_of(release: TorchRelease, files: Iterable[Link]) -> Mapping[Platform, Link]:
    """Return the wheel to read for each platform: what extensions use of it is the same for every Python."""
    wheels = [wheel for wheel in _wheels_among(files) if str(wheel.version) == release.release]
    return {wheel.platform: wheel.file for wheel in sorted(wheels, key=lambda each: each.file.filename, reverse=True)}


def _exported_by(file: Link, web: Web) -> Exported:
    from wheelmill.web.ranges import RangeFile  # asks a server

    with open_archive(RangeFile(web, file.url, piece=_PIECE, budget=_BUDGET)) as archive:
        paths = {member: PurePosixPath(member.filename) for member in archive.infolist()}
        in_lib = {member: path for member, path in paths.items() if path.parent == _TORCH_LIB}
        members = [member for member, path in in_lib.items() if any(map(path.match, _LIBRARIES))]
        libraries = read_members(archive, members)
    if not libraries:
        raise UnreadableError("torch-without-libraries", f"{file.filename} has no libraries of torch in {_TORCH_LIB}")
    return Exported.of(libraries)


_LIST_PIECE: Final = 1 << 16
"""Bytes of one request for the list of a wheel's members, which is at its end."""
_LIST_BUDGET: Final = 1 << 26
"""Bytes of all such requests for one wheel."""


@dataclass(frozen=True, kw_only=True)
class _Wheel:
    libraries: tuple[PurePosixPath, ...]
    requires: tuple[Requirement, ...]

    @classmethod
    def read(cls, file: Link, web: Web) -> Self:
        """Read the list of a wheel's members and its METADATA; an index need not have the latter (PEP 658)."""
        from wheelmill.web.ranges import RangeFile  # asks a server

        with open_archive(RangeFile(web, file.url, piece=_LIST_PIECE, budget=_LIST_BUDGET)) as archive:
            paths = map(PurePosixPath, archive.namelist())
            return cls(
                libraries=tuple(path for path in paths if path.name.startswith("lib") and ".so" in path.suffixes),
                requires=tuple(read_metadata(metadata_in(archive)).requires_dist or ()),
            )

    def required(self, extras: Iterable[str]) -> Iterable[Requirement]:
        environments = [_MARKERS | {"extra": extra} for extra in ("", *extras)]
        return (each for each in self.requires if each.marker is None or any(map(each.marker.evaluate, environments)))


def own_libraries(wheels: Mapping[Platform, Link], web: Web) -> tuple[MachineLibraries, ...]:
    """Names of the libraries in ``torch/lib``, for each platform's machine."""
    by_machine = {
        platform.machine: sorted(path.name for path in _Wheel.read(file, web).libraries if path.parent == _TORCH_LIB)
        for platform, file in wheels.items()
    }
    return tuple(MachineLibraries(machine=machine, names=tuple(names)) for machine, names in sorted(by_machine.items()))


def nvidia_libraries(torch: Link, web: Web) -> tuple[str, ...]:
    """Names of the libraries in NVIDIA's wheels that a wheel of torch requires, directly or through others."""
    libraries, seen = set[str](), set[str]()
    wanted = list(_Wheel.read(torch, web).required(()))
    while wanted:
        requirement = wanted.pop()
        if str(requirement) in seen or not canonicalize_name(requirement.name).startswith(_OF_NVIDIA):
            continue
        seen.add(str(requirement))
        if file := _newest(requirement, web):
            wheel = _Wheel.read(file, web)
            libraries.update(path.name for path in wheel.libraries)
            wanted += wheel.required(requirement.extras)
    return tuple(sorted(libraries))


def _newest(requirement: Requirement, web: Web) -> Link | None:
    """Newest wheel for linux_x86_64 that a requirement admits; None if the index has none."""
    files = []
    for file in files_of(canonicalize_name(requirement.name), web):
        with suppress(UnreadableError):
            name = WheelName.parse(file.filename)
            platforms = {tag if tag == "any" else str(Platform.of_tag(tag)) for tag in name.platforms}
            fits = not platforms.isdisjoint({"any", "linux_x86_64"})
            if fits and file.yanked is None and requirement.specifier.contains(name.version):
                files.append((name.version, file))
    return max(files, key=lambda each: each[0])[1] if files else None
