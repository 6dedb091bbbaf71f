"""What a wheel needs that no package index has, and its provenance (PEP 740). Common parts of manifests are shared."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from packageurl import PackageURL
from packaging.specifiers import SpecifierSet
from pypi_attestations import Distribution, GitHubPublisher, Provenance, VerificationError
from sigstore.models import TrustedRoot
from sigstore.verify import Verifier

from tests.github_server import REPOSITORY
from tests.sigstore_instance import Sigstore
from tests.unit.build.conftest import PROVENANCE
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.config.model.package_parts import SystemPackages
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.manifest.record import (
    ListedRelease,
    Shared,
    entry_of,
    external_of,
    manifest_of,
    provenance_of,
    shared_bundles,
)
from wheelmill.release.manifest.rules import listed_of
from wheelmill.smoke.verdict import Certificate, Evidence, TestedWheel
from wheelmill.wheel.sizes import Sizes

EVIDENCE = Evidence(
    policy="manylinux_2_28_x86_64",
    needed=("libcudart.so.13",),
    glibc="2.27",
    glibcxx=None,
    cuda_major=13,
    sass=("sm_90",),
    ptx=(),
    undefined_symbols=1,
)
PACKAGES = SystemPackages(dnf=("libaio-devel",), apt=("libaio-dev", "g++"))
BUILT = replace(PROVENANCE, driver="580.65.06", system_packages=PACKAGES)
CERTIFICATE = Certificate(sha256=Sha256("0" * 64), evidence=EVIDENCE, clean_rooms=(), provenance=BUILT)


def test_it_names_driver_libc_and_cuda_where_torch_does_not_bring_that() -> None:
    alone = external_of(CERTIFICATE, ("numpy",))
    assert alone.dependencies == (
        "dep:generic/nvidia-driver@>=580.65.06",
        "dep:generic/glibc@>=2.27",
        "dep:generic/cuda-toolkit@>=13,<14",
    )
    assert external_of(CERTIFICATE, ("torch==2.11.*",)).dependencies == alone.dependencies[:2]


def test_it_names_compilers_toolkit_and_the_packages_of_its_system() -> None:
    here = external_of(CERTIFICATE, ())
    assert here.build_requires[:2] == ("dep:virtual/compiler/cxx", "dep:virtual/compiler/cuda")
    assert here.build_requires[2] == "dep:generic/cuda-toolkit@13.0.2"
    assert here.host_requires == ("dep:deb/debian/libaio-dev", "dep:deb/debian/g++")
    contained = replace(CERTIFICATE, provenance=replace(BUILT, images=("quay.io/x@sha256:1",)))
    assert external_of(contained, ()).host_requires == ("dep:rpm/almalinux/libaio-devel",)


def test_of_a_wheel_that_was_not_built_here_its_bytes_tell() -> None:
    stranger = external_of(replace(CERTIFICATE, provenance=None), ())
    assert (stranger.build_requires, stranger.host_requires) == ((), ())
    assert stranger.dependencies == ("dep:generic/glibc@>=2.27", "dep:generic/cuda-toolkit@>=13,<14")


def test_every_word_is_a_depurl() -> None:
    """A package URL in all but the scheme, the type 'virtual' and ranges (PEP 725)."""
    found = external_of(CERTIFICATE, ())
    for text in (*found.build_requires, *found.host_requires, *found.dependencies):
        url, _, version = text.partition("@")
        assert PackageURL.from_string(url.replace("dep:", "pkg:")).name
        assert not version or SpecifierSet(version if version[0] in "<>" else f"=={version}")


NAME = "demo-1.0+cu130-py3-none-any.whl"


@pytest.fixture
def wheel(tmp_path: Path) -> TestedWheel:
    """A wheel that a job attests, alone and together with its METADATA."""
    wheel = certified_wheel(tmp_path / NAME)
    own = {NAME: wheel.file.sha256}
    sigstore = Sigstore()
    return replace(wheel, bundles=(sigstore.attest({**own, f"{NAME}.metadata": "0" * 64}), sigstore.attest(own)))


def test_others_can_verify_it(wheel: TestedWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = TrustedRoot.from_file(str(Sigstore().write_trusted_root(tmp_path / "root.json")))
    monkeypatch.setattr(Verifier, "production", lambda **_: Verifier(trusted_root=root))
    provenance = Provenance.model_validate_json(provenance_of(wheel) or b"")
    (bundle,) = provenance.attestation_bundles
    (attestation,) = bundle.attestations
    assert bundle.publisher == GitHubPublisher(repository=REPOSITORY, workflow="wheels.yml")
    distribution = Distribution.from_file(wheel.file.path)
    kind, _ = attestation.verify(bundle.publisher, distribution)
    assert kind == "https://slsa.dev/provenance/v1"
    with pytest.raises(VerificationError):
        attestation.verify(bundle.publisher, Distribution(name=NAME, digest="0" * 64))
    with pytest.raises(VerificationError):
        attestation.verify(GitHubPublisher(repository="other/one", workflow="wheels.yml"), distribution)


def test_a_release_keeps_the_bundles_of_groups_where_they_are_enough(wheel: TestedWheel) -> None:
    together, alone = wheel.bundles
    assert shared_bundles(wheel) == (together,)
    assert shared_bundles(replace(wheel, bundles=(alone,))) == (alone,)
    sidecar = Sigstore().attest({f"{NAME}.metadata": "0" * 64})
    assert shared_bundles(replace(wheel, bundles=(sidecar, alone))) == (sidecar, alone)


def test_bundles_that_speak_of_more_or_of_another_file_are_left_out(wheel: TestedWheel) -> None:
    others = (
        Sigstore().attest({name: sha256}) for name, sha256 in ((NAME, "0" * 64), (f"x_{NAME}", wheel.file.sha256))
    )
    for bundles in (wheel.bundles[:1], (), tuple(others)):
        assert provenance_of(replace(wheel, bundles=bundles)) is None


def test_a_bundle_whose_log_says_no_time_is_left_out(wheel: TestedWheel) -> None:
    bundle = json.loads(wheel.bundles[1])
    del bundle["verificationMaterial"]["tlogEntries"][0]["integratedTime"]
    assert provenance_of(replace(wheel, bundles=(json.dumps(bundle).encode(),))) is None


@pytest.mark.parametrize("bundle", [b"{}", b"x", b"[]", b'{"dsseEnvelope": {"payload": "AAAA"}}', b"null"])
def test_what_is_no_bundle_is_left_out(bundle: bytes, wheel: TestedWheel) -> None:
    assert provenance_of(replace(wheel, bundles=(bundle,))) is None


NAMES = (
    "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl",
    "demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl",
)


def released(folder: Path) -> ListedRelease:
    wheels = [certified_wheel(folder / name, provenance=PROVENANCE) for name in NAMES]
    return listed_of(manifest_of(ReleaseTag("v2026-11-21"), list(map(entry_of, wheels)), now=NOW))


def test_a_shared_release_says_what_it_said(tmp_path: Path) -> None:
    release = released(tmp_path)
    assert Shared().release(release) == release


def test_equal_parts_of_two_releases_are_one_object(tmp_path: Path) -> None:
    shared = Shared()
    one, other = (shared.release(released(tmp_path)).wheels[0] for _ in range(2))
    assert one.certificate.evidence is other.certificate.evidence
    assert one.requires_dist is other.requires_dist
    assert one.certificate.provenance is not None
    assert other.certificate.provenance is not None
    assert one.certificate.provenance.architectures is other.certificate.provenance.architectures


def test_sizes_that_read_alike_are_one_object(tmp_path: Path) -> None:
    release = released(tmp_path)

    def shared_of(*host_code: int) -> list[Sizes | None]:
        sized = tuple(
            structs.replace(wheel, certificate=structs.replace(wheel.certificate, sizes=sizes_with(number)))
            for number, wheel in zip(host_code, release.wheels, strict=True)
        )
        return [wheel.certificate.sizes for wheel in Shared().release(structs.replace(release, wheels=sized)).wheels]

    one, other = shared_of(1_780_000, 1_780_007)
    assert one == sizes_with(1_780_000)
    assert one is other
    assert shared_of(1_780_000, 1_980_000) == [sizes_with(1_780_000), sizes_with(1_980_000)]


def sizes_with(host_code: int) -> Sizes:
    return Sizes(gpu_code={"sm_90": 1000}, host_code=host_code, debug=0, other=0)
