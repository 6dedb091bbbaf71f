"""Whose word counts: that of one workflow of one branch, and only for the bytes that it names."""

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.github_server import REPOSITORY
from tests.refusals import coded
from tests.sigstore_instance import SIGNED_AT, Sigstore
from wheelmill.errors import UsageError
from wheelmill.wheel.attestation import MAX_BUNDLE, TRUSTED_ROOT, Signer, publishers_in, verify_bundles

WHEEL, SHA256 = "demo-1.0+cu130-cp312-cp312-linux_x86_64.whl", "a" * 64
SIGNER = Signer(REPOSITORY)
CALLER = Signer.parse("me/demo:owner/wheelmill")
OWN: dict[str, Any] = {
    "repository": "me/demo",
    "workflows": "owner/wheelmill",
    "ref": "refs/tags/v1.2.3",
    "workflow_ref": "refs/tags/v1",
}
"""The run of a package in its own repository."""


def fault_of(bundle: bytes, signer: Signer = SIGNER) -> str:
    found = verify_bundles([bundle], signer)
    assert found.files == {}
    (fault,) = found.faults
    return fault


def test_what_the_workflow_of_the_default_branch_signed_counts(sigstore: Sigstore) -> None:
    bundle = sigstore.attest({WHEEL: SHA256, "other.whl": "b" * 64})
    found = verify_bundles([bundle], SIGNER)
    assert found.faults == ()
    assert found.files == {(WHEEL, SHA256): bundle, ("other.whl", "b" * 64): bundle}


@pytest.mark.parametrize(
    ("signer", "who"),
    [
        (SIGNER, {"repository": "somebody/else"}),
        (SIGNER, {"ref": "refs/heads/feature"}),
        (SIGNER, {"ref": "refs/pull/7/merge"}),
        (SIGNER, {"ref": "refs/tags/main"}),
        (SIGNER, {"workflow": ".github/workflows/ci.yml"}),
        (SIGNER, {"workflow": ".github/workflows/wheels-shard.yml"}),
        (SIGNER, {"issuer": "https://token.example"}),
        (SIGNER, {"runner": "self-hosted"}),
        (CALLER, OWN | {"repository": "somebody/else"}),
        (CALLER, OWN | {"ref": "refs/heads/main"}),
        (CALLER, OWN | {"ref": "refs/pull/7/merge"}),
        (CALLER, OWN | {"workflows": "somebody/wheelmill"}),
        (CALLER, OWN | {"workflows": "me/demo"}),
        (CALLER, OWN | {"workflow": ".github/workflows/index.yml"}),
        (CALLER, OWN | {"runner": "self-hosted"}),
    ],
)
def test_nobody_elses_signature_counts(sigstore: Sigstore, signer: Signer, who: dict[str, Any]) -> None:
    """A token of a fork, of a branch, of a pull request, of another job, or of a machine that builds."""
    assert "VerificationError" in fault_of(sigstore.attest({WHEEL: SHA256}, **who), signer)


COMMIT, OTHER, FORKS = "1" * 40, "2" * 40, "f" * 40


@pytest.mark.parametrize("called", ["v1", "v1.2", "v1.2.3", "wheelmill-1.2.3"])
def test_a_caller_of_our_workflow_signs_on_its_tags_with_any_release(sigstore: Sigstore, called: str) -> None:
    bundle = sigstore.attest({WHEEL: SHA256}, **OWN | {"workflow_ref": f"refs/tags/{called}"})
    assert verify_bundles([bundle], CALLER).files == {(WHEEL, SHA256): bundle}


@pytest.mark.parametrize(
    "called",
    [
        *(
            *(FORKS, f"refs/heads/{FORKS}", "refs/heads/main", "refs/heads/v1.2.3", "refs/pull/7/merge"),
            "refs/pull/7/head",
        ),
        *("refs/tags/v2026-11-21", "refs/tags/v1.2.3-rc", "refs/tags/latest", "refs/tags/v1.2.3/../v1"),
        *("refs/tags/v1.2.3\n", "refs/tags/v1@refs/heads/x", "x@refs/tags/v1.2.3"),
    ],
)
@pytest.mark.parametrize("signer", ["me/demo:owner/wheelmill", f"me/demo:owner/wheelmill@{COMMIT},{OTHER}"])
def test_a_commit_of_a_fork_under_the_name_of_its_parent(sigstore: Sigstore, called: str, signer: str) -> None:
    """GitHub runs ``owner/wheelmill/...@COMMIT`` for a commit of any fork."""
    bundle = sigstore.attest({WHEEL: SHA256}, **OWN | {"workflow_ref": called, "workflow_sha": FORKS})
    assert "VerificationError" in fault_of(bundle, Signer.parse(signer))


@pytest.mark.parametrize("called", [COMMIT, "refs/heads/main"])
def test_a_commit_that_is_named_counts_whatever_leads_to_it(sigstore: Sigstore, called: str) -> None:
    signer = Signer.parse(f"me/demo:owner/wheelmill@{OTHER},{COMMIT}")
    bundle = sigstore.attest({WHEEL: SHA256}, **OWN | {"workflow_ref": called, "workflow_sha": COMMIT})
    assert verify_bundles([bundle], signer).files == {(WHEEL, SHA256): bundle}
    released = sigstore.attest({WHEEL: SHA256}, **OWN | {"workflow_sha": FORKS})
    assert verify_bundles([released], signer).faults == ()
    for who in ({"workflows": "owner/wheelmill-fork"}, {"workflow": "x.yml"}, {"ref": "refs/heads/main"}):
        other = sigstore.attest({WHEEL: SHA256}, **OWN | {"workflow_ref": called, "workflow_sha": COMMIT} | who)
        assert verify_bundles([other], signer).files == {}


def test_a_ref_that_names_a_commit_is_not_the_commit(sigstore: Sigstore) -> None:
    """A branch may be called like a commit that is named; the digest counts."""
    signer = Signer.parse(f"me/demo:owner/wheelmill@{COMMIT}")
    for called in (COMMIT, f"refs/heads/{COMMIT}"):
        bundle = sigstore.attest({WHEEL: SHA256}, **OWN | {"workflow_ref": called, "workflow_sha": FORKS})
        assert verify_bundles([bundle], signer).files == {}


@pytest.mark.usefixtures("sigstore")
def test_a_signature_of_another_authority_does_not_count() -> None:
    assert "chain" in fault_of(Sigstore(seed=2).attest({WHEEL: SHA256}))


def test_a_certificate_that_had_run_out_does_not_count(sigstore: Sigstore) -> None:
    assert fault_of(sigstore.attest({WHEEL: SHA256}, signed=SIGNED_AT + timedelta(hours=1)))


@pytest.mark.parametrize("part", ["payload", "signatures", "certificate", "inclusionPromise"])
def test_a_changed_bundle_does_not_count(sigstore: Sigstore, part: str) -> None:
    bundle, other = (json.loads(sigstore.attest({WHEEL: sha256})) for sha256 in (SHA256, "b" * 64))
    places = {
        "payload": lambda bundle: bundle["dsseEnvelope"],
        "signatures": lambda bundle: bundle["dsseEnvelope"],
        "certificate": lambda bundle: bundle["verificationMaterial"],
        "inclusionPromise": lambda bundle: bundle["verificationMaterial"]["tlogEntries"][0],
    }
    places[part](bundle)[part] = places[part](other)[part]
    assert fault_of(json.dumps(bundle).encode())


@pytest.mark.parametrize("time", ["999999999999999999", "9223372036854775807", "-1", "0"])
def test_a_time_that_no_clock_shows_does_not_count(sigstore: Sigstore, time: str) -> None:
    bundle = json.loads(sigstore.attest({WHEEL: SHA256}))
    (entry,) = bundle["verificationMaterial"]["tlogEntries"]
    entry["integratedTime"] = time
    assert fault_of(json.dumps(bundle).encode())


@pytest.mark.parametrize(
    "content", [b"{}", b"[" * 100_000, b"\xff", b'{"mediaType": 1}', b"null", b" " + b"x" * (MAX_BUNDLE + 1)]
)
def test_what_is_no_bundle_is_a_fault_and_holds_up_nothing(sigstore: Sigstore, content: bytes) -> None:
    found = verify_bundles([content, sigstore.attest({WHEEL: SHA256})], SIGNER)
    assert len(found.faults) == 1
    assert found.files.keys() == {(WHEEL, SHA256)}


@pytest.mark.parametrize(
    ("who", "repository", "signer"),
    [
        ({}, REPOSITORY, f"{REPOSITORY}@main"),
        ({"ref": "refs/heads/feature"}, REPOSITORY, f"{REPOSITORY}@feature"),
        (OWN, "me/demo", "me/demo:owner/wheelmill"),
        (
            OWN | {"workflow_ref": "refs/heads/main", "workflow_sha": COMMIT},
            "me/demo",
            f"me/demo:owner/wheelmill@{COMMIT}",
        ),
        (OWN | {"workflow_ref": "refs/heads/v1", "workflow_sha": FORKS}, "me/demo", f"me/demo:owner/wheelmill@{FORKS}"),
    ],
)
def test_a_publisher_is_read_from_the_certificate_and_verified_as_its_signer(
    sigstore: Sigstore, who: dict[str, Any], repository: str, signer: str
) -> None:
    """A commit of the called workflow that is no release, which may be a fork's, is part of the name."""
    bundle = sigstore.attest({WHEEL: SHA256}, **who)
    publisher = {"kind": "GitHub", "repository": repository, "workflow": "wheels.yml", "signer": signer}
    assert publishers_in([bundle]) == {(WHEEL, SHA256): [publisher]}
    assert verify_bundles([bundle], Signer.parse(signer)).files == {(WHEEL, SHA256): bundle}
    assert str(Signer.parse(signer)) == signer


@pytest.mark.parametrize(
    "who",
    [
        {"ref": "refs/tags/main"},
        {"ref": "refs/pull/7/merge"},
        {"workflow": ".github/workflows/ci.yml"},
        {"issuer": "https://token.example"},
        {"runner": "self-hosted"},
        OWN | {"ref": "refs/heads/main"},
    ],
)
def test_nobody_else_is_a_publisher(sigstore: Sigstore, who: dict[str, Any]) -> None:
    good = sigstore.attest({WHEEL: SHA256})
    assert publishers_in([sigstore.attest({"x.whl": SHA256}, **who) + b"\n" + good]).keys() == {(WHEEL, SHA256)}
    assert publishers_in([Sigstore(seed=2).attest({WHEEL: SHA256}), b"{}", b"no JSON"]) == {}


def test_a_second_publisher_of_the_same_bytes_does_not_hide_the_first(sigstore: Sigstore) -> None:
    bundles = [sigstore.attest({WHEEL: SHA256}, repository=name) for name in (REPOSITORY, "somebody/else")]
    (found,) = publishers_in(bundles).values()
    assert [each["repository"] for each in found] == [REPOSITORY, "somebody/else"]


def test_keys_that_cannot_be_read_are_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED_ROOT, str(tmp_path / "missing.json"))
    with pytest.raises(UsageError, check=coded("sigstore-keys-invalid", "missing")):
        verify_bundles([], SIGNER)


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sigstore.errors", None)
    with pytest.raises(UsageError, check=coded("sigstore-not-installed", "pip install 'wheelmill[attestations]'")):
        verify_bundles([], SIGNER)


@pytest.mark.parametrize(
    ("text", "signer"),
    [
        ("owner/repo", Signer("owner/repo", "main")),
        ("owner/repo@a/b", Signer("owner/repo", "a/b")),
        (f"me/demo:owner/x@{COMMIT},{OTHER}", Signer("me/demo", workflows="owner/x", commits=(COMMIT, OTHER))),
    ],
)
def test_a_signer_is_a_repository_and_a_branch_or_commits_of_a_workflow(text: str, signer: Signer) -> None:
    assert Signer.parse(text) == signer


@pytest.mark.parametrize(
    "text",
    [
        *("", "owner", "owner/", "owner/repo/x", "owner/repo@", "owner/repo:", "me/demo:owner/repo@main"),
        *("me/demo:owner/repo@", f"me/demo:owner/repo@{'1' * 40},", f"me/demo:owner/repo@{'1' * 39}"),
        f"me/demo:o/r@{'A' * 40}",
    ],
)
def test_a_signer_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected OWNER/REPO"):
        Signer.parse(text)
