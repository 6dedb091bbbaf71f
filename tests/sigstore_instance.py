"""A Sigstore in small, whose bundles (0.3, with an entry of Rekor's) are those of GitHub for public repositories."""

import base64
import hashlib
import json
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.github_server import REPOSITORY
from wheelmill.wheel.attestation import WHEELS_WORKFLOW

MAIN: Final = "refs/heads/main"
ISSUER: Final = "https://token.actions.githubusercontent.com"
SIGNED_AT: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)

_FULCIO: Final = "1.3.6.1.4.1.57264.1"
_SCT_LIST: Final = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ECDSA: Final = ec.ECDSA(SHA256())
_USAGE: Final = {
    "content_commitment": False,
    "key_encipherment": False,
    "data_encipherment": False,
    "key_agreement": False,
    "encipher_only": False,
    "decipher_only": False,
}


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def public(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def key_id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(public(key)).digest()


class Sigstore:
    """An authority, a log of certificates and a log of signatures, each with a key of its own."""

    def __init__(self, seed: int = 1) -> None:
        """Make the instance of a seed: equal ones, in other processes too, have equal keys."""
        self.authority, self.certificate_log, self.signature_log = (
            ec.derive_private_key(seed * 1000 + number, ec.SECP256R1()) for number in range(1, 4)
        )
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of the tests")])
        self.root = (
            self._dated(x509.CertificateBuilder(), timedelta(days=3650))
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.authority.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=False, key_cert_sign=True, crl_sign=True, **_USAGE), critical=True
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.authority.public_key()), critical=False)
            .sign(self.authority, SHA256())
        )

    def write_trusted_root(self, path: Path) -> Path:
        """Write what a client must know of this instance."""
        valid = {"start": "2020-01-01T00:00:00Z"}
        logs = [
            {
                "baseUrl": "https://log.example",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": b64(public(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": valid},
                "logId": {"keyId": b64(key_id(key))},
            }
            for key in (self.signature_log, self.certificate_log)
        ]
        authority = {
            "subject": {"organization": "tests", "commonName": "authority of the tests"},
            "uri": "https://authority.example",
            "certChain": {"certificates": [{"rawBytes": b64(self.root.public_bytes(Encoding.DER))}]},
            "validFor": valid,
        }
        content = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": logs[:1],
            "certificateAuthorities": [authority],
            "ctlogs": logs[1:],
            "timestampAuthorities": [],
        }
        path.write_text(json.dumps(content))
        return path

    def attest(
        self,
        files: Mapping[str, str],
        *,
        repository: str = REPOSITORY,
        workflows: str | None = None,
        workflow: str = WHEELS_WORKFLOW,
        ref: str = MAIN,
        workflow_ref: str | None = None,
        workflow_sha: str = "0" * 40,
        issuer: str = ISSUER,
        runner: str = "github-hosted",
        signed: datetime = SIGNED_AT,
    ) -> bytes:
        """Sign, as a job of GitHub's, that these files are its own; returns the bundle.

        Args:
            files: hashes by file name.
            repository: whose run it is.
            workflows: whose workflow runs, where it is that of another repository.
            workflow: the path of the workflow.
            ref: the branch or tag that it runs on.
            workflow_ref: that of the workflow, where it is another one.
            workflow_sha: the commit of the workflow.
            issuer: who says all of this of the job.
            runner: whose machine it runs on.
            signed: when the log of signatures saw it.
        """
        subject = [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in files.items()]
        statement = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": subject,
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": {},
        }
        payload, kind = json.dumps(statement).encode(), "application/vnd.in-toto+json"
        key = ec.generate_private_key(ec.SECP256R1())
        home = f"https://github.com/{repository}"
        signer = f"https://github.com/{workflows or repository}/{workflow}@{workflow_ref or ref}"
        build = f"{home}/.github/workflows/wheels.yml@{ref}"
        certificate = self._certificate(
            key, {8: issuer, 9: signer, 10: workflow_sha, 11: runner, 12: home, 14: ref, 18: build}
        )
        signature = key.sign(f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload, _ECDSA)
        bundle = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": b64(certificate.public_bytes(Encoding.DER))},
                "tlogEntries": [self._entry(payload, signature, certificate, signed)],
            },
            "dsseEnvelope": {"payload": b64(payload), "payloadType": kind, "signatures": [{"sig": b64(signature)}]},
        }
        return json.dumps(bundle).encode()

    def _dated(self, builder: x509.CertificateBuilder, validity: timedelta) -> x509.CertificateBuilder:
        start = SIGNED_AT - timedelta(minutes=1)
        return (
            builder.serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(start + validity)
        )

    def _certificate(self, key: ec.EllipticCurvePrivateKey, said: Mapping[int, str]) -> x509.Certificate:
        """A certificate with what is said of a job, and the word of the log that it was seen (RFC 6962)."""
        builder = (
            self._dated(x509.CertificateBuilder(), timedelta(minutes=10))
            .subject_name(x509.Name([]))
            .issuer_name(self.root.subject)
            .public_key(key.public_key())
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **_USAGE), critical=True
            )
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(said[9])]), critical=True)
        )
        for number, text in said.items():
            value = text.encode()
            length = bytes([len(value)]) if len(value) < 0x80 else bytes([0x81, len(value)])
            oid = x509.ObjectIdentifier(f"{_FULCIO}.{number}")
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, b"\x0c" + length + value), critical=False)
        seen = builder.sign(self.authority, SHA256()).tbs_certificate_bytes
        time = int(SIGNED_AT.timestamp() * 1000)
        entry = key_id(self.authority) + len(seen).to_bytes(3, "big") + seen
        signature = self.certificate_log.sign(struct.pack("!BBQH", 0, 0, time, 1) + entry + b"\0\0", _ECDSA)
        sct = struct.pack("!B32sQHBBH", 0, key_id(self.certificate_log), time, 0, 4, 3, len(signature)) + signature
        listed = struct.pack("!HH", len(sct) + 2, len(sct)) + sct
        promised = x509.UnrecognizedExtension(_SCT_LIST, bytes([0x04, len(listed)]) + listed)
        return builder.add_extension(promised, critical=False).sign(self.authority, SHA256())

    def _entry(
        self, payload: bytes, signature: bytes, certificate: x509.Certificate, signed: datetime
    ) -> dict[str, Any]:
        """The entry of a signature in a log that has no other."""
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
                "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                "signatures": [{"signature": b64(signature), "verifier": b64(certificate.public_bytes(Encoding.PEM))}],
            },
        }
        written = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        root = hashlib.sha256(b"\0" + written).digest()
        own = key_id(self.signature_log)
        note = f"log.example\n1\n{b64(root)}\n"
        checkpoint = own[:4] + self.signature_log.sign(note.encode(), _ECDSA)
        time = int(signed.timestamp())
        promise = {"body": b64(written), "integratedTime": time, "logID": own.hex(), "logIndex": 0}
        canonical = json.dumps(promise, sort_keys=True, separators=(",", ":")).encode()
        return {
            "logIndex": "0",
            "logId": {"keyId": b64(own)},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {"signedEntryTimestamp": b64(self.signature_log.sign(canonical, _ECDSA))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} log.example {b64(checkpoint)}\n"},
            },
            "canonicalizedBody": b64(written),
        }
