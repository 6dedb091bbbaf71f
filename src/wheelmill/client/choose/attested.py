"""Whether the chosen wheels are attested by a repository that the user trusts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urljoin, urlsplit

from wheelmill.client.records import Candidate, Resolution
from wheelmill.errors import IntegrityError, NetworkError
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.attestation import ATTESTATIONS, WHEELS_WORKFLOW, Signer, verify_bundles


def check_attested(resolutions: Iterable[Resolution], signer: Signer) -> None:
    """Verify the attestation of every chosen wheel, from the file that lies beside it and is read once.

    Wheels that were built on this machine need none.

    Args:
        resolutions: the wheels that were chosen.
        signer: who must have attested them.

    Raises:
        IntegrityError: names the wheels that it does not attest.
        UsageError: this machine lacks what verifying takes.
    """
    from wheelmill.web.client import ATTENDED, Web  # noqa: PLC0415 - httpx takes longer to import than most commands

    faults = []
    with Web(retries=ATTENDED) as web:
        for url, candidates in _by_attestations(resolutions).items():
            try:
                bundles = web.read(url)
            except NetworkError as error:
                faults.append(str(error))
                bundles = b""
            files = verify_bundles([bundles], signer, WHEELS_WORKFLOW).files
            faults += [
                f"{candidate.filename} is not attested by {signer}"
                for candidate in candidates
                if any(subject not in files for subject in _subjects_of(candidate))
            ]
    if faults:
        raise IntegrityError(
            "not-attested", "\n".join(faults), hint="leave out --require-attestation, or take wheels of that repository"
        )


def _by_attestations(resolutions: Iterable[Resolution]) -> Mapping[str, Collection[Candidate]]:
    """The chosen wheels that come from a server, by the URL of the attestations beside them."""
    found: dict[str, dict[str, Candidate]] = {}
    for candidate in (choice.candidate for resolution in resolutions for choice in resolution.choices.values()):
        if urlsplit(candidate.url).scheme != "file":
            found.setdefault(urljoin(candidate.url, ATTESTATIONS), {})[candidate.url] = candidate
    return {url: candidates.values() for url, candidates in found.items()}


def _subjects_of(candidate: Candidate) -> Iterable[tuple[str, str | None]]:
    """What must be attested of a wheel: its bytes, and its sidecar if the index names one (PEP 658)."""
    yield candidate.filename, candidate.sha256
    if candidate.metadata_sha256:
        yield candidate.filename + SIDECAR_SUFFIX, candidate.metadata_sha256
