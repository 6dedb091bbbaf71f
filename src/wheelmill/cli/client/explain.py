"""``wheelmill explain``: the nearest wheels, or variant wheels, with every reason against them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from packaging.utils import canonicalize_name

from wheelmill.cli.client.resolve import SearchOptions, outcomes_content, package_argument, print_outcomes
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import TargetOptions, requirements_of, with_groups
from wheelmill.client.choose.explain import Assessment, Explanation, has_namesake
from wheelmill.client.choose.explain import explain as explain_requirement
from wheelmill.client.records import Inside
from wheelmill.client.variants.explain import explain_variants
from wheelmill.client.variants.machine import property_text
from wheelmill.names import StableTorch
from wheelmill.system.progress import number_of
from wheelmill.wheel.label import torch_in_json, words_for

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from wheelmill.cli.client.outputs import AssessedVariantWheel, AssessedWheel, Explain, ExplainVariants
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
        "warnings": explanation.warnings,
        "sources": outcomes_content(explanation.sources),
    }


def _variant_content(verdict: VariantVerdict) -> AssessedVariantWheel:
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
        "notes": verdict.notes,
    }


_NEAREST: Final = 10


@with_groups
def explain(
    requirement: Annotated[str, package_argument("A package: flash-attn, 'mamba-ssm>=2,<3'.", "REQUIREMENT")],
    *,
    target: TargetOptions,
    search: SearchOptions,
    fitting: Annotated[bool, typer.Option("--fitting", help="Show all wheels that fit, and no others.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every wheel, not only the nearest ten.")] = False,
    variants: Annotated[
        bool, typer.Option("--variants", help="Variant wheels (PEP 825, a draft): which this machine gets, and why.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the ten wheels of a package that are nearest to the target, with every reason against them.

    Wheels that fit come first, the best at the top; then those that need the smallest change. --json has all of them.
    """
    (wanted,) = requirements_of([requirement])
    if variants:
        most = None if everything or fitting else _NEAREST
        print_variants(wanted, target.here().detect(), search.search(), fitting=fitting, most=most, as_json=as_json)
        return
    explanation = explain_requirement(wanted, target.here().detect(), search.search())
    listed = [verdict for verdict in explanation.verdicts if not (fitting and verdict.against)]
    for warning in explanation.warnings:
        say(f"warning: {warning}")
    namesake = has_namesake(canonicalize_name(wanted.name))
    if namesake:
        say(f"the package index has another project named {wanted.name}: an installer of your own may take that one")
    if as_json:
        content: Explain = {
            "schema": "wheelmill.explain/1",
            "namesake": namesake,
            "environment": str(explanation.environment),
            "candidates": [_verdict_content(verdict) for verdict in listed],
            "suggestion": explanation.absence.suggestion if explanation.absence else None,
            "sources": outcomes_content(explanation.sources),
        }
        print_json(content)
        return
    print(f"for {explanation.environment}:")  # noqa: T201 - the result
    shown = listed if everything or fitting else listed[:_NEAREST]
    for verdict in shown:
        _print_verdict(verdict)
    print(_totals(explanation))  # noqa: T201
    if len(shown) < len(listed):
        print(f"these are the nearest {len(shown)}; --all shows the other {len(listed) - len(shown)}")  # noqa: T201
    if explanation.absence and explanation.absence.suggestion:
        print(f"hint: {explanation.absence.suggestion}")  # noqa: T201
    if not explanation.verdicts:
        print_outcomes(explanation.sources)


def _print_verdict(verdict: Assessment) -> None:
    mark = "-" if verdict.against else "+"
    print(f"{mark} {verdict.candidate.filename}  [{verdict.candidate.source.name}]")  # noqa: T201
    if isinstance(verdict.candidate.torch, StableTorch):
        print(f"    for {words_for(verdict.candidate.torch)}")  # noqa: T201
    if verdict.inside is not None:
        print(f"    inside: {verdict.inside}")  # noqa: T201
    for mismatch in verdict.against:
        print(f"    {mismatch.aspect}: {mismatch.reason}")  # noqa: T201


def _totals(explanation: Explanation) -> str:
    """``9 wheels: 3 fitting, 4 refused for torch, 2 refused for python``."""
    counts = Counter(
        aspect for verdict in explanation.verdicts for aspect in dict.fromkeys(each.aspect for each in verdict.against)
    )
    fits = sum(not verdict.against for verdict in explanation.verdicts)
    aspects = "".join(f", {count} refused for {aspect}" for aspect, count in counts.most_common())
    return f"{number_of(len(explanation.verdicts), 'wheel')}: {fits} fitting{aspects}"


def _verdict_content(verdict: Assessment) -> AssessedWheel:
    candidate, inside = verdict.candidate, verdict.inside
    return {
        "filename": candidate.filename,
        "url": candidate.url,
        "source": candidate.source.name,
        **torch_in_json(candidate.torch),
        "fits": not verdict.against,
        "refusals": [{"stage": mismatch.aspect, "reason": mismatch.reason} for mismatch in verdict.against],
        "inside": inside if isinstance(inside, Inside) else None,
        "note": inside if isinstance(inside, str) else None,
    }
