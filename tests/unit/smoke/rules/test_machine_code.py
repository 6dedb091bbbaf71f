"""Machine code that breaks one rule each, made by a compiler."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.build.conftest import MACHINE
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.unit.smoke.rules.conftest import Opened, codes_of, details_of
from wheelmill.names import StableTorch, TorchVersion
from wheelmill.wheel.findings import Code

TORCH = f"torch-2.11.0+cu130-cp311-cp311-manylinux_2_17_{MACHINE}.whl"
OF_TORCH = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0+cu130\n"
ABI3 = LABELLED.replace("cp311-cp311", "cp311-abi3")


def test_a_second_cuda_major_beside_the_right_one_is_found(opened: Opened) -> None:
    assert codes_of(opened(machine_code="linked to CUDA 12 and 13")) == [Code.CUDA_MAJOR]


@pytest.mark.parametrize(
    ("machine_code", "kept", "broken"), [("as promised", "shared", "static"), ("linked statically", "static", "shared")]
)
def test_a_cuda_runtime_is_held_as_said(machine_code: str, kept: str, broken: str, opened: Opened) -> None:
    assert codes_of(opened(machine_code=machine_code, expects={"cudart": kept})) == []
    assert codes_of(opened(machine_code=machine_code, expects={"cudart": broken})) == [Code.CUDART]


@pytest.mark.parametrize(
    "wheel",
    [
        {"machine_code": "from the future", "name": LABELLED.replace("manylinux_2_17", "linux"), "built_here": False},
        {"machine_code": "that calls torch's C++"},  # which a wheel for one torch is made of
        {"machine_code": "linked to what others bring", "built_here": False},
        {"second": "libtorch_cpu.so", "name": TORCH, "metadata": OF_TORCH, "built_here": False},  # the first copy
    ],
)
def test_what_the_tags_of_a_wheel_allow_passes(wheel: dict[str, Any], opened: Opened) -> None:
    assert codes_of(opened(**wheel)) == []


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


def test_functions_that_no_known_torch_has_are_named(opened: Opened) -> None:
    metadata = METADATA.replace("torch2.11", "").replace("torch==2.11.*", "torch>=2.10")
    contents = opened(
        LABELLED.replace("torch2.11", ""),
        machine_code="that calls a torch of tomorrow",
        metadata=metadata,
        torch=StableTorch(oldest=TorchVersion(2, 10)),
    )
    assert codes_of(contents) == [Code.TORCH_OLDEST]
    assert "torch_of_tomorrow" in details_of(contents)
