"""Which machines a variant wheel is for: ``variant.json`` in it, and the list of a version's variants.

Both are drafts: https://peps.python.org/pep-0825/#variant-metadata and https://peps.python.org/pep-0850/
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Annotated, Final

from msgspec import DecodeError, Meta, Struct, field
from msgspec.json import Decoder, encode
from msgspec.json import format as indented

from wheelmill.errors import UnreadableError
from wheelmill.wheel.variant_label import NULL, is_label

VARIANT_FILE: Final = "variant.json"
"""Its name in ``.dist-info``."""
SCHEMA: Final = "https://variants-schema.wheelnext.dev/peps/850/v0.2.0.json"
"""The draft that our variant wheels follow, and which uv 0.13.8 reads without a warning."""
KNOWN_SCHEMAS: Final = frozenset(
    {
        SCHEMA,
        "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
        "https://variants-schema.wheelnext.dev/v0.2.0.json",  # variantlib 0.2.2 writes it
    }
)
"""The drafts that we read: of others nobody knows what their values mean."""
MAX_VARIANT_METADATA: Final = 1 << 20
"""Bytes. A list of a hundred variants has 20,000."""
MAX_VALUES: Final = 10_000
"""Of all variants of a list together."""

Text = Annotated[str, Meta(max_length=1_000)]
Properties = Mapping[str, Mapping[str, tuple[Text, ...]]]
"""The properties of a variant, by namespace and feature: of each feature, a machine must have one of the values."""

_IN_NAME: Final = frozenset(string.digits + string.ascii_lowercase + "_")
_IN_VALUE: Final = _IN_NAME | {"."}


class Priorities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What decides between variants that a machine could all take; the first counts most."""

    namespace: tuple[Text, ...]
    feature: dict[str, tuple[Text, ...]] = field(default_factory=dict)
    """By namespace."""
    property: dict[str, dict[str, tuple[Text, ...]]] = field(default_factory=dict)
    """By namespace and feature."""


class Provider(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="kebab"):
    """Who knows what a machine has of a namespace: a distribution that an installer asks, or stands in for."""

    requires: tuple[Text, ...] = ()
    plugin_api: Text | None = None
    """The object in it that is asked: ``module:object``."""
    enable_if: Text | None = None
    """A marker (PEP 508)."""
    optional: bool = False


class VariantMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="kebab"):
    """The properties of variants: of one in a wheel, of all in a list."""

    schema: Text = field(name="$schema")
    default_priorities: Priorities
    providers: dict[str, Provider] = field(default_factory=dict)
    """By namespace."""
    variants: dict[str, dict[str, dict[str, tuple[Text, ...]]]]
    """The properties of each, by its label."""

    @property
    def is_known(self) -> bool:
        """Whether it follows a draft that we read."""
        return self.schema in KNOWN_SCHEMAS


def read_variant_metadata(content: bytes) -> VariantMetadata:
    """Read a ``variant.json``, or the list of a version's variants; keys that the drafts lack are passed over.

    Raises:
        UnreadableError: it is none, or larger than any real one.
    """
    if len(content) > MAX_VARIANT_METADATA:
        raise UnreadableError(
            "variant-metadata-too-large", f"it has {len(content)} bytes, more than {MAX_VARIANT_METADATA}"
        )
    try:
        metadata = _decoder.decode(content)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError("variant-metadata-invalid", f"it says nothing of variants: {error}") from None
    if fault := next(_faults(metadata), None):
        raise UnreadableError("variant-metadata-invalid", fault)
    return metadata


def variant_metadata_bytes(metadata: VariantMetadata) -> bytes:
    """Write one: the same content gives the same bytes."""
    return indented(encode(metadata, order="sorted"), indent=2) + b"\n"


_decoder: Final = Decoder(VariantMetadata)


def _faults(metadata: VariantMetadata) -> Iterator[str]:
    namespaces = metadata.default_priorities.namespace
    known, properties = frozenset(namespaces), metadata.variants.values()
    if len(known) != len(namespaces):
        yield "default-priorities.namespace names one twice"
    values = (each for namespaced in properties for features in namespaced.values() for each in features.values())
    if sum(map(len, values)) > MAX_VALUES:
        yield f"it has more than {MAX_VALUES} values"
    for label, namespaced in metadata.variants.items():
        if not is_label(label):
            yield f"expected a variant's label, not {label!r:.100}"
        if label == NULL and any(namespaced.values()):
            yield f"the variant {NULL!r} has properties"
        for namespace, features in namespaced.items():
            if namespace not in known:
                yield f"variants.{label} has properties of {namespace!r:.100}, which is not in default-priorities"
            yield from _faults_of_features(f"variants.{label}", namespace, features)


def _faults_of_features(place: str, namespace: str, features: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    words: Iterable[str] = chain([namespace], features)
    for word in words:
        if not word or not _IN_NAME.issuperset(word):
            yield f"{place}: expected a name of a-z, 0-9 and _, not {word!r:.100}"
    for feature, values in features.items():
        if not values or len({*values}) != len(values):
            yield f"{place}.{namespace}.{feature}: expected values, each once"
        for value in values:
            if not value or not _IN_VALUE.issuperset(value):
                yield f"{place}.{namespace}.{feature}: expected a value of a-z, 0-9, _ and ., not {value!r:.100}"
