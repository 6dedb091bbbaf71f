"""Attestations: signed statements of a file's origin, which write access to a release is not enough to forge.

A bundle (https://docs.sigstore.dev/about/bundle/) holds a statement with names and hashes of files, its signature and
the certificate of the signer. Sigstore issues a certificate for ten minutes to a permitted GitHub job, and writes the
job's workflow, repository and branch into it. Bundles are kept as lines of JSON, as ``gh attestation download`` writes
and ``gh attestation verify --bundle`` reads them.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from wheelmill.errors import NetworkError, UsageError
from wheelmill.names import Sha256
from wheelmill.system.own_installation import own_origin

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from sigstore.verify import Verifier
    from sigstore.verify.policy import VerificationPolicy

ATTESTATIONS: Final = "attestations.jsonl"
"""The file beside the wheels of a release with their bundles, one per line."""

WHEELS_WORKFLOW: Final = ".github/workflows/wheels-group.yml"
"""The workflow that builds the wheels of one group and attests them."""

TRUSTED_ROOT: Final = "WHEELMILL_TRUSTED_ROOT"
"""Names the file with the keys of another Sigstore than the public one: ``gh attestation trusted-root`` prints it."""

Publisher: TypeAlias = Mapping[str, Any]
"""As a simple index and a lock write it (PEP 740, PEP 751), and its signer."""

MAX_BUNDLE: Final = 1 << 20
"""Bytes; a bundle of GitHub's for 32 wheels has 14,000."""

_SERVER: Final = "https://github.com"
_ISSUER: Final = "https://token.actions.githubusercontent.com"
_FULCIO: Final = "1.3.6.1.4.1.57264.1"
"""The authority's own extensions."""
_RELEASED: Final = r"refs/tags/(v|wheelmill-)[0-9]+(\.[0-9]+){0,2}"
"""Tags of wheelmill's releases. Other refs may be commits of a fork, which GitHub has under the parent's name, too."""
_COMMIT: Final = re.compile("[0-9a-f]{40}")
_STATEMENT: Final = "application/vnd.in-toto+json"


@dataclass(frozen=True)
class Signer:
    """Repository on GitHub, and its trusted runs."""

    repository: str
    """``OWNER/REPO``."""
    branch: str = "main"
    """Its runs on this branch count, where the workflows are its own."""
    workflows: str | None = None
    """The repository whose workflows it calls, in a release; then, its runs on tags count."""
    commits: tuple[str, ...] = ()
    """Commits of the called workflows that count beside their releases."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``OWNER/REPO[@BRANCH]``, or ``OWNER/REPO:OWNER/REPO[@COMMIT,...]``, the second with called workflows.

        Raises ValueError for anything else.
        """
        repository, at, ref = text.partition("@")
        repository, calls, workflows = repository.partition(":")
        commits = tuple(ref.split(",")) if at and calls else ()
        ok = bool(ref) == bool(at) and _is_repository(workflows) == bool(calls) and all(map(_COMMIT.fullmatch, commits))
        if not ok or not _is_repository(repository):
            raise ValueError(f"expected OWNER/REPO[@BRANCH] or OWNER/REPO:OWNER/REPO[@COMMIT,...], not {text!r:.200}")
        return cls(repository, "main" if calls else ref or "main", workflows or None, commits)

    def policy(self) -> VerificationPolicy:
        """Required values in a certificate (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md)."""
        from sigstore.verify import policy  # takes a second, and is optional

        repository, ref = f"{_SERVER}/{self.repository}", f"refs/heads/{self.branch}"
        signed: list[VerificationPolicy] = [
            policy.OIDCBuildSignerURI(f"{repository}/{WHEELS_WORKFLOW}@{ref}"),
            policy.OIDCSourceRepositoryRef(ref),
        ]
        if self.workflows:
            called = re.escape(f"{_SERVER}/{self.workflows}/{WHEELS_WORKFLOW}@")
            named = [policy.AllOf([_Matching(9, f"{called}.+"), policy.OIDCBuildSignerDigest(c)]) for c in self.commits]
            signed = [policy.AnyOf([_Matching(9, called + _RELEASED), *named]), _Matching(14, "refs/tags/.+")]
        others = policy.OIDCSourceRepositoryURI(repository), policy.OIDCRunnerEnvironment("github-hosted")
        return policy.AllOf([policy.OIDCIssuerV2(_ISSUER), *signed, *others])

    def __str__(self) -> str:
        """Form that `parse` reads."""
        called = "@".join(filter(None, (self.workflows, ",".join(self.commits))))
        return f"{self.repository}:{called}" if called else f"{self.repository}@{self.branch}"


def _is_repository(text: str) -> bool:
    return text.count("/") == 1 and all(text.split("/"))


@dataclass(frozen=True)
class _Matching:
    """Policy on the form of a value in a certificate; the library's own policies compare it."""

    number: int
    """Number of the extension below Fulcio's."""
    pattern: str

    def verify(self, cert: Certificate) -> None:
        """Check a certificate; raises VerificationError, as the policies of sigstore do."""
        from sigstore.errors import VerificationError

        if not re.fullmatch(self.pattern, value := _claim(cert, self.number)):
            raise VerificationError(f"the certificate has {value}, not {self.pattern}")


def _claim(cert: Certificate, number: int) -> str:
    """Read one of the authority's own extensions; raises VerificationError if the certificate lacks it."""
    from cryptography.hazmat import asn1
    from cryptography.x509 import ExtensionNotFound, ObjectIdentifier
    from sigstore.errors import VerificationError

    try:
        extension = cert.extensions.get_extension_for_oid(ObjectIdentifier(f"{_FULCIO}.{number}"))
    except ExtensionNotFound:
        raise VerificationError(f"the certificate lacks {_FULCIO}.{number}") from None
    return asn1.decode_der(str, extension.value.public_bytes())


@dataclass
class _AnySigner:
    """Policy that admits `WHEELS_WORKFLOW` for any signer, and keeps the publisher."""

    publisher: Publisher = field(default_factory=dict)

    def verify(self, cert: Certificate) -> None:
        """Check a certificate by the policy of the signer that it names."""
        repository, (called, _, ref) = _claim(cert, 12).removeprefix(f"{_SERVER}/"), _claim(cert, 9).partition("@")
        workflows = called.removeprefix(f"{_SERVER}/").removesuffix(f"/{WHEELS_WORKFLOW}")
        signer = Signer(repository, _claim(cert, 14).removeprefix("refs/heads/"))
        if workflows != repository:
            commits = () if re.fullmatch(_RELEASED, ref) else (_claim(cert, 10),)
            signer = Signer(repository, workflows=workflows, commits=commits)
        signer.policy().verify(cert)
        workflow = _claim(cert, 18).partition("@")[0].rpartition("/")[2]
        self.publisher = {"kind": "GitHub", "repository": repository, "workflow": workflow, "signer": str(signer)}


@dataclass(frozen=True, kw_only=True)
class Attested:
    """Content of verified bundles."""

    signer: Signer
    files: Mapping[tuple[str, Sha256], bytes]
    """The bundle of each file, by the file's name and hash."""
    faults: tuple[str, ...]
    """Reasons for rejecting the other bundles."""


def verify_bundles(bundles: Iterable[bytes], signer: Signer) -> Attested:
    """Read the files that the signer attests with `WHEELS_WORKFLOW`; `bundles` are untrusted lines of JSON.

    Raises:
        UsageError: sigstore is not installed, or the file of its keys is invalid.
        NetworkError: Sigstore's keys cannot be fetched.
    """
    verifier = _verifier(os.environ.get(TRUSTED_ROOT))
    files: dict[tuple[str, Sha256], bytes] = {}
    faults: list[str] = []
    for line in _lines_of(bundles):
        try:
            files |= dict.fromkeys(_subjects_of(line, verifier, signer.policy()), line)
        except ValueError as error:
            faults.append(str(error))
    return Attested(signer=signer, files=files, faults=tuple(faults))


def publishers_in(bundles: Iterable[bytes]) -> Mapping[tuple[str, str], Sequence[Publisher]]:
    """Read the publishers of attested files by name and hash; input and errors are those of `verify_bundles`."""
    verifier = _verifier(os.environ.get(TRUSTED_ROOT))
    files = defaultdict[tuple[str, str], list[Publisher]](list)
    for line in _lines_of(bundles):
        policy = _AnySigner()
        with suppress(ValueError):
            for subject in _subjects_of(line, verifier, policy):
                files[subject].append(policy.publisher)
    return files


def _lines_of(bundles: Iterable[bytes]) -> Iterable[bytes]:
    return dict.fromkeys(line for content in bundles for line in content.splitlines() if line.strip())


@functools.cache  # making one asks for Sigstore's keys
def _verifier(path: str | None) -> Verifier:
    """Verifier with the keys in a file; None takes those of the public instance."""
    try:
        from sigstore.errors import Error, TUFError
        from sigstore.models import TrustedRoot
        from sigstore.verify import Verifier
    except ModuleNotFoundError:
        message = "attestations are verified with sigstore, which is not installed"
        hint = f"pip install 'wheelmill[attestations]{own_origin()}'"
        raise UsageError("sigstore-not-installed", message, hint=hint) from None
    try:
        return Verifier(trusted_root=TrustedRoot.from_file(path)) if path else Verifier.production()
    except TUFError as error:
        raise NetworkError("sigstore-keys-silent", f"Sigstore's keys cannot be fetched: {error}") from None
    except (Error, ValueError, OSError) as error:
        raise UsageError("sigstore-keys-invalid", f"{TRUSTED_ROOT}: {path} has no keys of Sigstore: {error}") from None


def _subjects_of(line: bytes, verifier: Verifier, policy: VerificationPolicy) -> set[tuple[str, Sha256]]:
    """Names and hashes of the files in one bundle that is signed as the policy requires; else raises ValueError."""
    from sigstore.errors import Error
    from sigstore.models import Bundle

    if len(line) > MAX_BUNDLE:
        raise ValueError(f"a bundle of more than {MAX_BUNDLE} bytes")
    try:
        kind, payload = verifier.verify_dsse(Bundle.from_json(line), policy)
        statement: Any = json.loads(payload) if kind == _STATEMENT else {}
        return {(each["name"], Sha256(each["digest"]["sha256"])) for each in statement["subject"]}
    except (Error, ValueError, KeyError, TypeError, RecursionError, ArithmeticError, OSError) as error:  # dates, too
        raise ValueError(f"{type(error).__name__}: {error}") from None
