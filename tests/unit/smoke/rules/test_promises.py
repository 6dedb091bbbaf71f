"""Each rule has a wheel that breaks it and nothing else."""

import pytest

from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.unit.smoke.rules.conftest import Opened, codes_of, details_of
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.wheel.findings import Code

LATER = METADATA.replace("Metadata-Version: 2.1", "Metadata-Version: 2.4")
STABLE = LABELLED.replace("torch2.11", "")
STABLE_METADATA = METADATA.replace("torch2.11", "").replace("torch==2.11.*", "{}")
DIST_INFO = f"{LABELLED.split('-cp')[0]}.dist-info"


@pytest.mark.parametrize(
    "metadata",
    [METADATA.replace("Version: 1.0+cu130torch2.11", "Version: 1.0"), METADATA.replace("Name: demo", "Name: other")],
)
def test_metadata_that_disagrees_with_the_name_is_found(metadata: str, opened: Opened) -> None:
    assert codes_of(opened(metadata=metadata)) == [Code.METADATA_VERSION]


@pytest.mark.parametrize(
    "dist_info", [DIST_INFO.replace("demo", "Demo"), DIST_INFO.replace("+cu130torch2.11", ""), "other-1.0.dist-info"]
)
def test_a_dist_info_folder_that_disagrees_with_the_name_is_found(dist_info: str, opened: Opened) -> None:
    assert codes_of(opened(dist_info=dist_info)) == [Code.METADATA_VERSION]


def test_a_dist_info_folder_may_be_spelled_as_the_file_is(opened: Opened) -> None:
    name = LABELLED.replace("demo", "De.Mo")
    metadata = METADATA.replace("Name: demo", "Name: de-mo")
    assert codes_of(opened(name, metadata=metadata, built_here=False)) == []


@pytest.mark.parametrize("requirement", ["", "Requires-Dist: torch\n", "Requires-Dist: torch==2.10.*\n"])
def test_a_missing_torch_pin_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA.replace("Requires-Dist: torch==2.11.*\n", requirement))
    assert codes_of(contents) == [Code.TORCH_PIN]
    assert details_of(contents) == "METADATA does not require torch==2.11.*, which the label cu130torch2.11 promises"


@pytest.mark.parametrize(
    ("pin", "codes"),
    [
        *(("==2.16.0rc1", []), ("==2.16.0", []), ("==2.16.0rc2", [Code.TORCH_PIN])),
        *(("==2.16.*", [Code.TORCH_PIN]), (">=2.16.0rc1", [Code.TORCH_PIN])),
    ],
)
def test_a_wheel_for_a_release_candidate_is_pinned_to_what_that_calls_itself(
    pin: str, codes: list[Code], opened: Opened
) -> None:
    metadata = METADATA.replace("torch2.11", "torch2.16rc1").replace("==2.11.*", pin)
    contents = opened(LABELLED.replace("2.11", "2.16rc1"), metadata=metadata, torch=TorchVersion(2, 16, 1))
    assert codes_of(contents) == codes


@pytest.mark.parametrize("requirement", ["torch>=2.10", "torch>=2.11,<3", "torch~=2.10"])
def test_a_wheel_for_many_torches_that_guards_its_range_passes(requirement: str, opened: Opened) -> None:
    contents = opened(
        STABLE, metadata=STABLE_METADATA.format(requirement), torch=StableTorch(oldest=TorchVersion(2, 10))
    )
    assert codes_of(contents) == []


@pytest.mark.parametrize(
    "requirement", ["numpy", "torch", "torch>=2.9", "torch==2.11.*", "torch>=2.10 ; sys_platform == 'linux'"]
)
def test_a_wheel_for_many_torches_that_does_not_guard_its_range_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(
        STABLE, metadata=STABLE_METADATA.format(requirement), torch=StableTorch(oldest=TorchVersion(2, 10))
    )
    assert codes_of(contents) == [Code.TORCH_PIN]
    assert details_of(contents) == "METADATA does not require torch>=2.10, which torch_abi says"


@pytest.mark.parametrize(
    ("machine_code", "missing"),
    [
        ("without sm_90", "no code for sm_90; it has sm_120, compute_120"),
        ("without PTX", "no code for compute_120; it has sm_90, sm_120"),
        ("helper", "no code for any GPU: nvcc compiled nothing of it, so it is for the CPU only"),
    ],
)
def test_missing_architectures_are_found(machine_code: str, missing: str, opened: Opened) -> None:
    contents = opened(machine_code=machine_code)
    assert codes_of(contents) == [Code.ARCHITECTURES]
    assert details_of(contents) == missing


def test_nobody_knows_the_architectures_of_a_foreign_wheel(opened: Opened) -> None:
    assert codes_of(opened(machine_code="without sm_90", built_here=False)) == []


@pytest.mark.parametrize(
    "requirement", ["torch-scatter @ https://wheels.example/x.whl", "lib @ git+https://git.example/lib"]
)
def test_a_requirement_that_passes_every_index_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA + f"Requires-Dist: {requirement}\n")
    assert codes_of(contents) == [Code.DIRECT_URL]
    assert requirement.partition(" ")[0] in details_of(contents)


@pytest.mark.parametrize(
    ("field", "fault"),
    [
        ("License-Expression: My own licence", "'My own licence' is invalid"),
        ("License-File: ../../LICENSE", "license-file"),
        ("Description-Content-Type: text/word", "description-content-type"),
        ("Colour: green", "unrecognized field: 'colour'"),
        ("Description-Content-Type: " + "a;" * 200_000, "more than 255 characters"),
        ("Dynamic: Version", "dynamic"),
    ],
)
def test_metadata_that_registries_refuse_is_found(field: str, fault: str, opened: Opened) -> None:
    contents = opened(metadata=f"{LATER}{field}\n")
    assert codes_of(contents) == [Code.METADATA_INVALID]
    assert fault.lower() in details_of(contents).lower()


def test_a_licence_file_that_is_not_there_is_found(opened: Opened) -> None:
    contents = opened(metadata=f"{LATER}License-File: LICENSE\n")
    assert codes_of(contents) == [Code.METADATA_INVALID]
    assert "no licence file 'LICENSE'" in details_of(contents)


def test_a_licence_file_that_is_there_passes(opened: Opened) -> None:
    files = {f"{DIST_INFO}/licenses/LICENSE": b"MIT"}
    assert codes_of(opened(metadata=f"{LATER}License-File: LICENSE\n", files=files)) == []


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ("Metadata-Version: 9.9\n", "'9.9' is not a valid metadata version"),
        ("Metadata-Version: next\n", "'next' is not a valid metadata version"),
        ("", "'metadata-version' is a required field"),
    ],
)
def test_a_metadata_version_that_nobody_knows_is_found(stated: str, fault: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA.replace("Metadata-Version: 2.1\n", stated))
    assert codes_of(contents) == [Code.METADATA_INVALID]
    assert fault in details_of(contents)


@pytest.mark.parametrize("field", ["License-File: LICENSE", "License-Expression: MIT"])
def test_fields_that_backends_wrote_before_their_time_pass(field: str, opened: Opened) -> None:
    assert codes_of(opened(metadata=f"{METADATA}{field}\n")) == []
