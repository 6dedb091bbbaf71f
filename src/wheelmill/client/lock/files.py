"""Lock files: writing, reading and installing PEP 751's ``pylock.toml``, and requirements with hashes.

A pin is the entry for a chosen wheel in a project's file.

https://packaging.python.org/en/latest/specifications/pylock-toml/
https://pip.pypa.io/en/stable/topics/secure-installs/
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.install.distributions import InstalledPackage, installed_in
from wheelmill.client.install.installer import Installation, Installer, interpreter_of
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.environments import (
    EnvironmentLock,
    distinguishing_markers,
    full_marker,
    package_of,
    platform_marker,
)
from wheelmill.client.lock.publishers import check_publishers
from wheelmill.client.records import Choice, Resolution, SourceKind, TargetEnvironment, WantedWheel
from wheelmill.errors import NoWheelError, UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import TORCH, Platform, ProjectName, Sha256
from wheelmill.system.files import read_bounded
from wheelmill.system.progress import Progress
from wheelmill.web.credentials import keep_credential
from wheelmill.wheel.name import WheelName, wheel_behind
from wheelmill.wheel.platforms import PLATFORMS, platforms_of

if TYPE_CHECKING:
    from packaging.markers import Environment

_CREATED_BY: Final = "wheelmill"
_MAX_LOCK: Final = 64 << 20
"""Bytes. A thousand packages with all their wheels have 10 MB."""
_INDEX_WORDS: Final = re.compile("[a-z0-9._-]+")
"""Characters that uv allows in the name of an index."""


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
        found = entries[key]
        marker = None
        if len(found) < len(locks):
            markers = distinguishing_markers(environments)
            marker = Marker(" or ".join(sorted(f"({markers[place]})" for place, _ in found)))
        packages.append(_one_of([package for _, package in found], marker))
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
    found: dict[str, dict[int, tuple[str, tuple[str, ...]]]] = {}
    for place, lock in enumerate(locks):
        for name, line in _lines(lock):
            found.setdefault(name, {})[place] = line
    written = []
    for name in sorted(found):
        lines = found[name]
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


def read_toml(path: Path) -> Mapping[str, object]:
    """Read a lock in any TOML format."""
    return tomllib.loads(read_bounded(path, _MAX_LOCK).decode())


def read_lock(path: Path) -> Pylock:
    """Read a PEP 751 lock, written by any program; each wheel gets a URL and stands under ``wheels``.

    uv writes a wheel with a URL or a path of its own as ``archive``, and the path of a local file relative to the lock.
    """
    try:
        lock = Pylock.from_dict(read_toml(path))
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
        replace(each, name=each.filename, url=each.url or (folder / (each.path or "")).as_uri(), path=None)
        for each in files
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


@dataclass(frozen=True, kw_only=True)
class Index:
    """Simple index for certain packages of a project only."""

    name: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Pin:
    """Dependency on exactly one version, for all environments of a project or those of a marker."""

    requirement: str
    """``flash-attn==2.8.3+cu130torch2.11``, or ``flash-attn @ https://...whl#sha256=...`` (PEP 508)."""
    index: Index | None = None
    marker: str | None = None
    environments: tuple[TargetEnvironment, ...] = field(default=(), compare=False)
    """The targets that it was chosen for; empty for every one."""

    @property
    def dependency(self) -> str:
        """The line in ``project.dependencies``; a space separates a URL from its marker (PEP 508)."""
        return requirements_line(f"{self.requirement} ; {self.marker}" if self.marker else self.requirement)

    def with_extras(self, extras: set[str]) -> Pin:
        """Return the pin with further extras."""
        requirement = Requirement(self.requirement)
        requirement.extras |= extras
        return replace(self, requirement=str(requirement))

    def counts_for(self, marker: Marker | None) -> bool:
        """True if an entry with this marker is for one of its targets."""
        return not self.environments or any(each.meets(marker) for each in self.environments)


def replace_by_marker(markers: Sequence[Marker | None], pins: Sequence[Pin]) -> Iterator[int | Pin]:
    """Yield pins and the places of the entries that stay, given the markers of all entries.

    An entry for other machines than the targets of the pins stays. Another one's marker stays if such entries are for
    all targets of the pin that replaces it.
    """
    left = [*pins]
    for place, marker in enumerate(markers):
        replacing = [pin for pin in pins if pin.counts_for(marker)]
        if pins and not replacing:
            yield place
        for pin in replacing:
            is_covered = all(any(each and target.meets(each) for each in markers) for target in pin.environments)
            if marker and len(replacing) == 1 and is_covered:
                yield replace(pin, marker=str(marker).replace('"', "'"))
            elif pin in left:
                yield pin
            left = [each for each in left if each != pin]
    yield from left


def replace_dependencies(texts: Sequence[str], pins: Sequence[Pin]) -> list[str]:
    """Replace the dependencies on a project for the targets of pins, and keep the extras; see `replace_by_marker`."""
    had = list(map(Requirement, texts))
    extras = {extra for each in had for extra in each.extras}
    found = replace_by_marker([each.marker for each in had], pins)
    return [texts[each] if isinstance(each, int) else each.with_extras(extras).dependency for each in found]


def pins_of(resolutions: Sequence[Resolution], *, named_indexes: bool = True) -> dict[ProjectName, tuple[Pin, ...]]:
    """Map installed project names to the pins of the chosen wheels: a common one if possible, else one per environment.

    A wheel of an index is pinned by version with a named index, whose links carry hashes; any other by URL and hash.
    Without ``named_indexes``, for projects that cannot set the index of one dependency, every wheel is pinned by URL
    and hash.
    """
    found = defaultdict[ProjectName, dict[int, Pin]](dict)
    platforms = defaultdict[ProjectName, set[Platform]](set)
    for place, resolution in enumerate(resolutions):
        for choice in resolution.choices.values():
            project, pin = choice.candidate.project, _pin(choice, named_indexes=named_indexes)
            found[project][place] = pin
            platforms[project] |= platforms_of(choice.candidate.tags) | (choice.platforms if pin.index else set())
            platforms[TORCH] |= platforms[project] if choice.needs_torch else set()
        if torch := resolution.torch:
            url = resolution.torch_index
            index = Index(name=f"wheelmill-pytorch-{resolution.torch_backend}", url=url) if url else None
            found[TORCH][place] = Pin(requirement=f"torch{torch.pin}", index=index)
            platforms[TORCH] |= PLATFORMS.keys() if resolution.asks_torch else set()
    environments = [resolution.environment for resolution in resolutions]
    return {project: (*_with_markers(pins, platforms[project], environments),) for project, pins in found.items()}


def _with_markers(
    pins: Mapping[int, Pin], platforms: set[Platform], environments: Sequence[TargetEnvironment]
) -> Iterator[Pin]:
    """Give the pins of some environments the markers of the platforms that their wheels run on; merge equal ones."""
    is_for_all = platforms >= PLATFORMS.keys()
    without = {each.platform.plain for place, each in enumerate(environments) if place not in pins}
    pin, *others = {*pins.values()}
    if not others and without.isdisjoint(platforms):  # otherwise some of them do not require it
        marker = None if is_for_all else platform_marker(environments[0], platforms)
        yield replace(pin, marker=marker, environments=tuple(environments[place] for place in pins))
        return
    markers = distinguishing_markers(environments)
    if len({each.platform for each in environments}) == 1 and not is_for_all:
        markers = [full_marker(each) for each in environments]
    for place, each in pins.items():
        yield replace(each, marker=markers[place], environments=(environments[place],))


def _pin(choice: Choice, *, named_indexes: bool) -> Pin:
    candidate = choice.candidate
    if named_indexes and candidate.source.kind is SourceKind.SIMPLE:
        name = candidate.source.name.partition("://")[2] or candidate.source.name
        words = _INDEX_WORDS.findall(f"wheelmill-{name}".lower())
        index = Index(name="-".join(words), url=candidate.source.url)
        return Pin(requirement=f"{choice.name_with_extras}=={candidate.version}", index=index)
    fragment = f"#sha256={candidate.sha256}" if candidate.sha256 else ""  # installers check it
    return Pin(requirement=f"{choice.name_with_extras} @ {candidate.url}{fragment}")


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
