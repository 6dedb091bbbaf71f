"""Reading a manifest, which somebody may have changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import DecodeError, to_builtins
from msgspec.json import Decoder

from wheelmill.errors import ManifestError, ReleaseError
from wheelmill.release.manifest.listed import ListedRelease
from wheelmill.release.manifest.record import MANIFEST, Manifest
from wheelmill.release.manifest.rules import Fault, faults_of_types, shown, told, values_in
from wheelmill.system.records import record_bytes

_OLDEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CLOCKS_DIFFER: Final = timedelta(days=1)
WHEEL_FILENAME: Final = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.+!-]{0,250}\.whl\Z")
"""The characters that a wheel's name may have (PEP 427, 440): no folder, no markup, and a name that disks take."""

_decoder: Final = Decoder(ListedRelease)


def manifest_from(content: bytes, *, source: str, now: datetime, tag: str | None = None) -> ListedRelease:
    """Read the manifest of a release.

    Args:
        content: the bytes of ``manifest.json``.
        source: the path or URL that errors name.
        now: the time that nothing was published after, but for clocks that differ.
        tag: of the release that it was found in; None where that is not known.

    Raises:
        ManifestError: it is another release's, it holds what no release could, or a newer version of ours made it; with
            all faults.
        ReleaseError: it is no manifest at all.
    """
    try:
        release = _decoder.decode(content)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = ManifestError if (faults := faults_of_types(content)) else ReleaseError
        raise kind("manifest-invalid", told(source, faults or [((), f"it is no manifest: {error}")])) from None
    if wrong := [*_faults_of_content(release, tag, now), *_unseen(release, content)]:
        raise ManifestError("manifest-invalid", told(source, wrong))
    return release


def listed_of(manifest: Manifest) -> ListedRelease:
    """Read back a manifest that is about to be written, as everybody will read it.

    Raises:
        ReleaseError: nobody could read it.
    """
    source, now = f"{manifest.tag}/{MANIFEST}", manifest.published_at
    return manifest_from(record_bytes(manifest), source=source, tag=manifest.tag, now=now)


def _faults_of_content(release: ListedRelease, tag: str | None, now: datetime) -> Iterator[Fault]:
    if tag is not None and release.tag != tag:
        yield ("tag",), f"it is the manifest of {shown(release.tag)}, not of {tag}"
    time = release.published_at
    if time.utcoffset():
        yield ("published_at",), f"expected a time in UTC such as 2026-11-21T12:30:15Z, not {time.isoformat()}"
    elif not _OLDEST <= time <= now + _CLOCKS_DIFFER:
        yield ("published_at",), f"nothing was published at {time.isoformat()}"
    names: set[str] = set()
    for number, wheel in enumerate(release.wheels):
        if not WHEEL_FILENAME.fullmatch(wheel.filename):
            yield ("wheels", number, "filename"), f"expected the file name of a wheel, not {shown(wheel.filename)}"
        elif wheel.filename in names:
            yield ("wheels", number, "filename"), f"{wheel.filename} is named twice"
        names.add(wheel.filename)


def _unseen(release: ListedRelease, content: bytes) -> Iterator[Fault]:
    r"""Texts with characters that nobody sees: NUL, orders to a terminal, those that turn the direction of writing.

    A manifest of ours is plain ASCII nearly always, where only ``\u`` could write them.
    """
    if content.isascii() and not _has_escaped_characters(content) and b"\x7f" not in content:
        return
    for path, value in values_in(to_builtins(release)):
        if isinstance(value, str) and not value.replace("\n", "").replace("\t", "").isprintable():
            yield path, f"expected characters that can be seen, not {shown(value)}"


def _has_escaped_characters(content: bytes) -> bool:
    r"""Whether ``\u`` stands in JSON: one byte is found twenty times as fast as two."""
    place = content.find(b"\\")
    while place >= 0 and content[place + 1 : place + 2] != b"u":
        place = content.find(b"\\", place + 2)
    return place >= 0
