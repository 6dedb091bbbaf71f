"""What manifests have in common is one object, and they still say the same."""

from pathlib import Path

from msgspec.structs import replace

from tests.unit.build.conftest import PROVENANCE
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.names import ReleaseTag
from wheelmill.release.manifest import ListedRelease, listed_of
from wheelmill.release.manifest.listed import ListedSizes
from wheelmill.release.manifest.record import entry_of, manifest_of
from wheelmill.release.manifest.shared import Shared

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


def test_gpu_code_that_is_as_large_for_every_python_is_one_object(tmp_path: Path) -> None:
    release = released(tmp_path)
    sized = tuple(
        replace(wheel, certificate=replace(wheel.certificate, sizes=sizes_with(host)))
        for host, wheel in enumerate(release.wheels)
    )
    release = replace(release, wheels=sized)
    shared = Shared().release(release)
    assert shared == release
    first, second = (wheel.certificate.sizes for wheel in shared.wheels)
    assert first
    assert second
    assert first.gpu_code is second.gpu_code


def sizes_with(host_code: int) -> ListedSizes:
    return ListedSizes(gpu_code={"sm_90": 1000}, host_code=host_code, debug=0, other=0)
