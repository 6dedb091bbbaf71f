"""PEP 825, a draft: wheels of which a machine takes one by more than their tags.

https://peps.python.org/pep-0825/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.served import ExaminedFile, ProjectDetail
from wheelmill.conformance.values import name_and_version
from wheelmill.conformance.violation import Violation, installs, rule
from wheelmill.errors import UnreadableError
from wheelmill.wheel.name import VARIANTS_SUFFIX, split_label, variants_filename
from wheelmill.wheel.variant import VARIANT_FILE, VariantMetadata, read_variant_metadata

LISTED: Final = rule(
    "825.1",
    "A page that lists variant wheels lists the variants.json of their version.",
    installs("passes over variant wheels"),
    installs("passes over variant wheels, unless its preview of them is on and variants.json is there"),
    section="Index-level metadata",
)

_WITH_PREVIEW: Final = installs("passes over variant wheels; with its preview of them on it fails: invalid metadata")
READABLE: Final = rule(
    "825.2",
    "variants.json can be read, and follows a draft that is known.",
    installs("passes over variant wheels"),
    _WITH_PREVIEW,
    section="Index-level metadata",
)
ITSELF: Final = rule(
    "825.3",
    "A variant wheel has a variant.json, which says the properties of its label and of no other.",
    installs("passes over variant wheels"),
    _WITH_PREVIEW,
    section="Variant metadata",
)


def check_variant_lists(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    names = [link.filename for link in detail.page.links]
    listed = {name_and_version(name) for name in names if name.endswith(VARIANTS_SUFFIX)}
    variants = Counter(name_and_version(name) for name in names if split_label(name)[1])
    for named, count in variants.items():
        if named and named not in listed:
            message = f"it lists variant wheels ({count}) and no {variants_filename(*named)}"
            yield LISTED.violation(detail.document.url, message)


def check_variant(file: ExaminedFile) -> Iterator[Violation]:
    """What a list of variants, or a variant wheel, breaks."""
    name = file.link.filename
    if file.variants and file.variants.ok and (fault := _read(file.variants.content)[1]):
        yield READABLE.violation(file.url, f"{name}: {fault}")
    _, label = split_label(name)
    if label is None or file.inside is None or file.inside.broken:
        return
    if file.inside.variant is None:
        yield ITSELF.violation(file.url, f"{name} has no {VARIANT_FILE}")
        return
    metadata, fault = _read(file.inside.variant)
    if fault:
        yield ITSELF.violation(file.url, f"{name}: {VARIANT_FILE}: {fault}")
    elif metadata and [*metadata.variants] != [label]:
        said = ", ".join(metadata.variants) or "none"
        yield ITSELF.violation(file.url, f"{name} is the variant {label}, and its {VARIANT_FILE} says {said:.200}")


def _read(content: bytes) -> tuple[VariantMetadata | None, str]:
    """What is said of variants, and what is wrong with it."""
    try:
        metadata = read_variant_metadata(content)
    except UnreadableError as error:
        return None, str(error)
    return metadata, "" if metadata.is_known else f"its $schema is {metadata.schema!r:.200}, which is not known"
