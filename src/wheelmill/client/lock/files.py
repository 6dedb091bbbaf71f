"""Lock files: PEP 751's ``pylock.toml``, and requirements with hashes; and the publishers of the wheels in them.

https://packaging.python.org/en/latest/specifications/pylock-toml/
https://pip.pypa.io/en/stable/topics/secure-installs/
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import urlsplit

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

from wheelmill.client.choose.wheel_inspection import read_bundles
from wheelmill.client.install.distributions import InstalledPackage, installed_in
from wheelmill.client.install.installer import Installation, installer_to, interpreter_of
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.environments import EnvironmentLock, package_of
from wheelmill.client.lock.pins import distinguishing_markers, full_marker
from wheelmill.client.records import Candidate, TargetEnvironment, WantedWheel
from wheelmill.errors import IntegrityError, NoWheelError, UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import ProjectName, Sha256
from wheelmill.system.files import MAX_LOCK_BYTES, read_bounded
from wheelmill.system.own_installation import own_origin
from wheelmill.web.credentials import keep_credential
from wheelmill.wheel.attestation import Publisher, publishers_in
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.name import WheelName, wheel_behind

if TYPE_CHECKING:
    from packaging.markers import Environment


def merge(locks: Sequence[EnvironmentLock]) -> Pylock:
    """Merge the locks of environments, with a marker on what some lack; its input alone decides the text."""
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
        wheels = {wheel.filename: wheel for _, package in alike for wheel in package.wheels or ()}
        packages.append(replace(alike[0][1], marker=marker, wheels=[wheels[name] for name in sorted(wheels)]))
    described = [{key: str(word) for key, word in each.in_json.items() if word is not None} for each in environments]
    return Pylock(
        lock_version=Version("1.0"),
        environments=[Marker(text) for text in sorted({full_marker(environment) for environment in environments})],
        created_by="wheelmill",
        packages=packages,
        tool={"wheelmill": {"environments": sorted(described, key=str)}},
    )


def pylock_text(lock: Pylock) -> bytes:
    """Serialize a lock as TOML, deterministically, and read it back."""
    text = tomlkit.dumps(lock.to_dict())
    if Pylock.from_dict(tomllib.loads(text)) != lock:
        raise UsageError("lock-unwritable", "TOML cannot express a text in this lock")
    return text.encode()


def requirements_text(locks: Sequence[EnvironmentLock]) -> bytes:
    """Write each package: chosen wheels by URL, others by version, with its marker where environments differ."""
    by_name: dict[str, dict[int, tuple[str, tuple[str, ...]]]] = {}
    for place, lock in enumerate(locks):
        for package, requirement in _requirements_in(lock):
            named = {hashed for wheel in package.wheels or () for hashed in wheel.hashes.items()}
            options = tuple(sorted(f"--hash={name}:{value}" for name, value in named))
            by_name.setdefault(package.name, {})[place] = requirement, options
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


def _requirements_in(lock: EnvironmentLock) -> Iterator[tuple[Package, str]]:
    for choice in lock.resolution.choices.values():
        package = package_of(choice.candidate)
        yield package, f"{package.name} @ {choice.candidate.url}"
    for package in lock.others:
        yield package, f"{package.name}=={package.version}"


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
    """The wheels in a lock for an environment, or NoWheelError, and its packages without a hashed wheel."""
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
    """The wheels in a lock for an environment, without folders such as the project itself; raises as `content_for`."""
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
    """Predict the packages in an environment after a lock is installed; ``exactly`` removes all others."""
    left = _not_locked(lock, environment)
    kept = {project: package for project, package in present.items() if not exactly or project in left}
    names = [(WheelName.parse(wheel.filename), wheel.size) for wheel in wheels_for(lock, environment)]
    return kept | {name.project: InstalledPackage(version=str(name.version), size=size) for name, size in names}


def install_locked(
    lock: Pylock,
    environment: TargetEnvironment,
    cache: WheelCache,
    *,
    exactly: bool,
    attested: bool,
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
        cache.progress.step(f"warning: {warning}")
    wheels = cache.fetch_all(wanted)
    new = [wheel for wheel in wheels if wheel.path.name in absent]
    kept = _not_locked(lock, environment).union(wheel.project for wheel in wheels)
    surplus = sorted(set(present) - kept) if exactly else []
    installer = installer_to(environment, cache)
    installer.uninstall(surplus)
    if new:
        installer.install(new, [], alone=True, torch_place=None)
    return Installation(wheels=wheels, removed=surplus)


Publishers: TypeAlias = Mapping[tuple[str, str], Sequence[Publisher]]
"""Publishers by name and sha256 of their files."""


def obstacle_to_verification(cache: WheelCache) -> str | None:
    """Return the reason why no attestation can be verified; None if there is none."""
    if cache.offline:
        return "--offline was given"
    return None if find_spec("sigstore") else f"install wheelmill[attestations]{own_origin()} for that"


def read_publishers(wheels: Iterable[WantedWheel], cache: WheelCache) -> Publishers:
    """Verify the attestations beside wheels, if possible; raises NetworkError if they or the keys cannot be fetched."""
    served = [wheel for wheel in wheels if urlsplit(wheel.url).scheme != "file"]
    bundles = [] if obstacle_to_verification(cache) else read_bundles(served, cache.web)
    return publishers_in(bundles) if bundles else {}


def publishers_named_in(packages: Iterable[Package]) -> Publishers:
    """Return the publishers that entries of a lock name for their wheels."""
    return {
        file: package.attestation_identities
        for package in packages
        if package.attestation_identities
        for file in _files_of(package)
    }


def with_publishers(lock: Pylock, publishers: Publishers) -> Pylock:
    """Name the publishers of each package whose wheels all have some."""
    packages = []
    for package in lock.packages:
        files = _files_of(package)
        by_text = {_text_of(each): each for file in files & publishers.keys() for each in publishers[file]}
        identities = [by_text[text] for text in sorted(by_text)] if files <= publishers.keys() else []
        packages.append(replace(package, attestation_identities=identities or None))
    return replace(lock, packages=packages)


def _files_of(package: Package) -> set[tuple[str, str]]:
    return {(wheel.filename, wheel.hashes.get("sha256", "")) for wheel in package.wheels or ()}


def check_publishers(lock: Pylock, wheels: Iterable[WantedWheel], cache: WheelCache, *, required: bool) -> str | None:
    """Verify that each wheel has a publisher that its lock names for it; if that is not possible, return a warning.

    With ``required``, that is an error, and so is a lock without publishers.
    """
    wanted = {(each.filename, each.sha256 or ""): each for each in wheels}
    named = {file: each for file, each in publishers_named_in(lock.packages).items() if file in wanted}
    obstacle = obstacle_to_verification(cache)
    own = {} if obstacle else {file: each for file, each in named.items() if any("signer" in one for one in each)}
    verified = read_publishers([wanted[file] for file in own], cache)
    faults = [
        f"{file[0]} is attested by {_texts_of(verified.get(file, ()))}, not by {_texts_of(publishers)}"
        for file, publishers in own.items()
        if not any(each in verified.get(file, ()) for each in publishers)
    ]
    if faults:
        hint = "if you trust that, 'wheelmill lock --upgrade' writes it"
        raise IntegrityError("publisher-differs", "\n".join(faults), hint=hint)
    warning = None
    if unread := [name for name, _ in named.keys() - own.keys()]:
        obstacle = obstacle or "wheelmill did not write them"
        warning = f"the publishers of {some_of(sorted(unread))} in the lock are not verified: {obstacle}"
    if required and (warning or not named):
        raise IntegrityError("publisher-not-verified", warning or "the lock names no publisher of its wheels")
    return warning


def changed_publishers(locked: Iterable[Package], chosen: Iterable[Candidate], cache: WheelCache) -> list[str]:
    """Describe the changes from the publishers in a lock to those of the wheels chosen now."""
    named = {each.name: _texts_of(each.attestation_identities) for each in locked if each.attestation_identities}
    wheels = [each for each in chosen if each.project in named]
    if wheels and (obstacle := obstacle_to_verification(cache)):
        return [f"publishers are not compared: {obstacle}"]
    verified = read_publishers(wheels, cache)
    now = {(each.project, _texts_of(verified.get((each.filename, each.sha256 or ""), ()))) for each in wheels}
    changed = sorted((project, after) for project, after in now if after != named[project])
    return [f"publisher of {project}: {named[project]} -> {after}" for project, after in changed]


def _texts_of(publishers: Iterable[Publisher]) -> str:
    return " or ".join(sorted({*map(_text_of, publishers)})) or "none"


def _text_of(publisher: Publisher) -> str:
    whose = publisher.get("signer") or publisher.get("repository")
    return " ".join(str(word) for word in (publisher.get("kind"), whose, publisher.get("workflow")) if word)
