"""Lock files: writing, reading and installing PEP 751's ``pylock.toml``, and requirements with hashes.

https://packaging.python.org/en/latest/specifications/pylock-toml/
https://pip.pypa.io/en/stable/topics/secure-installs/
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import tomlkit
from packaging.markers import Marker
from packaging.pylock import (
    Package,
    PackageWheel,
    Pylock,
    PylockSelectError,
    PylockValidationError,
    is_valid_pylock_path,
)
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.install.distributions import InstalledPackage, installed_in
from wheelmill.client.install.installer import Installation, Installer, interpreter_of
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.environments import EnvironmentLock, package_of
from wheelmill.client.lock.pins import distinguishing_markers, full_marker
from wheelmill.client.lock.publishers import check_publishers
from wheelmill.client.records import TargetEnvironment, WantedWheel
from wheelmill.errors import NoWheelError, UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import ProjectName, Sha256
from wheelmill.system.files import MAX_LOCK_BYTES, read_bounded
from wheelmill.system.progress import Progress
from wheelmill.web.credentials import keep_credential
from wheelmill.wheel.name import WheelName, wheel_behind

if TYPE_CHECKING:
    from packaging.markers import Environment

_CREATED_BY: Final = "wheelmill"


def merge(locks: Sequence[EnvironmentLock]) -> Pylock:
    """Merge the locks of several environments, with a marker on each entry that some of them lack.

    The lock depends on its input alone: packages and wheels are sorted, and it has no timestamp.
    """
    environments = [lock.resolution.environment for lock in locks]
    entries: dict[tuple[str, str], list[tuple[int, Package]]] = {}
    for place, lock in enumerate(locks):
        for package in lock.packages:
            entries.setdefault((package.name, str(package.version)), []).append((place, package))
    packages = []
    for key in sorted(entries):
        alike = entries[key]
        marker = None
        if len(alike) < len(locks):
            markers = distinguishing_markers(environments)
            marker = Marker(" or ".join(sorted(f"({markers[place]})" for place, _ in alike)))
        packages.append(_one_of([package for _, package in alike], marker))
    described = [{key: str(word) for key, word in each.in_json.items() if word is not None} for each in environments]
    return Pylock(
        lock_version=Version("1.0"),
        environments=[Marker(text) for text in sorted({full_marker(environment) for environment in environments})],
        created_by=_CREATED_BY,
        packages=packages,
        tool={"wheelmill": {"environments": sorted(described, key=str)}},
    )


def _one_of(packages: Sequence[Package], marker: Marker | None) -> Package:
    wheels = {wheel.filename: wheel for package in packages for wheel in package.wheels or ()}
    return replace(packages[0], marker=marker, wheels=[wheels[name] for name in sorted(wheels)])


def pylock_text(lock: Pylock) -> bytes:
    """Serialize a lock as TOML, deterministically, and read it back."""
    text = tomlkit.dumps(lock.to_dict())
    if Pylock.from_dict(tomllib.loads(text)) != lock:
        raise UsageError("lock-unwritable", "TOML cannot express a text in this lock")
    return text.encode()


def requirements_text(locks: Sequence[EnvironmentLock]) -> bytes:
    """Write a line for every package: chosen wheels by their URL, the others by their version.

    Where environments differ, each has a line with its marker.
    """
    by_name: dict[str, dict[int, tuple[str, tuple[str, ...]]]] = {}
    for place, lock in enumerate(locks):
        for name, line in _lines(lock):
            by_name.setdefault(name, {})[place] = line
    written = []
    for name in sorted(by_name):
        lines = by_name[name]
        if len(lines) == len(locks) and len(set(lines.values())) == 1:
            requirement, hashes = lines[0]
            written.append(requirements_line(requirement, *hashes))
        else:
            markers = distinguishing_markers([lock.resolution.environment for lock in locks])
            for place, (requirement, hashes) in sorted(lines.items()):
                written.append(requirements_line(f"{requirement} ; {markers[place]}", *hashes))
    return "".join(f"{line}\n" for line in written).encode()


def _lines(lock: EnvironmentLock) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    """Yield the name of every package, with its requirement and its hashes."""
    for choice in lock.resolution.choices.values():
        package = package_of(choice.candidate)
        yield package.name, (f"{package.name} @ {choice.candidate.url}", _hashes(package))
    for package in lock.others:
        yield package.name, (f"{package.name}=={package.version}", _hashes(package))


def _hashes(package: Package) -> tuple[str, ...]:
    hashes = {f"--hash={name}:{value}" for wheel in package.wheels or () for name, value in wheel.hashes.items()}
    return (*sorted(hashes),)


def check_name(path: Path) -> None:
    """Check that PEP 751 allows a lock's file name."""
    if not is_valid_pylock_path(path):
        raise UsageError(
            "lock-name-invalid",
            f"{path.name}: a lock must be named pylock.toml or pylock.<name>.toml (PEP 751)",
            hint="--format requirements writes requirements with hashes, to a file of any name",
        )


def read_lock(path: Path) -> Pylock:
    """Read a PEP 751 lock, written by any program; each wheel gets a URL and stands under ``wheels``.

    uv writes a wheel with a URL or a path of its own as ``archive``, and the path of a local file relative to the lock.
    """
    try:
        lock = Pylock.from_dict(tomllib.loads(read_bounded(path, MAX_LOCK_BYTES).decode()))
        return replace(lock, packages=[_with_urls(each, path.absolute().parent) for each in lock.packages])
    except FileNotFoundError:
        raise UsageError("lock-absent", f"there is no {path}", hint="'wheelmill lock' writes it") from None
    except (ValueError, RecursionError, PylockValidationError) as error:
        hint = "'pip install -r' or 'uv pip sync' installs requirements" if path.suffix == ".txt" else None
        raise UsageError("lock-invalid", f"{path} is not a lock (PEP 751): {error}", hint=hint) from None


def _with_urls(package: Package, folder: Path) -> Package:
    archive, files = package.archive, package.wheels or ()
    name = wheel_behind(archive.url or archive.path or "") if archive else None
    if archive and name:
        if name.project != package.name or package.version not in (None, name.version):
            raise ValueError(f"{package.name} {package.version} is said to be in {archive.url or archive.path}")
        files = [PackageWheel(url=archive.url, path=archive.path, size=archive.size, hashes=archive.hashes)]
        package = replace(package, archive=None)
    wheels = [
        replace(file, name=file.filename, url=file.url or (folder / (file.path or "")).as_uri(), path=None)
        for file in files
    ]
    return replace(package, wheels=wheels or None)


def content_for(
    lock: Pylock, environment: TargetEnvironment
) -> tuple[tuple[WantedWheel, ...], Mapping[ProjectName, Package]]:
    """The wheels in a lock for an environment, and its packages without a wheel that has a sha256.

    Raises:
        NoWheelError: the lock is for other environments, or has no wheel for this one.
    """
    try:
        selected = list(
            lock.select(environment=cast("Environment", environment.markers), tags=list(environment.tag_places))
        )
    except PylockSelectError as error:
        raise NoWheelError(
            "lock-for-another",
            f"the lock is not for {environment.python} on {environment.platform}: {error}",
            hint="'wheelmill lock' makes one that is",
        ) from None
    wheels, others = [], {}
    for package, artifact in selected:
        if isinstance(artifact, PackageWheel) and artifact.url and "sha256" in artifact.hashes:
            url, sha256 = keep_credential(artifact.url), Sha256(artifact.hashes["sha256"])
            wheels.append(WantedWheel(filename=artifact.filename, url=url, sha256=sha256, size=artifact.size))
        else:
            others[package.name] = package
    return tuple(wheels), others


def describe_forms(packages: Iterable[Package]) -> str:
    """Name packages of a lock, with their form: ``mine (directory)``."""
    forms = ("directory", "vcs", "archive", "sdist", "wheels")
    return ", ".join(f"{each.name} ({next(form for form in forms if getattr(each, form))})" for each in packages)


def wheels_for(lock: Pylock, environment: TargetEnvironment) -> tuple[WantedWheel, ...]:
    """The wheels in a lock for an environment; folders in it, as the project itself, are not installed.

    Raises:
        NoWheelError: as `content_for`.
    """
    wheels, others = content_for(lock, environment)
    if unread := describe_forms(each for each in others.values() if not each.directory):
        raise UsageError(
            "lock-incomplete",
            f"the lock has no wheel with a sha256 of {unread}",
            hint="install these with the tool that wrote the lock, or let 'wheelmill lock' write one",
        )
    return wheels


_TOOLS = frozenset(map(canonicalize_name, ("pip", "setuptools", "wheel", "uv")))
"""Packages with which environments are made; no lock lists them."""


def _not_locked(lock: Pylock, environment: TargetEnvironment) -> frozenset[ProjectName]:
    """The packages that a lock of wheels neither installs nor removes: tools, and source trees like the project."""
    installed = installed_in(interpreter_of(environment)).values()
    return _TOOLS.union(content_for(lock, environment)[1], (each.project for each in installed if each.is_source_tree))


def packages_of_lock(
    lock: Pylock, environment: TargetEnvironment, present: Mapping[ProjectName, InstalledPackage], *, exactly: bool
) -> Mapping[ProjectName, InstalledPackage]:
    """Predict the packages in an environment after a lock is installed into it.

    ``present`` are its packages now; those that the lock does not list are removed if ``exactly``.
    """
    left = _not_locked(lock, environment)
    kept = {project: package for project, package in present.items() if not exactly or project in left}
    names = [(WheelName.parse(wheel.filename), wheel.size) for wheel in wheels_for(lock, environment)]
    return kept | {name.project: InstalledPackage(version=str(name.version), size=size) for name, size in names}


def install_locked(
    lock: Pylock,
    environment: TargetEnvironment,
    cache: WheelCache,
    installer: Installer,
    *,
    exactly: bool,
    attested: bool,
    progress: Progress,
) -> Installation:
    """Download, check and install the wheels in a lock, and nothing else.

    Nothing is changed if a wheel does not match its hash or its publisher in the lock; ``attested`` requires that all
    publishers can be verified. New wheels stay in the cache. Packages that the lock does not list are removed if
    ``exactly``.
    """
    wanted = wheels_for(lock, environment)
    present = {project: each.version for project, each in installed_in(interpreter_of(environment)).items()}
    names = {wheel.filename: WheelName.parse(wheel.filename) for wheel in wanted}
    absent = {filename for filename, name in names.items() if present.get(name.project) != str(name.version)}
    checked = [wheel for wheel in wanted if attested or wheel.filename in absent]
    if warning := check_publishers(lock, checked, cache, required=attested):
        progress.step(f"warning: {warning}")
    wheels = cache.fetch_all(wanted, progress)
    new = [wheel for wheel in wheels if wheel.path.name in absent]
    kept = _not_locked(lock, environment).union(wheel.project for wheel in wheels)
    surplus = sorted(set(present) - kept) if exactly else []
    installer.uninstall(surplus)
    if new:
        installer.install(new, [], alone=True, torch_place=None)
    return Installation(wheels=wheels, removed=surplus)
