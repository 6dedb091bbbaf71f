"""The artifacts of a run's jobs, read one at a time: all together may be larger than a disk.

https://docs.github.com/en/rest/actions/artifacts
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Final

from github.Artifact import Artifact
from github.PaginatedList import PaginatedList

from wheelmill.errors import IntegrityError, NetworkError, UnreadableError
from wheelmill.release.github.calls import LIMITED, Calls, Pace
from wheelmill.release.github.connection import Repository
from wheelmill.system.progress import QUIET, Clock
from wheelmill.web.client import Web
from wheelmill.web.transport import FAILED, Retries
from wheelmill.wheel.archive import open_archive, open_member

MAX_ARTIFACT: Final = 5_000_000_000
"""Bytes, packed and unpacked: both are on disk for a moment, and a job has 14 GB."""
_KINDS: Final = ("wheels", "attestation", "gpu")
"""The first words of the names of artifacts that a release reads."""
_SUFFIXES: Final = (".whl", ".json", ".jsonl")
"""The ending of their files' names."""


class JobArtifacts:
    """What the jobs of runs kept under names such as ``wheels-0-GROUP-1``: shard, group and attempt.

    Args:
        repository: whose runs they are; its token goes to its API only.
        runs: the numbers that GitHub gave the runs.
        clock: waits between tries.

    Raises:
        NetworkError: GitHub does not answer.
        RejectedError: there is no such run, or the token must not see it.
    """

    def __init__(self, repository: Repository, runs: Sequence[str], clock: Clock) -> None:
        self._repository, self._clock = repository, clock
        with Calls(repository, Pace(clock), QUIET) as calls:
            self._found = {name: number for run in runs for number, name in sorted(_list(calls, run))}

    def of_group(self, group: str) -> tuple[int, ...]:
        """The numbers of all that the jobs of a group of the plan kept; of one name the newest."""
        return tuple(number for name, number in self._found.items() if _group_of(name) == group)

    def unpack(self, artifact: int, folder: Path) -> None:
        """Download an artifact and unpack it into a folder; anybody in the run may have made it.

        Raises:
            NetworkError, RejectedError: it cannot be fetched.
            UnreadableError: it is no archive of files, or too large for an artifact or for this disk.
        """
        try:
            with TemporaryFile(dir=folder) as packed:
                self._download(artifact, packed)
                _unpack(packed, folder)
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
                    calls.answer(f"asking for artifact {artifact}", place)  # which waits as long as GitHub wants
                web.download(url, file, promised=MAX_ARTIFACT)


def _list(calls: Calls, run: str) -> list[tuple[int, str]]:
    """The numbers and names of the artifacts of a run that can still be had."""
    url = f"{calls.repository.url}/actions/runs/{run}/artifacts"
    return calls.read(
        f"listing the artifacts of run {run}",
        lambda: [
            (found.id, found.name)
            for found in PaginatedList(Artifact, calls.repository.requester, url, None, list_item="artifacts")
            if not found.expired
        ],
    )


def _group_of(name: str) -> str | None:
    """The group whose job kept an artifact under this name; None for other artifacts."""
    kind, _, rest = name.partition("-")
    shard, _, rest = rest.partition("-")
    group, _, attempt = rest.rpartition("-")
    is_ours = kind in _KINDS and (shard.isdecimal() or not shard) and attempt.isdecimal()
    return group if is_ours else None


def _unpack(packed: IO[bytes], folder: Path) -> None:
    """Unpack the files of an archive that lie in no folder of it."""
    left = MAX_ARTIFACT
    with open_archive(packed) as archive:
        for member in archive.infolist():
            name = PurePosixPath(member.filename).name
            if name != member.filename or not name.endswith(_SUFFIXES):
                continue
            left -= member.file_size
            if left < 0:
                raise UnreadableError("artifact-too-large", f"more than {MAX_ARTIFACT} bytes when unpacked")
            with open_member(archive, member) as content, (folder / name).open("xb") as copy:
                shutil.copyfileobj(content, copy)
