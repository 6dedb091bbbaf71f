"""Downloads from GitHub: published files as any user gets them, and artifacts of a run's jobs.

Published files are downloaded without a token and outside the API, so they do not count towards its limits. Each
release is checked in this way once it is published: an index must not name a file that cannot be downloaded. Artifacts
are read one at a time: all together may be larger than a disk.

https://docs.github.com/en/rest/actions/artifacts
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Final

from github.Artifact import Artifact
from github.PaginatedList import PaginatedList

from wheelmill.errors import IntegrityError, NetworkError, ReleaseError, UnreadableError
from wheelmill.release.github.api import LIMITED, Calls, Pace, Repository
from wheelmill.release.manifest.record import Manifest, ManifestEntry
from wheelmill.smoke.verdict import GPU_SUFFIX, SUFFIX
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import QUIET, Clock
from wheelmill.web.client import Web
from wheelmill.web.credentials import no_credentials
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.web.transport import FAILED, PATIENT, Retries
from wheelmill.wheel.archive import open_archive, open_member
from wheelmill.wheel.name import WHEEL_SUFFIX


def without_token(clock: Clock) -> Web:
    """Make a client that gets what any user gets."""
    return Web(credentials=no_credentials, retries=Retries(clock.sleep))


def probe(repository: Repository, clock: Clock, manifest: Manifest, *, unhashed: frozenset[str]) -> None:
    """Check that every wheel and sidecar of a release can be downloaded without a token.

    Sidecars are read and compared. Of a wheel only the size is requested: its hash was already compared with GitHub's
    own digest. A wheel in `unhashed`, for which GitHub gave no digest, is read whole.
    """
    pending = manifest.wheels
    faults: list[str] = []
    with without_token(clock) as web:
        for pause in (0.0, *PATIENT):
            clock.sleep(pause)
            urls = [repository.download(manifest.tag, entry.filename) for entry in pending]
            checked = [(entry, _fault(web, url, entry, unhashed)) for entry, url in zip(pending, urls, strict=True)]
            pending = tuple(entry for entry, fault in checked if fault)
            faults = [fault for _, fault in checked if fault]
            if not faults:
                return
    message = "\n".join((f"{manifest.tag} is published, but not to the public:", *faults))
    raise ReleaseError("not-public", message, hint="is the repository public?")


def _fault(web: Web, url: str, entry: ManifestEntry, unhashed: frozenset[str]) -> str | None:
    try:
        metadata = sha256_of_bytes(web.read(url + SIDECAR_SUFFIX))
        if metadata != entry.metadata_sha256:
            return f"{entry.filename}{SIDECAR_SUFFIX} has sha256 {metadata} instead of {entry.metadata_sha256}"
        answer = web.get(url, span="0-0")  # one byte, and the size that the server reports
        if not answer.ok:
            return f"{url}: {answer.outcome}"
        if answer.size != entry.size:
            return f"{entry.filename} has {answer.size} bytes instead of {entry.size}"
        if entry.filename in unhashed:
            with Path(os.devnull).open("wb") as nowhere:
                sha256 = web.download(url, nowhere).sha256
            if sha256 != entry.sha256:
                return f"{entry.filename} has sha256 {sha256} instead of {entry.sha256}"
    except NetworkError as error:
        return str(error)
    return None


MAX_ARTIFACT: Final = 5_000_000_000
"""Bytes, packed and unpacked: both are on disk for a moment, and a job has 14 GB."""
_FILES: Final = {"wheels": (WHEEL_SUFFIX, SUFFIX), "attestation": (".jsonl",), "gpu": (GPU_SUFFIX,)}
"""Suffixes of the files that a job delivers, by the first word of its artifact's name."""


class JobArtifacts:
    """Artifacts of the jobs of runs, with names such as ``wheels-0-GROUP-1``: shard, group and attempt.

    The token of the repository goes to its API only. Raises NetworkError if GitHub does not answer, and RejectedError
    if there is no such run, or if the token must not see it.
    """

    def __init__(self, repository: Repository, runs: Sequence[str], clock: Clock) -> None:
        self._repository, self._clock = repository, clock
        with Calls(repository, Pace(clock), QUIET) as calls:
            newest = {name: number for run in runs for number, name in sorted(_list(calls, run))}
        self._names = {number: name for name, number in newest.items()}

    def of_group(self, group: str) -> tuple[int, ...]:
        """Return the numbers of all artifacts from the jobs of a group of the plan; the newest of each name."""
        return tuple(number for number, name in self._names.items() if _group_of(name) == group)

    def unpack(self, artifact: int, folder: Path) -> None:
        """Download an artifact and unpack what its kind of job delivers; any job of the run may have made it.

        Raises NetworkError or RejectedError if it cannot be fetched, and UnreadableError if it is not an archive of
        files, or too large for an artifact or for this disk.
        """
        try:
            with TemporaryFile(dir=folder) as packed:
                self._download(artifact, packed)
                _unpack(packed, folder, _FILES[self._names[artifact].partition("-")[0]])
        except (IntegrityError, OSError) as error:
            raise UnreadableError("artifact-unreadable", str(error)) from None

    def _download(self, artifact: int, file: IO[bytes]) -> None:
        place = f"/actions/artifacts/{artifact}"
        url = f"{self._repository.api_url.rstrip('/')}/repos/{self._repository.full_name}{place}/zip"
        credential = f"token {self._repository.token}" if self._repository.token else None
        with Web(credentials=lambda _url: credential, retries=Retries(self._clock.sleep, statuses=FAILED)) as web:
            try:
                web.download(url, file, promised=MAX_ARTIFACT)
            except NetworkError as error:
                if error.status not in LIMITED:
                    raise
                with Calls(self._repository, Pace(self._clock), QUIET) as calls:
                    calls.answer(f"asking for artifact {artifact}", place)  # waits as long as GitHub requires
                web.download(url, file, promised=MAX_ARTIFACT)


def _list(calls: Calls, run: str) -> list[tuple[int, str]]:
    """Return the numbers and names of the artifacts of a run that have not expired."""
    url = f"{calls.repository.url}/actions/runs/{run}/artifacts"
    return calls.read(
        f"listing the artifacts of run {run}",
        lambda: [
            (artifact.id, artifact.name)
            for artifact in PaginatedList(Artifact, calls.repository.requester, url, None, list_item="artifacts")
            if not artifact.expired
        ],
    )


def _group_of(name: str) -> str | None:
    """Return the group whose job made the artifact of this name; None for other artifacts."""
    kind, _, rest = name.partition("-")
    shard, _, rest = rest.partition("-")
    group, _, attempt = rest.rpartition("-")
    is_ours = kind in _FILES and (shard.isdecimal() or not shard) and attempt.isdecimal()
    return group if is_ours else None


def _unpack(packed: IO[bytes], folder: Path, suffixes: tuple[str, ...]) -> None:
    """Unpack the files with one of the suffixes at the top of an archive."""
    left = MAX_ARTIFACT
    with open_archive(packed) as archive:
        for member in archive.infolist():
            name = PurePosixPath(member.filename).name
            if name != member.filename or not name.endswith(suffixes):
                continue
            left -= member.file_size
            if left < 0:
                raise UnreadableError("artifact-too-large", f"more than {MAX_ARTIFACT} bytes when unpacked")
            with open_member(archive, member) as content, (folder / name).open("xb") as copy:
                shutil.copyfileobj(content, copy)
