"""Publishers of wheels: written into a lock (PEP 751), verified before what it holds is installed, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TypeAlias
from urllib.parse import urlsplit

from packaging.pylock import Package, Pylock

from wheelmill.client.choose.wheel_inspection import read_bundles
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.records import Candidate, WantedWheel
from wheelmill.errors import IntegrityError
from wheelmill.system.own_installation import own_origin
from wheelmill.wheel.attestation import Publisher, publishers_in
from wheelmill.wheel.findings import some_of

Publishers: TypeAlias = Mapping[tuple[str, str], Sequence[Publisher]]
"""Publishers by name and sha256 of their files."""


def obstacle_to_verification(cache: WheelCache) -> str | None:
    """Return the reason why no attestation can be verified; None if there is none."""
    if cache.offline:
        return "--offline was given"
    return None if find_spec("sigstore") else f"install wheelmill[attestations]{own_origin()} for that"


def read_publishers(wheels: Iterable[WantedWheel], cache: WheelCache) -> Publishers:
    """Verify the attestations beside wheels on servers; return none if there is an obstacle.

    Raises NetworkError if they, or the keys to verify them, cannot be fetched.
    """
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
    """Verify that each wheel has a publisher that its lock names for it; return a warning if that is not possible.

    Raises:
        IntegrityError: a wheel has another publisher, or none; with ``required``, also if none is named or verified.
        NetworkError: as `read_publishers`.
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
