"""One record for one fact: no two records have the same fields, unless the table below gives the reason."""

import ast
import itertools
from collections.abc import Iterator

from tests.source_code import nodes

MIN_SHARED_FIELDS = 4
"""Fewer are often the same by nature, such as a name, a hash and a size."""

EXCEPTIONS = {
    "axes of the matrix: of a cell, as text before it is checked or when it is printed, and as limits of a plan": {
        *("Cell", "ListedCell", "BuildFacts", "Part", "FilterOptions", "PlannedGroup", "GroupCell", "TargetKeys"),
        "Defaults",
    },
    "a machine: as it is detected, as options and files state it, and as it is printed": {
        *("TargetEnvironment", "Overrides", "TargetOptions", "DetectedTarget", "TargetKeys", "Part")
    },
    "an entry of a configuration and the defaults of its file": {"PackageEntry", "Defaults"},
    "an entry of a configuration and the tests that follow from it, which a wheel's provenance has": {
        *("PackageEntry", "Expectations")
    },
    "a manifest as it is written, and the texts that are read back from it unchecked": {
        *("SmokeResult", "ListedCertificate")
    },
    "settings of a build, and their texts in a manifest": {"BuildSettings", "ListedProvenance"},
    "a torch as its index publishes it, and as compatibility.yml states it": {"PublishedTorch", "TorchRelease"},
    "a link of any page of the simple API, and entries with the keys of PEP 691, as read and written": {
        *("Link", "_File", "_JsonRow")
    },
    "a link of any page, and the wheel behind it that is downloaded": {"Link", "WantedWheel"},
    "a wheel of ours in an index, and any wheel that was opened": {"ListedFile", "WheelFacts"},
    "the parts of a wheel's name, which has no address, and a wheel to choose from": {"Candidate", "WheelName"},
    "explanations of plain wheels and of variant wheels": {"Explanation", "VariantExplanation"},
    "printed as JSON: the keys are promised, whatever becomes of the record": {
        *("Chosen", "WantedWheel"),
        *("ExplainVariants", "VariantExplanation"),
        *("CodeInside", "ListedEvidence"),
        *("WheelShown", "WheelName"),
        *("ReleaseEntry", "LedgerRelease"),
        *("IndexCheck", "ConformanceReport"),
    },
}
"""Records that share fields, by the reason."""


def own_fields() -> Iterator[tuple[str, set[str]]]:
    """Yield the fields of every record, without those that it inherits."""
    for _, node in nodes():
        if isinstance(node, ast.ClassDef):
            targets = (line.target for line in node.body if isinstance(line, ast.AnnAssign))
            yield node.name, {target.id for target in targets if isinstance(target, ast.Name)}


def similar_records() -> Iterator[frozenset[str]]:
    """Yield the pairs that share more than two thirds of the fields of the smaller one."""
    for (name, own), (other, others) in itertools.combinations(own_fields(), 2):
        shared = len(own & others)
        if shared >= MIN_SHARED_FIELDS and 3 * shared > 2 * min(len(own), len(others)):
            yield frozenset({name, other})


def test_no_two_records_have_the_same_fields() -> None:
    pairs = [set(pair) for pair in similar_records()]
    assert [pair for pair in pairs if not any(pair <= names for names in EXCEPTIONS.values())] == []


def test_every_exception_is_needed() -> None:
    pairs = [*similar_records()]
    needed = {reason: set().union(*(pair for pair in pairs if pair <= names)) for reason, names in EXCEPTIONS.items()}
    assert {reason: names - needed[reason] for reason, names in EXCEPTIONS.items() if names != needed[reason]} == {}
