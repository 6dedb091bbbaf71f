"""What NVIDIA's provider says of a machine; tests/real compares it with uv's."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.unit.client.targets import LINUX
from wheelmill.client.records import TargetEnvironment
from wheelmill.client.variants.machine import (
    FORCED_CUDA,
    FORCED_GPU,
    Machine,
    Namespace,
    code_note,
    nvidia_of,
    place_of,
    ranks_of,
)
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import Architecture, CudaVersion, Gpu
from wheelmill.wheel.variant import Priorities, Properties


def machine(driver: str | None, *gpus: str) -> TargetEnvironment:
    given = {"driver": "--driver", "gpus": "--gpu"}
    found = tuple(Gpu(capability=Architecture.parse(each)) for each in gpus)
    return replace(LINUX, driver=driver, gpus=found, origins=given)


@pytest.mark.parametrize(
    ("driver", "cuda"), [("570.86.10", "12.8"), ("580.65.06", "13.0"), ("560.0.0", "12.4"), ("999.0", "13.2")]
)
def test_a_driver_has_the_newest_cuda_that_came_by_then(driver: str, cuda: str, facts: Compatibility) -> None:
    found = nvidia_of(machine(driver, "9.0"), facts)
    assert found.says == f"the driver knows CUDA {cuda} (driver {driver}), and the GPU is sm_90"
    assert found.values["cuda_version_lower_bound"][0] == cuda


def test_bounds_are_those_that_the_driver_reaches_or_stays_below(facts: Compatibility) -> None:
    values = nvidia_of(machine("570.86.10", "8.9"), facts).values
    lower, upper = values["cuda_version_lower_bound"], values["cuda_version_upper_bound"]
    assert lower[:3] == ("12.8", "12.7", "12.6")
    assert {"12", "11.8", "11", "12.0"} < {*lower}
    assert {*lower}.isdisjoint({"12.9", "13", "13.0", "10.2"})
    assert {"12.9", "13.0", "13", "15.20", "15"} < {*upper}
    assert {*upper}.isdisjoint({"12.8", "12", "16"})
    assert values["sm_arch"] == (*(f"8{minor}_real" for minor in range(9, -1, -1)), "80_virtual")


def test_without_a_driver_a_machine_has_nothing_and_without_a_gpu_no_architecture(facts: Compatibility) -> None:
    assert nvidia_of(machine(None, "9.0"), facts).values == {}
    found = nvidia_of(machine("580.65.06"), facts)
    assert "sm_arch" not in found.values
    assert "no GPU is known" in found.says
    assert "sm_arch" not in nvidia_of(machine("580.65.06", "3.5"), facts).values


def test_a_minor_part_that_no_gpu_has_makes_no_million_values(facts: Compatibility) -> None:
    assert len(nvidia_of(machine("580.65.06", "9.9999999"), facts).values["sm_arch"]) == 11


def test_of_several_gpus_the_newest_counts_and_that_is_said(facts: Compatibility) -> None:
    found = nvidia_of(machine("580.65.06", "8.0", "9.0"), facts)
    assert found.values["sm_arch"] == ("90_real", "90_virtual")
    assert "several that differ" in found.says


def test_variables_say_what_nobody_said_by_hand(facts: Compatibility, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCED_CUDA, "12.4.1")
    monkeypatch.setenv(FORCED_GPU, "12.0")
    own = replace(LINUX, driver_cuda=CudaVersion(13, 0))
    assert nvidia_of(own, facts).says == f"the driver knows CUDA 12.4 ({FORCED_CUDA}), and the GPU is sm_120"
    assert nvidia_of(machine("580.65.06", "9.0"), facts).values["sm_arch"][0] == "90_real"
    monkeypatch.delenv(FORCED_CUDA)
    assert nvidia_of(own, facts).says.startswith("the driver knows CUDA 13.0 (as it says itself)")


@pytest.mark.parametrize("text", ["new", "580.65.06", "12.8; rm", "9" * 5000, "12.9999999999"])
def test_a_variable_without_cuda_is_an_error(text: str, facts: Compatibility, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCED_CUDA, text)
    with pytest.raises(UsageError, match=FORCED_CUDA):
        nvidia_of(LINUX, facts)


@pytest.mark.parametrize(
    ("values", "gpu", "note"),
    [
        (("90_virtual",), "12.0", "CUDA would run its PTX here; installers do not take it"),
        (("90_virtual", "80_real"), "8.9", None),
        (("90_virtual",), "9.0", None),
        (("90_real",), "12.0", None),
        (("90a_real",), "9.0", "CUDA would run its machine code here; installers do not take it"),
        (("86_real",), "8.7", "installers take it for this GPU, and CUDA runs none of its code on sm_87"),
        (("what", "_real", "x_virtual"), "9.0", None),
    ],
)
def test_differences_from_installers_are_said(
    values: tuple[str, ...], gpu: str, note: str | None, facts: Compatibility
) -> None:
    target = machine("580.65.06", gpu)
    assert code_note(values, nvidia_of(target, facts).values["sm_arch"], target) == note


MACHINE: Machine = {
    "cpu": Namespace(values={"level": ("v3", "v2", "v1"), "aes": ("on",)}, says=""),
    "blas": Namespace(values={"library": ("mkl", "openblas")}, says=""),
}
BY_CPU = Priorities(namespace=("cpu", "blas"))


def in_order(priorities: Priorities, *variants: Properties) -> bool:
    ranks = ranks_of(priorities, MACHINE)
    places = [place_of(each, ranks) for each in variants]
    return all(before < after for before, after in pairwise(places))


def test_the_first_namespace_weighs_most_then_the_feature_then_the_value() -> None:
    v3, v2, aes = {"cpu": {"level": ("v3",)}}, {"cpu": {"level": ("v2",)}}, {"cpu": {"aes": ("on",)}}
    mkl = {"blas": {"library": ("mkl",)}}
    assert in_order(BY_CPU, {**v3, **mkl}, v3, {**v2, **mkl}, v2, aes, mkl, {})
    assert in_order(Priorities(namespace=("blas", "cpu")), {**v2, **mkl}, mkl, v3, v2)


def test_the_best_value_that_fits_counts_and_more_properties_come_before_fewer() -> None:
    v3 = {"level": ("v3",)}
    assert in_order(BY_CPU, {"cpu": {"level": ("v9", "v3", "v1")}}, {"cpu": {"level": ("v2",)}})
    assert in_order(BY_CPU, {"cpu": {**v3, "aes": ("on",)}}, {"cpu": v3}, {})


def test_a_list_can_name_another_order_of_features_and_values() -> None:
    features = Priorities(namespace=("cpu",), feature={"cpu": ("aes",)})
    values = Priorities(namespace=("cpu",), property={"cpu": {"level": ("v1",)}})
    assert in_order(features, {"cpu": {"aes": ("on",)}}, {"cpu": {"level": ("v3",)}})
    assert in_order(values, *({"cpu": {"level": (each,)}} for each in ("v1", "v3", "v2")))


def test_what_the_machine_lacks_does_not_count_however_high_a_list_ranks_it() -> None:
    values = Priorities(namespace=("cpu",), property={"cpu": {"level": ("v9", "v1")}})
    assert in_order(values, {"cpu": {"level": ("v1",)}}, {"cpu": {"level": ("v9", "v3")}})


def test_a_list_full_of_names_is_read_once_for_all_its_variants() -> None:
    many = tuple(map(str, range(50_000)))
    priorities = Priorities(
        namespace=(*many, "cpu"), feature={"cpu": (*many, "level")}, property={"cpu": {"level": (*many, "v2")}}
    )
    ranks = ranks_of(priorities, {**dict.fromkeys(many, Namespace(values={}, says="")), **MACHINE})
    began = time.process_time()
    places = [place_of({"cpu": {"level": ("v2",)}}, ranks) for _ in range(5_000)]
    assert time.process_time() - began < 2
    assert places[0][0] == (50_000, 50_000, 0)
