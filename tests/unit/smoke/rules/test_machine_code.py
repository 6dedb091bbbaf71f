"""Machine code that breaks one rule each, made by a compiler."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import pytest

from tests.unit.build.conftest import MACHINE
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.unit.smoke.rules.conftest import Opened, codes_of, details_of
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.smoke.evidence import Contents
from wheelmill.wheel.findings import Code

TORCH_10 = TorchVersion(2, 10)
STABLE = LABELLED.replace("torch2.11", "")
ABI3 = LABELLED.replace("cp311-cp311", "cp311-abi3")


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
    ("library", "label", "codes"),
    [
        *(("libnppc.so.12", "cu130", [Code.CUDA_MAJOR]), ("libnvJitLink.so.12", "cu130", [Code.CUDA_MAJOR])),
        *(("libcusolver.so.11", "cu130", [Code.CUDA_MAJOR]), ("libcufft.so.11", "cu130", [Code.CUDA_MAJOR])),
        *(("libcusolver.so.11", "cu128", []), ("libcufft.so.11", "cu128", []), ("libcusparse.so.12", "cu128", [])),
        *(("libcusparse.so.12", "cu130", []), ("libcusparse.so.12", "cu118", [Code.CUDA_MAJOR])),
        ("libcurand.so.10", "cu130", []),
    ],
)
def test_every_library_of_cuda_belongs_to_majors(library: str, label: str, codes: list[Code], opened: Opened) -> None:
    name = LABELLED.replace("cu130torch2.11", label)
    metadata = METADATA.replace("cu130torch2.11", label)
    assert codes_of(opened(name, machine_code=f"linked to {library}", metadata=metadata, built_here=False)) == codes


def test_a_library_in_the_wheel_is_found_by_its_file_and_by_its_soname(
    opened: Opened, objects: Mapping[str, bytes]
) -> None:
    for name in ("demo.libs/libhelper.so.1", "demo/helper.so"):
        files = {name: objects["helper"]}
        assert codes_of(opened(machine_code="linked to its helper", files=files, built_here=False)) == []


@pytest.mark.parametrize("name", ["demo.libs/libcudart-0a1b2c3d.so.13", "demo/_runtime.so"])
def test_a_second_copy_of_the_cuda_runtime_is_found(name: str, opened: Opened, objects: Mapping[str, bytes]) -> None:
    contents = opened(files={name: objects["libcudart.so.13"]})
    assert codes_of(contents) == [Code.SECOND_COPY]
    assert details_of(contents).startswith(name)


def test_code_for_another_processor_is_found(opened: Opened) -> None:
    contents = opened(machine_code="for another processor", built_here=False)
    assert codes_of(contents) == [Code.MACHINE]
    assert details_of(contents).startswith(f"tagged manylinux_2_17_{MACHINE}, but it holds demo/_C.so (")


def test_code_in_a_wheel_for_any_platform_is_found(opened: Opened) -> None:
    metadata = METADATA.replace("+cu130torch2.11", "")
    contents = opened("demo-1.0-py3-none-any.whl", metadata=metadata, built_here=False)
    assert codes_of(contents) == [Code.MACHINE]


@pytest.mark.parametrize(
    ("machine_code", "symbol"),
    [("that calls Python's insides", "_PyObject_MakeTpCall"), ("that calls a later Python", "PyList_GetItemRef")],
)
def test_an_abi3_tag_on_code_that_is_not_is_found(machine_code: str, symbol: str, opened: Opened) -> None:
    contents = opened(ABI3, machine_code=machine_code, built_here=False)
    assert codes_of(contents) == [Code.ABI3]
    assert details_of(contents) == f"tagged abi3 from Python 3.11 on, whose stable ABI lacks {symbol}"
    assert codes_of(opened(machine_code=machine_code, built_here=False)) == []


@pytest.mark.parametrize("machine_code", ["with an executable stack", "that says nothing of its stack"])
def test_an_executable_stack_is_found(machine_code: str, opened: Opened) -> None:
    contents = opened(machine_code=machine_code, built_here=False)
    assert codes_of(contents) == ([Code.EXECUTABLE_STACK] if MACHINE == "x86_64" or "with" in machine_code else [])


def for_many_torches(opened: Opened, machine_code: str, *, oldest: TorchVersion = TORCH_10) -> Contents:
    metadata = METADATA.replace("torch2.11", "").replace("torch==2.11.*", f"torch>={oldest}")
    return opened(STABLE, machine_code=machine_code, metadata=metadata, torch=StableTorch(oldest=oldest))


def test_cxx_of_torch_is_what_a_wheel_for_one_torch_is_made_of(opened: Opened) -> None:
    assert codes_of(opened(machine_code="that calls torch's C++")) == []


def test_functions_that_no_known_torch_has_are_named(opened: Opened) -> None:
    contents = for_many_torches(opened, "that calls a torch of tomorrow")
    assert codes_of(contents) == [Code.TORCH_OLDEST]
    assert "no torch is known to have torch_of_tomorrow" in details_of(contents)
