"""Inspection of a wheel by its manifest, or by METADATA and small code, without a download; and of its attestation."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.records import Candidate, Resolution, SourceKind, WantedWheel, WheelInspection
from wheelmill.errors import IntegrityError, NetworkError, UnreadableError, WheelmillError
from wheelmill.names import Architecture, TorchVersion, read_requirement
from wheelmill.system.files import sha256_of_bytes
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.archive import MAX_METADATA, open_archive
from wheelmill.wheel.attestation import ATTESTATIONS, Signer, verify_bundles
from wheelmill.wheel.label import Label

if TYPE_CHECKING:
    from wheelmill.release.manifest.record import ListedWheel
    from wheelmill.web.client import Web
    from wheelmill.web.ranges import RangeFile
    from wheelmill.wheel.shared_objects import CodeBudget, SharedObject
    from wheelmill.wheel.torch_symbols import TorchWindow


_MOST_CODE: Final = 4 << 20
"""Bytes of packed compiled code that are read before the wheel is downloaded."""
_MOST_RATIO: Final = 16
"""The compression ratio up to which compiled code is read."""
_MOST_READ: Final = 64 << 20
"""Bytes of a wheel that are read."""
_PIECE: Final = 256 << 10
"""Bytes of a request for code."""


def inspect_wheel(candidate: Candidate, web: Web) -> WheelInspection | str:
    """Inspect a wheel without a download; return the reason if that fails, such as a server without ranges."""
    try:
        return _inspect_manifest(candidate, web) or _inspect_file(candidate, web)
    except (WheelmillError, ValueError, OSError) as error:
        return f"could not be inspected: {error}"


def find_gone(candidate: Candidate, web: Web) -> WheelInspection | None:
    """Request the first byte of a wheel; return the server's answer if the wheel is gone, else None."""
    with suppress(NetworkError):
        return _gone(web.get(candidate.url, span="0-0").status)
    return None


def _gone(status: int | None) -> WheelInspection | None:
    if status not in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return None
    return WheelInspection(requires_dist=(), gone=f"{status} {HTTPStatus(status).phrase}")


def _inspect_file(candidate: Candidate, web: Web) -> WheelInspection:
    from wheelmill.web.ranges import RangeFile  # asks a server
    from wheelmill.wheel.metadata import metadata_in, read_metadata  # not for what a manifest describes
    from wheelmill.wheel.torch_symbols import window_of

    sidecar = _sidecar(candidate, web)
    size: int | None = None
    try:
        file = RangeFile(web, candidate.url, piece=_PIECE, budget=_MOST_READ)
        with open_archive(file) as archive:
            content = sidecar or metadata_in(archive)
            code = code_in(archive)
            _check_whole(file, candidate)
        size = file.size
    except (NetworkError, OSError) as error:
        if gone := _gone(error.status if isinstance(error, NetworkError) else None):
            return gone
        if sidecar is None:
            raise
        content, code = sidecar, None
    metadata = read_metadata(content)
    if canonicalize_name(metadata.name) != candidate.project:
        raise UnreadableError("metadata-of-another", f"its METADATA is of {metadata.name}")
    return replace(
        WheelInspection(requires_dist=()) if code is None else describe_code(code, window_of(code)),
        size=size,
        requires_dist=tuple(map(str, metadata.requires_dist or ())),
        requires_python=str(metadata.requires_python) if metadata.requires_python is not None else None,
    )


def _check_whole(file: RangeFile, candidate: Candidate) -> None:
    """Check the hash where the server gave the whole file; that of a part is nowhere."""
    if file.whole is not None and candidate.sha256 not in (None, sha256_of_bytes(file.whole)):
        raise NetworkError("hash-differs", f"it has not the sha256 {candidate.sha256} that its page says")


def _sidecar(candidate: Candidate, web: Web) -> bytes | None:
    """Read the METADATA beside a wheel (PEP 658); None if there is none."""
    if not candidate.has_metadata:
        return None
    answer = web.get(candidate.url + SIDECAR_SUFFIX, limit=MAX_METADATA)
    promised = candidate.metadata_sha256
    if answer.ok and promised and (actual := sha256_of_bytes(answer.content)) != promised:
        raise UnreadableError("hash-differs", f"{answer.url} has sha256 {actual}; the page says {promised}")
    return answer.content if answer.ok else None


def code_in(
    archive: zipfile.ZipFile, most: int = _MOST_CODE, budget: CodeBudget | None = None
) -> tuple[SharedObject, ...] | None:
    """Read the shared objects of a wheel on a server; None if they are too large (``most`` is in packed bytes)."""
    from wheelmill.wheel.shared_objects import read_members  # not for what the cache has

    members = [member for member in archive.infolist() if ".so" in Path(member.filename).suffixes]
    packed, unpacked = sum(each.compress_size for each in members), sum(each.file_size for each in members)
    if packed > most or unpacked > _MOST_RATIO * most:
        return None
    return read_members(archive, members, budget)


def describe_code(code: Sequence[SharedObject], window: TorchWindow | None) -> WheelInspection:
    """Describe the needs of compiled code; ``window`` are the torches that could load it, None if not of interest."""
    from wheelmill.wheel.libraries import cuda_major_of
    from wheelmill.wheel.platforms import newest  # not for what the cache has
    from wheelmill.wheel.torch_symbols import cxx11_abi_of

    glibc = newest(code, "GLIBC")
    needed = {name for shared_object in code for name in shared_object.needed}
    return WheelInspection(
        requires_dist=(),
        glibc=str(glibc) if glibc else None,
        cuda_major=cuda_major_of(sorted(needed)),
        cxx11_abi=cxx11_abi_of(code),
        sass=tuple(sorted({Architecture.of_code(each).capability for so in code for each in so.device_code.sass})),
        ptx=tuple(sorted({Architecture.of_code(each).capability for so in code for each in so.device_code.ptx})),
        torch_window=window,
        code_read=True,
    )


def _inspect_manifest(candidate: Candidate, web: Web) -> WheelInspection | None:
    """Read the record of a wheel in a manifest, if it is from an index and has a label of wheelmill's form."""
    is_labelled = Label.parse(candidate.version.local or "") is not None
    if not (is_labelled and candidate.sha256 and candidate.source.kind is SourceKind.SIMPLE):
        return None
    from wheelmill.release.manifest.record import MANIFEST
    from wheelmill.release.manifest.rules import manifest_from

    url = urljoin(candidate.url, MANIFEST)
    try:
        answer = web.get(url)
        wheels = manifest_from(answer.content, source=url, now=datetime.now(UTC)).wheels if answer.ok else ()
        return next((inside_of_entry(each) for each in wheels if each.sha256 == candidate.sha256), None)
    except (WheelmillError, ValueError):
        return None


def inside_of_entry(entry: ListedWheel) -> WheelInspection:
    """Convert an entry of a manifest into a record of the client."""
    evidence, provenance = entry.certificate.evidence, entry.certificate.provenance
    for fit in evidence.torch_window.torches if evidence.torch_window else ():
        TorchVersion.parse(fit.torch)  # refuses what is none
    if provenance and provenance.driver:
        Version(provenance.driver)  # refuses another form than NVIDIA's: 580.65.06
    return WheelInspection(
        requires_dist=tuple(str(read_requirement(text)) for text in entry.requires_dist),
        requires_python=entry.requires_python,
        glibc=str(Version(evidence.glibc)) if evidence.glibc else None,
        cuda_major=evidence.cuda_major,
        sass=tuple(Architecture.of_code(each).capability for each in evidence.sass),
        ptx=tuple(Architecture.of_code(each).capability for each in evidence.ptx),
        torch_window=evidence.torch_window,
        driver=provenance.driver if provenance else None,
        code_read=True,
    )


def check_attested(resolutions: Iterable[Resolution], signer: Signer) -> None:
    """Verify the attestation of every chosen wheel from a server, or raise IntegrityError."""
    from wheelmill.web.budget import TIMEOUT_S
    from wheelmill.web.client import ATTENDED, Web  # httpx takes longer to import than most commands

    chosen = {choice.candidate.url: choice.candidate for each in resolutions for choice in each.choices.values()}
    served = [candidate for url, candidate in chosen.items() if urlsplit(url).scheme != "file"]
    with Web(retries=ATTENDED, seconds=TIMEOUT_S) as web:
        files = verify_bundles(read_bundles(served, web), signer).files
    faults = [
        f"{candidate.filename} is not attested by {signer} in {_attestations_beside(candidate)}"
        for candidate in served
        if any(subject not in files for subject in _subjects_of(candidate))
    ]
    if faults:
        raise IntegrityError(
            "not-attested", "\n".join(faults), hint="leave out --require-attestation, or take wheels of that repository"
        )


def read_bundles(wheels: Iterable[WantedWheel], web: Web) -> list[bytes]:
    """Read the files with attestations beside wheels, where there are any; raises NetworkError without an answer."""
    answers = [web.get(url) for url in sorted({*map(_attestations_beside, wheels)})]
    return [answer.content for answer in answers if answer.ok]


def _attestations_beside(wheel: WantedWheel) -> str:
    return urljoin(wheel.url, ATTESTATIONS)


def _subjects_of(candidate: Candidate) -> Iterable[tuple[str, str | None]]:
    """List the files that need an attestation: the wheel, and its sidecar if the index names one (PEP 658)."""
    yield candidate.filename, candidate.sha256
    if candidate.metadata_sha256:
        yield candidate.filename + SIDECAR_SUFFIX, candidate.metadata_sha256
