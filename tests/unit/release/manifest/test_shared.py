"""What manifests have in common is one object, and they still say the same."""

from pathlib import Path

from msgspec.structs import replace

from tests.unit.build.conftest import PROVENANCE
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.names import ReleaseTag
from wheelmill.release.manifest import ListedRelease, listed_of
from wheelmill.release.manifest.record import Shared, entry_of, manifest_of
from wheelmill.wheel.sizes import Sizes

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
            replace(wheel, certificate=replace(wheel.certificate, sizes=sizes_with(number)))
            for number, wheel in zip(host_code, release.wheels, strict=True)
        )
        return [wheel.certificate.sizes for wheel in Shared().release(replace(release, wheels=sized)).wheels]

    one, other = shared_of(1_780_000, 1_780_007)
    assert one == sizes_with(1_780_000)
    assert one is other
    assert shared_of(1_780_000, 1_980_000) == [sizes_with(1_780_000), sizes_with(1_980_000)]


def sizes_with(host_code: int) -> Sizes:
    return Sizes(gpu_code={"sm_90": 1000}, host_code=host_code, debug=0, other=0)
