"""Each rule has a wheel that breaks it and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from tests.unit.build.conftest import MACHINE, PROVENANCE
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.wheels import write_wheel
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

Opened = Callable[..., Contents]


@pytest.fixture
def opened(tmp_path: Path, objects: Mapping[str, bytes]) -> Opened:
    """Open a wheel that keeps every promise, but for what a test changes."""

    def make(
        name: str = LABELLED,
        *,
        machine_code: str | None = "as promised",
        metadata: str = METADATA,
        record: bytes | None = None,
        built_here: bool = True,
    ) -> Contents:
        files = {"demo/__init__.py": b""} | ({"demo/_C.so": objects[machine_code]} if machine_code else {})
        file = WheelFile.at(write_wheel(tmp_path / name, metadata=metadata, files=files, record=record))
        provenance = replace(PROVENANCE, sha256=file.sha256) if built_here else None
        contents = open_wheel(file, provenance)
        assert isinstance(contents, Contents)
        return contents

    return make


def codes_of(contents: Contents) -> list[Code]:
    return [finding.code for finding in findings_of(contents)]


def details_of(contents: Contents) -> str:
    return "\n".join(finding.detail for finding in findings_of(contents))


def test_a_wheel_that_keeps_its_promises_passes(opened: Opened) -> None:
    assert codes_of(opened()) == []


def test_a_statically_linked_wheel_passes(opened: Opened) -> None:
    assert codes_of(opened(machine_code="linked statically")) == []


@pytest.mark.parametrize(
    "metadata",
    [METADATA.replace("Version: 1.0+cu130torch2.11", "Version: 1.0"), METADATA.replace("Name: demo", "Name: other")],
)
def test_metadata_that_disagrees_with_the_name_is_found(metadata: str, opened: Opened) -> None:
    assert codes_of(opened(metadata=metadata)) == [Code.METADATA_VERSION]


def test_another_spelling_of_the_project_agrees(opened: Opened) -> None:
    assert codes_of(opened(metadata=METADATA.replace("Name: demo", "Name: Demo"))) == []


def test_files_that_record_does_not_list_are_found(opened: Opened) -> None:
    record = f"{LABELLED.split('-cp')[0]}.dist-info/RECORD,,\n".encode()
    contents = opened(record=record)
    assert set(codes_of(contents)) == {Code.RECORD}
    assert "'demo/_C.so' is not listed" in details_of(contents)


@pytest.mark.parametrize("requirement", ["", "Requires-Dist: torch\n", "Requires-Dist: torch==2.10.*\n"])
def test_a_missing_torch_pin_is_found(requirement: str, opened: Opened) -> None:
    contents = opened(metadata=METADATA.replace("Requires-Dist: torch==2.11.*\n", requirement))
    assert codes_of(contents) == [Code.TORCH_PIN]
    assert details_of(contents) == "METADATA does not require torch==2.11.*, which the label cu130torch2.11 promises"


def test_a_label_without_compiled_code_is_found(opened: Opened) -> None:
    assert codes_of(opened(machine_code=None, built_here=False)) == [Code.PURE]


def test_a_pure_wheel_without_a_label_passes(opened: Opened) -> None:
    contents = opened(
        "demo-1.0-py3-none-any.whl",
        machine_code=None,
        metadata="Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
        built_here=False,
    )
    assert codes_of(contents) == []


def test_another_cuda_major_is_found(opened: Opened) -> None:
    contents = opened(machine_code="linked to CUDA 12")
    assert codes_of(contents) == [Code.CUDA_MAJOR]
    assert "libcudart.so.12" in details_of(contents)


def test_a_second_cuda_major_beside_the_right_one_is_found(opened: Opened) -> None:
    assert codes_of(opened(machine_code="linked to CUDA 12 and 13")) == [Code.CUDA_MAJOR]


@pytest.mark.parametrize(
    ("machine_code", "said", "codes"),
    [
        ("as promised", "static", [Code.CUDART]),
        ("linked statically", "shared", [Code.CUDART]),
        ("as promised", "shared", []),
        ("linked statically", "static", []),
    ],
)
def test_a_cuda_runtime_that_is_not_held_as_said_is_found(
    machine_code: str, said: Literal["shared", "static"], codes: list[Code], opened: Opened
) -> None:
    contents = opened(machine_code=machine_code)
    assert contents.provenance
    expectations = replace(contents.expectations, cudart=said)
    assert codes_of(replace(contents, provenance=replace(contents.provenance, expectations=expectations))) == codes


def test_a_symbol_newer_than_the_platform_tag_is_found(opened: Opened) -> None:
    contents = opened(machine_code="from the future", built_here=False)
    assert codes_of(contents) == [Code.GLIBC]
    assert "from_the_future@GLIBC_2.99 in demo/_C.so" in details_of(contents)


@pytest.mark.parametrize("platform", ["manylinux_2_99", "linux"])
def test_a_symbol_that_the_platform_tag_allows_passes(platform: str, opened: Opened) -> None:
    name = LABELLED.replace("manylinux_2_17", platform)
    assert codes_of(opened(name, machine_code="from the future", built_here=False)) == []


def test_every_platform_tag_of_a_wheel_must_hold(opened: Opened) -> None:
    name = LABELLED.replace(f"_{MACHINE}", f"_{MACHINE}.manylinux_2_99_{MACHINE}")
    contents = opened(name, machine_code="from the future", built_here=False)
    assert codes_of(contents) == [Code.GLIBC]
    assert details_of(contents).startswith(f"manylinux_2_17_{MACHINE} promises glibc 2.17")


@pytest.mark.parametrize(
    ("machine_code", "missing"),
    [
        ("without sm_90", "no code for sm_90; it has sm_120, compute_120"),
        ("without PTX", "no code for compute_120; it has sm_90, sm_120"),
        ("helper", "no code for sm_90, sm_120, compute_120; it has none"),
    ],
)
def test_missing_architectures_are_found(machine_code: str, missing: str, opened: Opened) -> None:
    contents = opened(machine_code=machine_code)
    assert codes_of(contents) == [Code.ARCHITECTURES]
    assert details_of(contents) == missing


def test_nobody_knows_the_architectures_of_a_foreign_wheel(opened: Opened) -> None:
    assert codes_of(opened(machine_code="without sm_90", built_here=False)) == []


@pytest.mark.parametrize(("max_size", "codes"), [(None, []), (1001, []), (1000, [Code.SIZE])])
def test_what_the_release_does_not_take_is_found(max_size: int | None, codes: list[Code], opened: Opened) -> None:
    contents = opened()
    large = replace(contents, file=replace(contents.file, size=1000))
    assert [finding.code for finding in findings_of(large, max_size=max_size)] == codes
