"""Variants that fit are ordered as PEP 825 says."""

import time
from itertools import pairwise

from wheelmill.client.variants.machine import Machine
from wheelmill.client.variants.namespace import Namespace
from wheelmill.client.variants.order import place_of, ranks_of
from wheelmill.wheel.variant import Priorities, Properties

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


def test_of_several_values_the_best_that_fits_counts() -> None:
    both, one = {"cpu": {"level": ("v9", "v3", "v1")}}, {"cpu": {"level": ("v2",)}}
    assert in_order(BY_CPU, both, one)


def test_more_properties_come_before_fewer() -> None:
    v3 = {"level": ("v3",)}
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
