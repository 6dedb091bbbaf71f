"""The files of a ledger: one for each release, and one each for failures, for what goes on and for downloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import DecodeError, Meta, Struct
from msgspec.json import decode

from wheelmill.errors import IntegrityError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.records import Downloads, Failures, LedgerRelease, LedgerState, Work
from wheelmill.system.records import record_bytes, record_from

_RELEASES: Final = "releases/"
_FAILURES: Final = "failures.json"
_WORK: Final = "work.json"
_DOWNLOADS: Final = "downloads.json"
_ABOUT: Final = {
    "README.md": b"""\
The ledger of a factory of wheels: what is published, which builds failed, and what goes on.
`wheelmill release ledger` shows it, and makes it again from the releases with `--rebuild`. Nobody has to edit it.
"""
}


def state_of(files: Mapping[str, bytes]) -> LedgerState:
    """Read the files of a ledger; others beside them are of a later version of ours.

    Raises:
        IntegrityError: one does not hold what it should.
    """
    found = (
        record_from(content, LedgerRelease, source=path)
        for path, content in sorted(files.items())
        if path.startswith(_RELEASES)
    )
    failures, work, downloads = (files.get(path) for path in (_FAILURES, _WORK, _DOWNLOADS))
    return LedgerState(
        releases={release.tag: release for release in found},
        failures=record_from(failures, Failures, source=_FAILURES).by_inputs if failures else {},
        work=record_from(work, Work, source=_WORK) if work else Work(),
        downloads=record_from(downloads, Downloads, source=_DOWNLOADS).counts if downloads else (),
    )


class _Named(Struct):
    """The part of a release's file that the index needs."""

    tag: ReleaseTag
    manifest: Annotated[Sha256, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    """A manifest is kept in a file of this name, which must not lead elsewhere."""


def manifests_in(files: Mapping[str, bytes]) -> dict[ReleaseTag, Sha256]:
    """Read the hash of the manifest of every release, and nothing of its wheels.

    Raises:
        IntegrityError: a file does not hold what it should.
    """
    found: dict[ReleaseTag, Sha256] = {}
    for path, content in sorted(files.items()):
        if path.startswith(_RELEASES):
            try:
                named = decode(content, type=_Named)
            except DecodeError as error:
                raise IntegrityError("record-invalid", f"{path} is not a {LedgerRelease.__name__}: {error}") from None
            found[named.tag] = named.manifest
    return found


def files_of(state: LedgerState, files: Mapping[str, bytes], before: LedgerState) -> dict[str, bytes]:
    """Write the files of a ledger.

    Args:
        state: what they are to say.
        files: those of an earlier state; a release that is the same keeps its file.
        before: the state that these files hold.
    """
    releases = {
        path: files[path] if before.releases.get(tag) is release else record_bytes(release, indent=None)
        for tag, release in state.releases.items()
        for path in [_path_of(tag)]
    }
    others = {_FAILURES: record_bytes(Failures(by_inputs=state.failures)), _WORK: record_bytes(state.work)}
    if state.downloads:
        others[_DOWNLOADS] = record_bytes(Downloads(counts=state.downloads), indent=None)
    return {**_ABOUT, **releases, **others}


def _path_of(tag: ReleaseTag) -> str:
    return f"{_RELEASES}{tag}.json"
