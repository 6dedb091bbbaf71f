"""Contents of locked environments: chosen wheels, and all that these and the project require, which uv resolves."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import tomlkit
from packaging.pylock import Package, PackageWheel, Pylock, PylockValidationError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.install.distributions import InstalledPackage
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.records import Candidate, Choice, Resolution, SourceKind, TargetEnvironment
from wheelmill.errors import InstallError, IntegrityError, UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.installers.uv import compile_requirements, find_uv, run_installer, torch_options
from wheelmill.names import ProjectName, version_or_none
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import PLATFORMS

_GLIBC_MINORS: Final = (17, 28, *range(31, 41))
"""Minor releases of glibc 2 for which uv has a platform."""


def _other_packages(
    resolution: Resolution, beside: Iterable[Requirement], known: Pylock | None, cache: WheelCache
) -> tuple[Package, ...]:
    """Resolve what chosen wheels require to lock entries of wheels; only metadata is downloaded."""
    environment = resolution.environment
    if known:
        packages = [replace(package, marker=None) for package in known.packages]
        known = replace(known, packages=packages, environments=None, tool=None)
    uv = find_uv()
    if uv is None:
        raise UsageError(
            "uv-absent",
            "locks and dry runs need uv",
            hint="install uv: https://docs.astral.sh/uv/getting-started/installation/",
        )
    written = compile_requirements(
        sorted({*_requirements(resolution, beside)}),
        *("--python-version", str(environment.python).removesuffix("t")),
        *("--python-platform", _platform_of(environment)),
        *(("--python", environment.interpreter) if environment.interpreter else ()),
        *torch_options(resolution.torch_place),
        "--no-python-downloads",  # another machine's Python is not needed here
        *(("--offline",) if cache.offline else ()),
        kept=tomlkit.dumps(known.to_dict()) if known else None,  # whose versions uv prefers to others
        without=sorted(choice.candidate.project for choice in resolution.choices.values()),
        run=lambda arguments, folder: run_installer([uv, *arguments], cache.progress, cwd=folder),
    )
    try:
        locked = Pylock.from_dict(tomllib.loads(written)).packages
    except (tomllib.TOMLDecodeError, PylockValidationError) as error:
        raise InstallError("lock-unreadable", f"the lock that uv wrote cannot be read: {error}") from None
    return tuple(_only_fitting_wheels(package, environment) for package in locked)


def _only_fitting_wheels(package: Package, environment: TargetEnvironment) -> Package:
    """Strip an entry of source distributions and other platforms' wheels: installing a lock builds nothing."""
    tags = environment.tag_places.keys()
    wheels = [wheel for wheel in package.wheels or () if WheelName.parse(wheel.filename).tags & tags]
    if not wheels:
        raise UsageError(
            "nothing-to-lock-for",
            f"{package.name} {package.version} has no wheel for this environment, so it cannot be locked",
            hint=f"ask for another version of {package.name}",
        )
    return Package(name=package.name, version=package.version, index=package.index, wheels=wheels)


def _platform_of(environment: TargetEnvironment) -> str:
    platform, libc = environment.platform, environment.libc
    uv = PLATFORMS[platform.plain].uv if platform.plain in PLATFORMS else None
    if uv is None:
        raise UsageError("lock-platform-unsupported", f"{platform}: locks are made for Linux, Windows and macOS only")
    if not platform.is_linux:
        return uv
    if libc is None:
        return f"{uv}-unknown-linux-gnu"
    if libc.family == "musl":
        return f"{uv}-unknown-linux-musl"
    minor = max((known for known in _GLIBC_MINORS if known <= libc.minor), default=None)
    if minor is None:
        raise UsageError("libc-too-old", f"{libc} is too old: no wheels are made for it")
    return f"{uv}-manylinux_2_{minor}"


@dataclass(frozen=True, kw_only=True)
class EnvironmentLock:
    """Full content of one environment."""

    resolution: Resolution
    others: Sequence[Package]
    """Other packages that the chosen wheels require, with hashes."""

    @property
    def packages(self) -> list[Package]:
        """The chosen wheels, and all others."""
        chosen = [package_of(choice.candidate) for choice in self.resolution.choices.values()]
        return [*chosen, *self.others]


def package_of(candidate: Candidate) -> Package:
    """The lock entry of a chosen wheel."""
    if candidate.sha256 is None:
        raise IntegrityError(
            "hash-absent",
            f"{candidate.url}: its source gives no sha256, so it cannot be locked",
            hint="name a source that gives one with --source",
        )
    named = WheelName.parse(candidate.filename)
    simple = candidate.source.kind is SourceKind.SIMPLE
    return Package(
        name=named.project,
        version=named.version,
        index=candidate.source.url if simple else None,
        wheels=[
            PackageWheel(
                name=candidate.filename, url=candidate.url, size=candidate.size, hashes={"sha256": candidate.sha256}
            )
        ],
    )


def lock_environments(
    resolutions: Sequence[Resolution],
    *,
    beside: Iterable[Requirement],
    known: Pylock | None,
    cache: WheelCache,
) -> list[EnvironmentLock]:
    """Resolve the full content of environments.

    The cache gets wheels whose source lacks their hash, size or requirements. ``beside`` has further requirements of
    every environment, such as a project's other dependencies. Versions of the old lock, ``known``, stay if they fit.
    """
    locks = []
    for resolution in resolutions:
        whole = _complete(resolution, cache)
        locks.append(EnvironmentLock(resolution=whole, others=_other_packages(whole, beside, known, cache)))
    return locks


def _requirements(resolution: Resolution, beside: Iterable[Requirement]) -> list[str]:
    texts = [str(each) for each in beside]
    if torch := resolution.torch:
        texts.append(f"torch{torch.pin}")
    for choice in resolution.choices.values():
        texts += (requirements_line(str(each)) for each in choice.requirements(resolution.environment))
    chosen = {choice.candidate.project for choice in resolution.choices.values()}
    return [text for text in texts if canonicalize_name(Requirement(text).name) not in chosen]


def _complete(resolution: Resolution, cache: WheelCache) -> Resolution:
    """Read data that sources lack from the wheels themselves."""
    choices: dict[ProjectName, Choice] = {}
    for project, choice in resolution.choices.items():
        candidate = choice.candidate
        if None not in (candidate.sha256, candidate.size, choice.requires_dist):
            choices[project] = choice
            continue
        wheel = cache.fetch(candidate)
        choices[project] = replace(
            choice,
            candidate=replace(candidate, sha256=wheel.sha256, size=wheel.size),
            requires_dist=requires_dist_of(wheel.path),
        )
    return replace(resolution, choices=choices)


def forecast_packages(
    resolution: Resolution,
    present: Mapping[ProjectName, InstalledPackage],
    *,
    beside: Iterable[Requirement],
    cache: WheelCache,
) -> Mapping[ProjectName, InstalledPackage]:
    """Predict the packages in an environment after an installation; those that fit stay. See `lock_environments`."""
    (lock,) = lock_environments([resolution], beside=beside, known=_wishes(present), cache=cache)
    after = dict(present)
    for package in lock.packages:
        project, version = canonicalize_name(package.name), str(package.version)
        installed = version_or_none(present[project].version) if project in present else None
        if installed and Version(version).local is None and installed.public == version:
            continue  # the installed torch has a label, which versions on an index lack
        size = next((wheel.size for wheel in package.wheels or ()), None)
        after[project] = InstalledPackage(version=version, size=size)
    return after


def _wishes(present: Mapping[ProjectName, InstalledPackage]) -> Pylock:
    """The installed packages, as a lock whose versions are kept."""
    packages = [
        Package(name=project, version=Version(version.public))
        for project, package in present.items()
        if (version := version_or_none(package.version))
    ]
    return Pylock(lock_version=Version("1.0"), created_by="wheelmill", packages=packages)
