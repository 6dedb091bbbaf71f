"""What says which machines variant wheels are for."""

import json
from typing import Any

import pytest

from wheelmill.errors import UnreadableError
from wheelmill.wheel.variant_metadata import (
    MAX_VALUES,
    MAX_VARIANT_METADATA,
    SCHEMA,
    read_variant_metadata,
    variant_metadata_bytes,
)

LIST: dict[str, Any] = {
    "$schema": SCHEMA,
    "default-priorities": {"namespace": ["nvidia"]},
    "providers": {"nvidia": {"plugin-api": "some.plugin:Class", "requires": ["some-provider>=1"]}},
    "variants": {"cu130": {"nvidia": {"sm_arch": ["90_real", "120_real"]}}, "null": {}},
}


def changed(**keys: object) -> bytes:
    return json.dumps({**LIST, **{key.replace("_", "-"): value for key, value in keys.items()}}).encode()


def test_what_is_written_is_read_again() -> None:
    metadata = read_variant_metadata(changed())
    assert metadata.is_known
    assert metadata.variants == {"cu130": {"nvidia": {"sm_arch": ("90_real", "120_real")}}, "null": {}}
    assert metadata.providers["nvidia"].plugin_api == "some.plugin:Class"
    written = variant_metadata_bytes(metadata)
    assert json.loads(written) == LIST
    assert variant_metadata_bytes(read_variant_metadata(written)) == written


def test_keys_that_the_drafts_lack_are_passed_over_and_other_schemas_are_told() -> None:
    metadata = read_variant_metadata(changed(**{"$schema": "https://example.org/v9.json", "static_properties": {}}))
    assert not metadata.is_known


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"[]", "says nothing of variants"),
        (b"\xff", "says nothing of variants"),
        (b"[" * 100_000, "says nothing of variants"),
        (b" " * (MAX_VARIANT_METADATA + 1), "more than 1048576"),
        (changed(variants={"CU": {}}), "expected a variant's label"),
        (changed(variants={"null": {"nvidia": {"a": ["b"]}}}), "'null' has properties"),
        (changed(variants={"x": {"amd": {"a": ["b"]}}}), "not in default-priorities"),
        (changed(variants={"x": {"nvidia": {"a": []}}}), "expected values, each once"),
        (changed(variants={"x": {"nvidia": {"a": ["b", "b"]}}}), "expected values, each once"),
        (changed(variants={"x": {"nvidia": {"a": ["B\x1b"]}}}), r"not 'B\\x1b'"),
        (changed(variants={"x": {"nvidia": {"A": ["b"]}}}), "expected a name"),
        (changed(variants={"x": {"nvidia": {"a": list(map(str, range(MAX_VALUES + 1)))}}}), "more than 10000 values"),
        (changed(default_priorities={"namespace": ["nvidia", "nvidia"]}), "names one twice"),
        (changed(default_priorities={"namespace": ["n" * 2000]}), "says nothing of variants"),
    ],
)
def test_what_no_real_one_has_is_refused(content: bytes, fault: str) -> None:
    with pytest.raises(UnreadableError, match=fault):
        read_variant_metadata(content)
