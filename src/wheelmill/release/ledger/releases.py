"""Published releases: the ledger, checked against the tags that exist. Releases are the truth.

A release that cannot be read is reported and skipped: it may be made by hand, or incomplete. Small files of many
releases are read in parallel; those with a known hash are cached on this machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, Protocol

from platformdirs import user_cache_path

from wheelmill.errors import ManifestError, NetworkError, ReleaseError, WheelmillError
from wheelmill.names import PythonVersion, ReleaseTag, Sha256
from wheelmill.release.ledger.ledger import Ledger
from wheelmill.release.ledger.records import LedgerRelease, LedgerState, ReleasedWheel, is_date_tag
from wheelmill.release.manifest.record import MANIFEST, ListedRelease, ListedWheel
from wheelmill.release.manifest.rules import manifest_from
from wheelmill.system.files import atomic_write, sha256_of, sha256_of_bytes
from wheelmill.system.progress import Clock, Warn
from wheelmill.web.concurrency import in_turn
from wheelmill.web.pages import SIDECAR_SUFFIX

Refuse = Callable[[ReleaseTag, str], None]
"""Receives a release with an invalid manifest, and its faults."""
WantedFiles = Mapping[ReleaseTag, Sha256 | None]
"""Releases whose file of one name is wanted, with its hash if known: a cached file is not read again."""
ReadFiles = Iterator[tuple[ReleaseTag, bytes | WheelmillError]]
"""The bytes of that file in each release, or the error that prevented fetching it."""

_NO_MANIFEST: Final = (
    "its wheels are not known here. A release that was made by hand needs a tag of another form; one that is half-made"
    " can be removed (gh release delete TAG --cleanup-tag)"
)
_GONE: Final = (
    "its wheels count as published until 'wheelmill release ledger --rebuild' is run, and the index wants the reason in"
    " removed.yml"
)


class Releases(Protocol):
    """Place where releases can be read."""

    @property
    def clock(self) -> Clock:
        """Clock by which claims expire and releases from the future are refused."""

    @property
    def ledger(self) -> Ledger:
        """Published releases, failed builds and work in progress."""

    def tags(self) -> frozenset[ReleaseTag] | None:
        """Return the existing date tags, also of unpublished releases, and tags that could be mistaken for one.

        None if the caller named the ledger by its revision, as it has compared the tags.
        """

    def is_published(self, tag: ReleaseTag) -> bool:
        """True if a tag has a published release."""

    def assets(self) -> Mapping[ReleaseTag, Container[str]]:
        """Return the file names of every release, as the place lists them."""

    @property
    def lists_at_once(self) -> bool:
        """True if listing files is cheap; if not, the check at publication is trusted."""

    def read_each(self, wanted: WantedFiles, filename: str) -> ReadFiles:
        """Read a small file of many releases, several at a time."""


def line_of(manifest: ListedRelease, sha256: Sha256) -> LedgerRelease:
    """Summarise a release for the ledger; `sha256` is the hash of its manifest's bytes."""
    return LedgerRelease(
        tag=manifest.tag,
        manifest=sha256,
        published_at=manifest.published_at,
        wheels=tuple(map(_wheel_of, manifest.wheels)),
    )


def _wheel_of(entry: ListedWheel) -> ReleasedWheel:
    wheel = ReleasedWheel(filename=entry.filename, sha256=entry.sha256, size=entry.size)
    provenance = entry.certificate.provenance
    if provenance is None:
        return wheel
    return replace(
        wheel,
        cell=provenance.cell,
        pythons=tuple(map(PythonVersion.parse, provenance.pythons)),
        requires=provenance.expectations.requires,
        seconds=provenance.seconds,
    )


def with_releases(state: LedgerState, releases: Mapping[ReleaseTag, LedgerRelease]) -> LedgerState:
    """Add releases to a ledger."""
    return replace(state, releases={**state.releases, **releases})


def published(store: Releases, warn: Warn) -> LedgerState:
    """Read the ledger, and add published releases that it lacks.

    `warn` receives releases without a readable manifest, which are skipped; and deleted ones, which are not: the names
    of their wheels stay taken. Raises as `Ledger.read` does, and NetworkError if tags or a manifest cannot be read now.
    """
    state = store.ledger.read()
    unknown = dict(_unknown(store, _new_tags(store, state.releases, warn), warn))
    return with_releases(state, unknown) if unknown else state


def rebuild(store: Releases, warn: Warn) -> LedgerState:
    """Rebuild the ledger's releases from the existing tags and manifests; keep the rest of the ledger.

    `warn` receives releases without a readable manifest, which are skipped; and files that a release lacks. Raises as
    `published` and `Ledger.change` do.
    """
    read = dict(_unknown(store, _new_tags(store, (), warn), warn))
    for tag, lacking in absent_files(store, read).items():
        warn(f"{tag} has no {', '.join(lacking)}: an index that lists it cannot be installed from; see removed.yml")
    return store.ledger.change("made again from the releases", lambda state: replace(state, releases=read), repair=True)


def absent_files(
    store: Releases, releases: Mapping[ReleaseTag, LedgerRelease | ListedRelease]
) -> dict[ReleaseTag, tuple[str, ...]]:
    """Return the wheels and sidecars that a release should have and lacks, by its tag."""
    listed = store.assets()
    absent = {
        tag: tuple(
            name
            for wheel in release.wheels
            for name in (wheel.filename, wheel.filename + SIDECAR_SUFFIX)
            if name not in listed.get(tag, ())
        )
        for tag, release in releases.items()
    }
    return {tag: names for tag, names in absent.items() if names}


def every_manifest(
    store: Releases, known: Mapping[ReleaseTag, Sha256], warn: Warn, refuse: Refuse | None = None
) -> Iterator[ListedRelease]:
    """Read the manifests of all releases, ending with those that the ledger, which has the `known` hashes, lacks.

    `warn` receives releases without a manifest, which are skipped; and changed ones, which are not: a manifest is
    trusted no more than its attestation. `refuse`, or else `warn`, receives releases with an invalid manifest, which
    are skipped. Raises NetworkError if the tags or a manifest cannot be read now.
    """
    refuse = refuse or (lambda _tag, faults: warn(faults))
    new = _new_tags(store, known, warn)
    for tag, content in store.read_each(known, MANIFEST):
        try:
            manifest, sha256 = _manifest_in(store, tag, content)
        except ManifestError as error:
            refuse(tag, str(error))
            continue
        except ReleaseError as error:
            warn(str(error))
            continue
        if sha256 != known[tag]:
            warn(f"{MANIFEST} of {tag} changed since it was published: it has sha256 {sha256}, not {known[tag]}")
        yield manifest
    yield from (manifest for manifest, _ in _read(store, new, warn, refuse))


HashedRelease = tuple[ListedRelease, Sha256]
"""A release with the hash of its manifest's bytes."""


def _new_tags(store: Releases, known: Collection[ReleaseTag], warn: Warn) -> frozenset[ReleaseTag]:
    tags = store.tags()
    if tags is None:
        return frozenset()
    for tag in sorted({*known} - tags):
        warn(f"{tag} is in the ledger and no longer there; {_GONE}")
    undated = {tag for tag in tags if not is_date_tag(tag)}
    for tag in sorted(undated):
        warn(f"{tag} is not a date tag such as v2026-11-21 or v2026-11-21.2: its wheels are neither known nor listed")
    return tags.difference(known, undated)


def _unknown(store: Releases, tags: Iterable[ReleaseTag], warn: Warn) -> Iterator[tuple[ReleaseTag, LedgerRelease]]:
    def refuse(_tag: ReleaseTag, faults: str) -> None:
        warn(f"{faults}; its wheels are not known here")

    return ((manifest.tag, line_of(manifest, sha256)) for manifest, sha256 in _read(store, tags, warn, refuse))


def _read(store: Releases, tags: Iterable[ReleaseTag], warn: Warn, refuse: Refuse) -> Iterator[HashedRelease]:
    """Read releases by their tags; skip unreadable ones that are not published yet."""
    for tag, content in store.read_each(dict.fromkeys(sorted(tags)), MANIFEST):
        try:
            yield _manifest_in(store, tag, content)
        except ReleaseError as error:
            if not store.is_published(tag):
                continue
            if isinstance(error, ManifestError):
                refuse(tag, str(error))
            else:
                warn(f"{error}; {_NO_MANIFEST.replace('TAG', tag)}")


def _manifest_in(store: Releases, tag: ReleaseTag, content: bytes | WheelmillError) -> HashedRelease:
    """Read the answer to a request for a manifest."""
    if isinstance(content, bytes):
        manifest = manifest_from(content, tag=tag, source=f"{tag}/{MANIFEST}", now=store.clock.utc())
        return manifest, sha256_of_bytes(content)
    if isinstance(content, NetworkError) and content.status == HTTPStatus.NOT_FOUND:
        raise ReleaseError("manifest-absent", f"{tag} has no {MANIFEST}")
    raise content


_AT_ONCE: Final = 8


def cached_read(wanted: WantedFiles, download: Callable[[ReleaseTag, IO[bytes]], Sha256]) -> ReadFiles:
    """Read a small file of many releases, and cache it if its hash is known; see `Releases.read_each`.

    `download` writes the file of a release and returns its hash; threads call it. Until its turn a file is on the disk:
    with eight in memory, an index from GitHub took 1.8 times the memory of one from a folder.
    """
    fetched = in_turn(lambda tag: _fetch(wanted[tag], partial(download, tag)), wanted, at_once=_AT_ONCE)
    for tag, file in zip(wanted, fetched, strict=True):
        if isinstance(file, WheelmillError):
            yield tag, file
        else:
            with file:
                content = file.read()
            yield tag, content


def _fetch(sha256: Sha256 | None, download: Callable[[IO[bytes]], Sha256]) -> IO[bytes] | WheelmillError:
    """Open the cached file with a hash, else a downloaded one, which is cached if it has that hash."""
    path = user_cache_path("wheelmill") / "manifests" / sha256 if sha256 else None
    with suppress(OSError):
        if path and sha256_of(path) == sha256:
            return path.open("rb")
    with ExitStack() as opened:
        file = opened.enter_context(TemporaryFile())
        try:
            is_known = download(file) == sha256
        except (NetworkError, ReleaseError) as error:
            return error
        if path and is_known:
            with suppress(OSError):  # a full disk only costs the cache
                _keep(file, path)
        file.seek(0)
        opened.pop_all()
        return file


def _keep(file: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file.seek(0)
    with atomic_write(path) as kept:
        shutil.copyfileobj(file, kept)
