"""``wheelmill explain --variants``: which variant wheel this machine gets, and why none of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wheelmill.cli.client.resolve import outcomes_content, print_outcomes
from wheelmill.cli.shared.output import print_json, say
from wheelmill.client.variants.explain import explain_variants
from wheelmill.client.variants.machine import property_text
from wheelmill.system.progress import number_of

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from wheelmill.cli.client.outputs import ExplainVariants, VariantWheel
    from wheelmill.client.choose.resolve import Search
    from wheelmill.client.records import TargetEnvironment
    from wheelmill.client.variants.explain import VariantExplanation, VariantVerdict


def print_variants(
    requirement: Requirement,
    target: TargetEnvironment,
    search: Search,
    *,
    fitting: bool,
    most: int | None,
    as_json: bool,
) -> None:
    """Explain the variants of a package, as text or JSON.

    Args:
        requirement: the package, and the versions that are wanted.
        target: what wheels are compared with.
        search: where they are looked for.
        fitting: whether only wheels that fit are shown.
        most: so many wheels are shown in text; None shows them all.
        as_json: whether a program reads it.
    """
    explanation = explain_variants(requirement, target, search)
    listed = [verdict for verdict in explanation.verdicts if not (fitting and verdict.against)]
    for warning in explanation.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(_content(explanation, listed))
        return
    for line in _lines(explanation, listed, most):
        print(line)  # noqa: T201 - the result
    if not explanation.verdicts:
        print_outcomes(explanation.sources)


def _lines(explanation: VariantExplanation, listed: Sequence[VariantVerdict], most: int | None) -> Iterator[str]:
    yield f"for {explanation.environment}:"
    for name, namespace in explanation.machine.items():
        yield f"  {name}: {namespace.says}"
    for verdict in listed[:most]:
        yield from _lines_of(verdict)
    yield _totals_of_variants(explanation.verdicts)
    if most is not None and len(listed) > most:
        yield f"these are the nearest {most}; --all shows the other {len(listed) - most}"
    yield from _outcome(explanation)


def _lines_of(verdict: VariantVerdict) -> Iterator[str]:
    candidate = verdict.wheel.candidate
    yield f"{'-' if verdict.against else '+'} {candidate.filename}  [{candidate.source.name}]"
    for name, features in (verdict.variant.properties if verdict.variant else {}).items():
        for feature, values in features.items():
            yield f"    {property_text(name, feature, values)}"
    for mismatch in verdict.against:
        yield f"    {mismatch.aspect}: {mismatch.reason}"
    for note in verdict.notes:
        yield f"    note: {note}"


def _totals_of_variants(verdicts: Sequence[VariantVerdict]) -> str:
    """``7 wheels, 6 of them variants: 3 fitting, 4 refused for variant``."""
    counts = Counter(aspect for each in verdicts for aspect in {mismatch.aspect for mismatch in each.against})
    variants = sum(each.wheel.label is not None for each in verdicts)
    fits = sum(not each.against for each in verdicts)
    refused = "".join(f", {count} refused for {aspect}" for aspect, count in counts.most_common())
    return f"{number_of(len(verdicts), 'wheel')}, {variants} of them variants: {fits} fitting{refused}"


def _outcome(explanation: VariantExplanation) -> Iterator[str]:
    best, taken = explanation.best, explanation.taken
    if best is None:
        yield "this machine gets none of them"
    else:
        yield f"this machine gets {best.wheel.candidate.filename}"
    if taken and not explanation.is_as_uv:
        yield f"uv takes {taken.wheel.candidate.filename}: it does not compare torch and GPU code with what is here"
    if explanation.command:
        yield f"to install it: {explanation.command}"


def _content(explanation: VariantExplanation, listed: Sequence[VariantVerdict]) -> ExplainVariants:
    best, taken = explanation.best, explanation.taken
    return {
        "schema": "wheelmill.explain-variants/1",
        "environment": str(explanation.environment),
        "machine": {name: namespace.says for name, namespace in explanation.machine.items()},
        "wheels": [_variant_content(verdict) for verdict in listed],
        "gets": best.wheel.candidate.filename if best else None,
        "uv_takes": taken.wheel.candidate.filename if taken else None,
        "command": explanation.command,
        "warnings": list(explanation.warnings),
        "sources": outcomes_content(explanation.sources),
    }


def _variant_content(verdict: VariantVerdict) -> VariantWheel:
    candidate = verdict.wheel.candidate
    return {
        "filename": candidate.filename,
        "url": candidate.url,
        "source": candidate.source.name,
        "version": str(candidate.version),
        "variant": verdict.wheel.label,
        "properties": verdict.variant.properties if verdict.variant else None,
        "fits": not verdict.against,
        "refusals": [{"stage": mismatch.aspect, "reason": mismatch.reason} for mismatch in verdict.against],
        "notes": list(verdict.notes),
    }
