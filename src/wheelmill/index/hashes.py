"""Names and hashes of the wheels of an index: a file for each release, and one with the hashes of these files.

So the next build sees with a few kilobytes that it keeps what this one promised; ``wheels.json`` has a kilobyte for
every wheel. A release has at most 240 wheels, which never change: its file is read only where its manifest has others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, Protocol

from pydantic_core import to_json

from wheelmill.index.tree import IndexFile, Site
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.system.files import sha256_of_bytes

HASHES: Final = "hashes/index.json"
"""The list of releases, each with the hash of its file."""
HASHES_SCHEMA: Final = "wheelmill.hashes/1"


def pages_of_hashes(site: Site) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Write the wheels that a site lists, by release."""
    releases: dict[ReleaseTag, list[IndexFile]] = defaultdict(list)
    for file in chain.from_iterable(site.files.values()):
        if file.release:
            releases[file.release].append(file)
    listed: dict[ReleaseTag, Sha256] = {}
    for tag, files in sorted(releases.items()):
        content = hashes_in_lines(files)
        listed[tag] = sha256_of_bytes(content)
        yield path_of(tag), [content]
    yield HASHES, [to_json({"schema": HASHES_SCHEMA, "releases": listed}), b"\n"]


def path_of(release: ReleaseTag) -> str:
    """Where the file of a release is."""
    return f"hashes/{release}.sha256"


class Hashed(Protocol):
    """A wheel with its hash."""

    @property
    def filename(self) -> str:
        """Its file name."""

    @property
    def sha256(self) -> Sha256:
        """Of its bytes."""


def hashes_in_lines(wheels: Iterable[Hashed]) -> bytes:
    """Write hashes as sha256sum does, sorted by themselves."""
    return "".join(sorted([f"{wheel.sha256}  {wheel.filename}\n" for wheel in wheels])).encode()


def hashes_from_lines(content: bytes) -> dict[str, Sha256]:
    """Read what `hashes_in_lines` wrote, by file name.

    Raises:
        ValueError: it is something else.
    """
    lines = [line.partition("  ") for line in content.decode().splitlines()]
    if "".join(sorted(f"{sha256}  {name}\n" for sha256, _, name in lines)).encode() != content:
        raise ValueError("expected lines of hashes and names, sorted")
    return {name: Sha256(sha256) for sha256, _, name in lines}
