"""Promises of a wheel about itself that can be broken in several ways; test_rules.py has a pair for each."""

from typing import Any

import pytest

from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.unit.smoke.rules.conftest import Opened, codes_of, details_of
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.wheel.findings import Code

HEAD = "Metadata-Version: 2.1\n"
LATER = METADATA.replace(HEAD, "Metadata-Version: 2.4\n")
DIST_INFO = f"{LABELLED.split('-cp')[0]}.dist-info"
PIN = "Requires-Dist: torch==2.11.*\n"


@pytest.mark.parametrize(
    "wheel",
    [
        {"metadata": METADATA.replace("Version: 1.0+cu130torch2.11", "Version: 1.0")},
        {"metadata": METADATA.replace("Name: demo", "Name: other")},
        {"dist_info": DIST_INFO.replace("demo", "Demo")},
        {"dist_info": DIST_INFO.replace("+cu130torch2.11", "")},
    ],
)
def test_metadata_or_its_folder_that_disagrees_with_the_name_is_found(wheel: dict[str, Any], opened: Opened) -> None:
    assert codes_of(opened(**wheel)) == [Code.METADATA_VERSION]


def test_a_dist_info_folder_may_be_spelled_as_the_file_is(opened: Opened) -> None:
    metadata = METADATA.replace("Name: demo", "Name: de-mo")
    assert codes_of(opened(LABELLED.replace("demo", "De.Mo"), metadata=metadata, built_here=False)) == []


@pytest.mark.parametrize("requirement", ["", "Requires-Dist: torch\n"])
def test_a_missing_torch_pin_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA.replace(PIN, requirement))
    assert codes_of(contents) == [Code.TORCH_PIN]
    assert {"torch==2.11.*,", "cu130torch2.11"} < set(details_of(contents).split())


@pytest.mark.parametrize(
    ("pin", "keeps"),
    [("==2.16.0rc1", True), ("==2.16.0", True), ("==2.16.0rc2", False), ("==2.16.*", False), (">=2.16.0rc1", False)],
)
def test_a_wheel_for_a_release_candidate_is_pinned_to_what_that_calls_itself(
    pin: str, *, keeps: bool, opened: Opened
) -> None:
    metadata = METADATA.replace("torch2.11", "torch2.16rc1").replace("==2.11.*", pin)
    contents = opened(LABELLED.replace("2.11", "2.16rc1"), metadata=metadata, torch=TorchVersion(2, 16, 1))
    assert codes_of(contents) == ([] if keeps else [Code.TORCH_PIN])


@pytest.mark.parametrize(
    ("requirement", "keeps"),
    [
        *((bound, True) for bound in ("torch>=2.10", "torch>=2.11,<3", "torch~=2.10")),
        *((bound, False) for bound in ("numpy", "torch", "torch>=2.9", "torch==2.11.*")),
        ("torch>=2.10 ; sys_platform == 'linux'", False),
    ],
)
def test_a_wheel_for_many_torches_guards_its_range(requirement: str, *, keeps: bool, opened: Opened) -> None:
    metadata = METADATA.replace("torch2.11", "").replace("torch==2.11.*", requirement)
    stable = StableTorch(oldest=TorchVersion(2, 10))
    contents = opened(LABELLED.replace("torch2.11", ""), metadata=metadata, torch=stable)
    assert codes_of(contents) == ([] if keeps else [Code.TORCH_PIN])
    assert ("torch>=2.10," in details_of(contents)) is not keeps


@pytest.mark.parametrize(
    ("machine_code", "missing"),
    [
        ("without sm_90", "no code for sm_90; it has sm_120, compute_120"),
        ("without PTX", "no code for compute_120; it has sm_90, sm_120"),
        ("helper", "no code for any GPU: nvcc compiled nothing of it, so it is for the CPU only"),
    ],
)
def test_missing_architectures_are_found_where_it_is_known_what_was_built_for(
    machine_code: str, missing: str, opened: Opened
) -> None:
    contents = opened(machine_code=machine_code)
    assert codes_of(contents) == [Code.ARCHITECTURES]
    assert details_of(contents) == missing
    assert codes_of(opened(machine_code=machine_code, built_here=False)) == []


@pytest.mark.parametrize(
    "requirement", ["torch-scatter @ https://wheels.example/x.whl", "lib @ git+https://git.example/lib"]
)
def test_a_requirement_that_passes_every_index_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA + f"Requires-Dist: {requirement}\n")
    assert codes_of(contents) == [Code.DIRECT_URL]
    assert requirement.partition(" ")[0] in details_of(contents)


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        (f"{LATER}License-Expression: My own licence\n", "'my own licence' is invalid"),
        (f"{LATER}License-File: ../../LICENSE\n", "license-file"),
        (f"{LATER}License-File: LICENSE\n", "no licence file 'license'"),
        (f"{LATER}Description-Content-Type: text/word\n", "description-content-type"),
        (f"{LATER}Description-Content-Type: {'a;' * 200_000}\n", "more than 255 characters"),
        (f"{LATER}Colour: green\n", "unrecognized field: 'colour'"),
        (f"{LATER}Dynamic: Version\n", "dynamic"),
        (METADATA.replace(HEAD, "Metadata-Version: 9.9\n"), "'9.9' is not a valid metadata version"),
        (METADATA.replace(HEAD, "Metadata-Version: next\n"), "'next' is not a valid metadata version"),
        (METADATA.replace(HEAD, ""), "'metadata-version' is a required field"),
    ],
)
def test_metadata_that_registries_refuse_is_found(metadata: str, fault: str, opened: Opened) -> None:
    contents = opened(metadata=metadata)
    assert codes_of(contents) == [Code.METADATA_INVALID]
    assert fault in details_of(contents).lower()


@pytest.mark.parametrize(
    ("metadata", "files"),
    [
        (f"{LATER}License-File: LICENSE\n", {f"{DIST_INFO}/licenses/LICENSE": b"MIT"}),
        (f"{METADATA}License-File: LICENSE\n", {}),  # which backends wrote before its time
        (f"{METADATA}License-Expression: MIT\n", {}),
    ],
)
def test_a_licence_that_is_there_or_is_said_before_its_time_passes(
    metadata: str, files: dict[str, bytes], opened: Opened
) -> None:
    assert codes_of(opened(metadata=metadata, files=files)) == []
