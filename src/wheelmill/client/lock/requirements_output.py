"""A lock as a requirements file with hashes, for what reads nothing newer.

https://pip.pypa.io/en/stable/topics/secure-installs/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.pylock import Package

from wheelmill.client.lock.markers import distinguishing_markers
from wheelmill.client.lock.pylock import EnvironmentLock, package_of

_JOINT = " \\\n    "


def requirements_of(locks: Sequence[EnvironmentLock]) -> bytes:
    """Write a line for every package: chosen wheels by their URL, the others by their version.

    What environments differ in has a line for each of them, with a marker.

    Raises:
        UsageError: no marker tells environments apart that differ.
    """
    found: dict[str, dict[int, tuple[str, str]]] = {}
    for place, lock in enumerate(locks):
        for name, line in _lines(lock):
            found.setdefault(name, {})[place] = line
    written = []
    for name in sorted(found):
        lines = found[name]
        if len(lines) == len(locks) and len(set(lines.values())) == 1:
            written.append(_JOINT.join(part for part in lines[0] if part))
        else:
            markers = distinguishing_markers([lock.resolution.environment for lock in locks])
            for place, (requirement, hashes) in sorted(lines.items()):
                written.append(_JOINT.join([f"{requirement} ; {markers[place]}", hashes]))
    return "".join(f"{line}\n" for line in written).encode()


def _lines(lock: EnvironmentLock) -> Iterator[tuple[str, tuple[str, str]]]:
    """The name of every package, with its requirement and its hashes."""
    for choice in lock.resolution.choices.values():
        package = package_of(choice.candidate)
        yield package.name, (f"{package.name} @ {choice.candidate.url}", _hashes(package))
    for package in lock.others:
        yield package.name, (f"{package.name}=={package.version}", _hashes(package))


def _hashes(package: Package) -> str:
    hashes = {f"--hash={name}:{value}" for wheel in package.wheels or () for name, value in wheel.hashes.items()}
    return _JOINT.join(sorted(hashes))
