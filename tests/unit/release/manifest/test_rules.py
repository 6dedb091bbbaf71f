"""What must not be said of a wheel: an index would be refused by installers, or believed where it must not be."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.build.conftest import PROVENANCE
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.manifest import ListedSizes, ListedWheel, entry_of, faults_of_wheel, listed_of, manifest_of
from wheelmill.release.publish import publish
from wheelmill.wheel.name import WheelName

NAME = "demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
OTHER = Sha256("f" * 64)
DIGITS = "9" * 19


@pytest.fixture
def wheel(tmp_path: Path) -> ListedWheel:
    """What a manifest says of a wheel that nothing is wrong with."""
    certified = certified_wheel(tmp_path / NAME, requires=("numpy",), requires_python=">=3.9", provenance=PROVENANCE)
    return listed_of(manifest_of(ReleaseTag("v2026-11-21"), [entry_of(certified)], now=NOW)).wheels[0]


def faults_of(wheel: ListedWheel) -> list[str]:
    return faults_of_wheel(wheel, WheelName.parse(wheel.filename))


def changed(part: Any, path: str, value: object) -> Any:
    """A part of a manifest with another value at a key below: ``certificate.sha256``."""
    key, _, below = path.partition(".")
    return replace(part, **{key: changed(getattr(part, key), below, value) if below else value})


def test_nothing_is_wrong_with_what_was_released(wheel: ListedWheel) -> None:
    assert faults_of(wheel) == []


HEX = "expected 64 hexadecimal digits in lower case, not"
SIZE = "size: expected 1 to 2,147,483,647 bytes, not"
LONG = "has a number of more than 18 digits"
WRONG: list[tuple[str, object, str]] = [
    ("sha256", "F" * 64, f"sha256: {HEX} '{'F' * 64}'"),
    ("metadata_sha256", "none", f"metadata_sha256: {HEX} 'none'"),
    (
        "certificate.provenance.driver",
        "new",
        "certificate.provenance.driver: expected the version of a driver, not 'new'",
    ),
    (
        *("external.dependencies", ("dep:generic/glibc@>=2.28", "<script>")),
        "external.dependencies: expected a DepURL, not '<script>'",
    ),
    ("size", 0, f"{SIZE} 0"),
    ("size", -1, f"{SIZE} -1"),
    ("size", 2 << 30, f"{SIZE} 2147483648"),
    ("size", 10**30, f"{SIZE} 1{'0' * 30}"),
    ("requires_python", "three", "requires_python: expected a range such as '>=2.7,<3' (PEP 440), not 'three'"),
    (
        *("requires_python", ">=3.9\n"),
        r"requires_python: expected characters that can be seen, not '>=3.9\n'",
    ),
    ("requires_python", "===three", "requires_python: Invalid version: 'three', in '===three'"),
    ("requires_python", f">={DIGITS}", f"requires_python: '>={DIGITS}' {LONG}"),
    (
        "requires_dist",
        ("numpy", "x y"),
        "requires_dist: expected a requirement such as 'ninja>=1.11' (PEP 508), not 'x y'",
    ),
    ("requires_dist", ("numpy===odd",), "requires_dist: Invalid version: 'odd', in 'numpy===odd'"),
    ("requires_dist", (f"numpy<{DIGITS}",), f"requires_dist: 'numpy<{DIGITS}' {LONG}"),
    (
        *("requires_dist", ("x; " + "(" * 3000,)),
        f"requires_dist: expected a requirement that is not nested deeply, not 'x; {'(' * 37}...'",
    ),
    ("attestation", "javascript:alert(1)", "attestation: expected a URL of https, not 'javascript:alert(1)'"),
    ("attestation", "http://example.org/", "attestation: expected a URL of https, not 'http://example.org/'"),
    ("attestation", "https://", "attestation: expected a URL of https, not 'https://'"),
    (
        *("attestation", 'https://example.org/"><script>'),
        "attestation: expected a URL of https, not 'https://example.org/\"><script>'",
    ),
    ("version", "2.0", "name: METADATA says 'demo' '2.0', the file name demo 1.0+cu130torch2.11"),
    ("version", "two", "name: METADATA says 'demo' 'two', the file name demo 1.0+cu130torch2.11"),
    ("name", "other", "name: METADATA says 'other' '1.0+cu130torch2.11', the file name demo 1.0+cu130torch2.11"),
    ("name", "demo_", "name: METADATA says 'demo_' '1.0+cu130torch2.11', the file name demo 1.0+cu130torch2.11"),
    (
        *("name", 'demo"><script>'),
        "name: METADATA says 'demo\"><script>' '1.0+cu130torch2.11', the file name demo 1.0+cu130torch2.11",
    ),
    ("certificate.sha256", OTHER, f"certificate.sha256: it is the certificate of other bytes, '{OTHER}'"),
    (
        "certificate.evidence.sass",
        ("sm_90a", "sm_5"),
        "certificate.evidence.sass: expected a GPU architecture, not 'sm_5'",
    ),
    ("certificate.evidence.ptx", ("junk",), "certificate.evidence.ptx: expected a GPU architecture, not 'junk'"),
    (
        *("certificate.sizes", ListedSizes(gpu_code={"sm_90": 1, "junk": 1}, host_code=0, debug=0, other=0)),
        "certificate.sizes.gpu_code: expected a GPU architecture, not 'junk'",
    ),
    ("certificate.evidence.glibc", "new", "certificate.evidence.glibc: expected a version, not 'new'"),
    (
        *("certificate.provenance.sha256", OTHER),
        f"certificate.provenance.sha256: it is the provenance of other bytes, '{OTHER}'",
    ),
    (
        *("certificate.provenance.built_for.project", "other"),
        "certificate.provenance.cell: it is the provenance of a wheel of 'other' '1.0+cu130torch2.11'",
    ),
    (
        *("certificate.provenance.built_for.torch", "2.10"),
        "certificate.provenance.cell: it is the provenance of a wheel of 'demo' '1.0+cu130torch2.10'",
    ),
    (
        *("certificate.provenance.built_for.cuda", "one"),
        "certificate.provenance.cell: expected a CUDA version such as '13.0' or 'cu130', not 'one'",
    ),
    (
        *("certificate.provenance.patches", ("x",)),
        "certificate.provenance: expected hashes of 64 hexadecimal digits, of the source and of patches",
    ),
    ("certificate.provenance.pythons", ("three",), "certificate.provenance.pythons: expected Pythons, not 'three'"),
    (
        *("certificate.provenance.architectures", ("9",)),
        "certificate.provenance.architectures: expected GPU architectures, not '9'",
    ),
]


@pytest.mark.parametrize(
    ("path", "value", "fault"), WRONG, ids=[f"{path}-{number}" for number, (path, *_) in enumerate(WRONG)]
)
def test_what_is_wrong_is_named_with_its_key(path: str, value: object, fault: str, wheel: ListedWheel) -> None:
    certificates = [] if path != "sha256" else [f"sha256: it is the {kind} of other bytes" for kind in ("certificate",)]
    found = [each for each in faults_of(changed(wheel, path, value)) if not any(c in each for c in certificates)]
    assert found[:1] == [fault]


@pytest.mark.parametrize(
    ("filename", "fault"),
    [
        ("demo-1.0+CU130torch2.11-py3-none-any.whl", "filename: expected the version '1.0+cu130torch2.11', not"),
        ("demo-1.00-py3-none-any.whl", "filename: expected the version '1.0', not '1.00': uv.lock keeps"),
        (f"demo-1.{DIGITS}-py3-none-any.whl", "filename: the version has a number of more than 18 digits"),
        (f"demo-1.0.dev{DIGITS}-py3-none-any.whl", "filename: the version has a number of more than 18 digits"),
        (f"demo-1.0-{DIGITS}-py3-none-any.whl", "filename: expected tags in lower case, and no number of more than 18"),
        ("demo-1.0-PY3-none-any.whl", "filename: expected tags in lower case, and no number of more than 18"),
        ("torch-2.11.0+cu130-py3-none-any.whl", "filename: the name torch is reserved: installers would take this"),
    ],
)
def test_a_name_that_pip_and_uv_do_not_agree_about_is_refused(filename: str, fault: str, wheel: ListedWheel) -> None:
    project, version, _ = filename.split("-", 2)
    named = replace(
        wheel,
        filename=filename,
        name=project,
        version=version,
        certificate=replace(wheel.certificate, provenance=None),
    )
    (found,) = faults_of(named)
    assert found.startswith(fault)


def test_every_fault_of_a_wheel_is_named(wheel: ListedWheel) -> None:
    assert [each.partition(":")[0] for each in faults_of(replace(wheel, sha256=OTHER, size=0, attestation=""))] == [
        "size",
        "attestation",
        "certificate.sha256",
        "certificate.provenance.sha256",
    ]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"requires_python": "===three"}, "requires_python: Invalid version: 'three', in '===three'"),
        ({"requires": ("what is this",)}, "METADATA cannot be read: "),
    ],
)
def test_a_release_refuses_what_no_index_would_list(
    metadata: dict[str, Any], reason: str, store: DirectoryStore, tmp_path: Path
) -> None:
    odd = certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl", **metadata)
    fine = certified_wheel(tmp_path / NAME)
    done = publish(store, [odd, fine], now=NOW)
    assert [entry.filename for manifest in done.releases for entry in manifest.wheels] == [NAME]
    (refusal,) = done.refusals
    assert refusal.filename == odd.file.filename
    assert refusal.reason.startswith(f"would be listed by no index: {reason}")
