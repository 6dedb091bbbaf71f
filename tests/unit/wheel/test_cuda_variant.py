"""CUDA wheels in the words that variants are compared by."""

import pytest

from wheelmill.names import Architecture, CudaVersion
from wheelmill.wheel.cuda_variant import NULL_VARIANT, Variant, metadata_of
from wheelmill.wheel.variant_metadata import KNOWN_SCHEMAS, read_variant_metadata, variant_metadata_bytes

CUDA = CudaVersion(13, 0)


def gpus_of(*code: str) -> tuple[str, ...] | None:
    """The values of ``sm_arch`` of a wheel with such code."""
    read = [(each, Architecture.of_code(each)) for each in code]
    sass, ptx = ([arch for name, arch in read if name.startswith(kind)] for kind in ("sm_", "compute_"))
    variant = Variant.of(CUDA, sass, ptx)
    return variant.properties["nvidia"].get("sm_arch", ()) if variant else None


@pytest.mark.parametrize(
    ("code", "values"),
    [
        (["sm_80", "sm_90", "compute_120", "sm_120"], ("80_real", "90_real", "120_real", "120_virtual")),
        (["sm_90a"], ("90_real",)),  # no other GPU is of its major release
        (["sm_100f"], ("100_real",)),  # its family is what that word says
        (["sm_100", "sm_100a"], ("100_real",)),
        (["sm_100a", "sm_90"], ("90_real",)),  # 100_real would be taken for a B300, which does not run it
        (["sm_87", "sm_80"], ("80_real",)),  # for a Jetson, not for what uv thinks is like it
        (["compute_90a", "sm_80"], ("80_real",)),
        ([], ()),
        (["sm_100a"], None),
        (["sm_87"], None),
    ],
)
def test_gpus_are_named_where_the_words_are_true(code: list[str], values: tuple[str, ...] | None) -> None:
    assert gpus_of(*code) == values


def test_a_label_stands_for_its_properties() -> None:
    code, more = [Architecture(9, 0)], [Architecture(9, 0), Architecture(12, 0)]
    variants = [Variant.of(CUDA, code, []), Variant.of(CUDA, more, []), Variant.of(CudaVersion(12, 8), code, [])]
    labels = [variant.label for variant in variants if variant]
    assert [label.partition("_")[0] for label in labels] == ["cu130", "cu130", "cu128"]
    assert len({*labels}) == len(labels)
    assert max(map(len, labels)) <= 16
    assert Variant.of(CUDA, reversed(more), []) == variants[1]


def test_what_is_said_of_them_follows_a_known_draft() -> None:
    variant = Variant.of(CUDA, [Architecture(9, 0)], [])
    assert variant
    said = metadata_of({variant.label: variant.properties, NULL_VARIANT.label: NULL_VARIANT.properties})
    assert read_variant_metadata(variant_metadata_bytes(said)) == said
    assert said.schema in KNOWN_SCHEMAS
