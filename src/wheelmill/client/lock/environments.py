"""Contents of locked environments: chosen wheels, and all requirements of these and of the project.

uv resolves dependencies with hashes. Markers (PEP 508) distinguish environments. Changes are predicted from metadata.

https://packaging.python.org/en/latest/specifications/dependency-specifiers/#environment-markers
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import tomlkit
from packaging.pylock import Package, PackageWheel, Pylock, PylockValidationError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelmill.client.install.distributions import InstalledPackage
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.records import Candidate, Choice, Resolution, SourceKind, TargetEnvironment
from wheelmill.errors import InstallError, IntegrityError, UsageError, WheelmillError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.installers.uv import compile_requirements, find_uv, run_installer, torch_options
from wheelmill.names import ProjectName
from wheelmill.system.progress import QUIET, Progress
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.platforms import PLATFORMS

_GLIBC_MINORS: Final = (17, 28, *range(31, 41))
"""Minor releases of glibc 2 for which uv has a platform."""


def closure_of(
    requirements: Iterable[str],
    *,
    without: Sequence[ProjectName] = (),
    environment: TargetEnvironment,
    torch_place: str | None = None,
    known: Pylock | None = None,
    offline: bool,
    progress: Progress,
) -> tuple[Package, ...]:
    """Resolve requirements (PEP 508) for an environment to lock entries of wheels; only metadata is downloaded.

    Projects in ``without`` are left out, because their wheels are chosen already. Versions of the lock ``known`` are
    kept if they still fit. ``torch_place`` is as in `torch_options`; offline, uv uses its own cache only.
    """
    uv = find_uv()
    if uv is None:
        raise UsageError(
            "uv-absent",
            "locks and dry runs need uv",
            hint="install uv: https://docs.astral.sh/uv/getting-started/installation/",
        )
    written = compile_requirements(
        sorted(set(requirements)),
        *("--python-version", str(environment.python).removesuffix("t")),
        *("--python-platform", _platform_of(environment)),
        *(("--python", environment.interpreter) if environment.interpreter else ()),
        *torch_options(torch_place),
        *("--no-python-downloads", *(("--offline",) if offline else ())),  # another machine's Python is not needed here
        kept=tomlkit.dumps(_preferences(known)) if known else None,
        without=sorted(without),
        run=lambda arguments, folder: run_installer([uv, *arguments], progress, cwd=folder),
    )
    try:
        packages = Pylock.from_dict(tomllib.loads(written)).packages
    except (tomllib.TOMLDecodeError, PylockValidationError) as error:
        raise InstallError("lock-unreadable", f"the lock that uv wrote cannot be read: {error}") from None
    return tuple(_only_fitting_wheels(package, environment) for package in packages)


def has_pure_wheel(project: Requirement, environment: TargetEnvironment) -> bool:
    """True if the package index has a project as a wheel for every machine; False if that is not known."""
    with suppress(WheelmillError):
        packages = closure_of([str(project)], environment=environment, offline=False, progress=QUIET)
        wheels = [each.wheels or () for each in packages if each.name == canonicalize_name(project.name)]
        return any(wheel.filename.endswith("-any.whl") for each in wheels for wheel in each)
    return False


def _preferences(known: Pylock) -> dict[str, object]:
    """Strip a lock of its markers: uv prefers the versions in the file that it overwrites."""
    packages = [replace(package, marker=None) for package in known.packages]
    return dict(replace(known, packages=packages, environments=None, tool=None).to_dict())


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
    progress: Progress,
) -> list[EnvironmentLock]:
    """Resolve the full content of environments.

    The cache gets wheels whose source lacks their hash, size or requirements. ``beside`` has further requirements of
    every environment, such as a project's other dependencies. Versions of the old lock, ``known``, stay if they fit.
    """
    locks = []
    for resolution in resolutions:
        whole = _complete(resolution, cache, progress)
        chosen = [choice.candidate.project for choice in whole.choices.values()]
        others = closure_of(
            _requirements(whole, beside),
            without=chosen,
            environment=whole.environment,
            torch_place=resolution.torch_place,
            known=known,
            offline=cache.offline,
            progress=progress,
        )
        locks.append(EnvironmentLock(resolution=whole, others=others))
    return locks


def _requirements(resolution: Resolution, beside: Iterable[Requirement]) -> list[str]:
    texts = [str(each) for each in beside]
    if torch := resolution.torch:
        texts.append(f"torch{torch.pin}")
    for choice in resolution.choices.values():
        texts += (requirements_line(str(each)) for each in choice.requirements(resolution.environment))
    chosen = {choice.candidate.project for choice in resolution.choices.values()}
    return [text for text in texts if canonicalize_name(Requirement(text).name) not in chosen]


def _complete(resolution: Resolution, cache: WheelCache, progress: Progress) -> Resolution:
    """Read data that sources lack from the wheels themselves."""
    choices: dict[ProjectName, Choice] = {}
    for project, choice in resolution.choices.items():
        candidate = choice.candidate
        if None not in (candidate.sha256, candidate.size, choice.requires_dist):
            choices[project] = choice
            continue
        wheel = cache.fetch(candidate, progress)
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
    progress: Progress,
) -> Mapping[ProjectName, InstalledPackage]:
    """Predict the packages in an environment after chosen wheels are installed; installed versions stay if they fit.

    The cache gets wheels whose source lacks their requirements. ``beside`` has further requirements, such as the
    project's other dependencies.
    """
    (lock,) = lock_environments([resolution], beside=beside, known=_wishes(present), cache=cache, progress=progress)
    after = dict(present)
    for package in lock.packages:
        project, version = canonicalize_name(package.name), str(package.version)
        if project in present and Version(version).local is None and _public(present[project]) == version:
            continue  # the installed torch has a label, which versions on an index lack
        size = next((wheel.size for wheel in package.wheels or ()), None)
        after[project] = InstalledPackage(version=version, size=size)
    return after


def _wishes(present: Mapping[ProjectName, InstalledPackage]) -> Pylock:
    """The installed packages, as a lock whose versions are kept."""
    packages = [
        Package(name=project, version=Version(version))
        for project, package in present.items()
        if (version := _public(package))
    ]
    return Pylock(lock_version=Version("1.0"), created_by="wheelmill", packages=packages)


def _public(package: InstalledPackage) -> str | None:
    """The version without its label; None if it is not valid under PEP 440."""
    try:
        return Version(package.version).public
    except InvalidVersion:
        return None
