"""``wheelmill explain`` and ``available``: the nearest wheels of a package with every reason against them, or all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from packaging.utils import canonicalize_name

from wheelmill.cli.client.resolve import SearchOptions, absence_error, package_argument, print_absences, say_warnings
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import TargetOptions, projects_of, requirements_of, with_groups
from wheelmill.client.choose.choice import no_wheel_of
from wheelmill.client.choose.explain import Assessment, Explanation, Offer, find_offer, has_namesake
from wheelmill.client.choose.explain import explain as explain_requirement
from wheelmill.client.records import Candidate, Mismatch, Search, TargetEnvironment, WheelInspection
from wheelmill.client.variants.explain import VariantExplanation, VariantVerdict, explain_variants
from wheelmill.client.variants.machine import property_text
from wheelmill.names import StableTorch
from wheelmill.system.progress import number_of, size
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.label import torch_in_json, words_for

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from wheelmill.cli.client.outputs import (
        Assessed,
        AssessedVariantWheel,
        AssessedWheel,
        Available,
        Explain,
        ExplainVariants,
        Refusal,
    )


_NEAREST: Final = 10
"""Wheels that are shown without --all."""


@with_groups
def explain(
    requirement: Annotated[str, package_argument("A package: flash-attn, 'mamba-ssm>=2,<3'.", "REQUIREMENT")],
    *,
    target: TargetOptions,
    search: SearchOptions,
    fitting: Annotated[bool, typer.Option("--fitting", help="Show only the wheels that fit, but all of them.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every wheel, not only the nearest ten.")] = False,
    variants: Annotated[
        bool, typer.Option("--variants", help="Show which variant wheel (PEP 825, a draft) this machine gets, and why.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the ten wheels of a package nearest to the target, with every reason against them.

    Wheels that fit come first, the best at the top; then those that need the smallest change. --json has all of them.
    Exits with 8 where there is no wheel at all.
    """
    (wanted,) = requirements_of([requirement])
    report = _report_variants if variants else _report_wheels
    most = None if everything or fitting else _NEAREST
    explanation, content, lines = report(
        wanted, target.detect_for_project(), search.search(), fitting=fitting, most=most
    )
    say_warnings(explanation.warnings, () if explanation.verdicts or as_json else explanation.sources)
    if content.get("namesake"):
        name = wanted.name
        say(f"the package index has another project named {name}: an installer of your own may take that one")
    if as_json:
        print_json(content)
    elif explanation.verdicts:
        print("\n".join(lines))
        if cached := [each.source for each in explanation.sources if each.cached]:
            print(f"from the cache: {some_of(cached)}; --refresh asks again")
    if not explanation.verdicts:
        project = canonicalize_name(wanted.name)
        absence = explanation.absence if isinstance(explanation, Explanation) else None
        print_absences({project: absence or no_wheel_of(project)}, explanation.sources)
        raise absence_error([project], explanation.sources)


def _report_wheels(
    requirement: Requirement, target: TargetEnvironment, search: Search, *, fitting: bool, most: int | None
) -> tuple[Explanation, Explain, Iterator[str]]:
    """Explain the wheels of a package, as JSON and in lines; ``most`` is None if the lines have all of them."""
    explanation = explain_requirement(requirement, target, search)
    listed = [verdict for verdict in explanation.verdicts if not (fitting and verdict.against)]
    content: Explain = {
        "schema": "wheelmill.explain/1",
        "namesake": has_namesake(canonicalize_name(requirement.name)),
        "environment": str(explanation.environment),
        "candidates": [_verdict_content(verdict) for verdict in listed],
        "suggestion": explanation.absence.suggestion if explanation.absence else None,
        "sources": explanation.sources,
    }
    return explanation, content, _lines(explanation, listed, most)


def _lines(explanation: Explanation, listed: Sequence[Assessment], most: int | None) -> Iterator[str]:
    yield f"for {explanation.environment}:"
    for verdict in listed[:most]:
        candidate = verdict.candidate
        yield _heading(candidate, verdict.against)
        if isinstance(candidate.torch, StableTorch):
            yield f"    for {words_for(candidate.torch)}"
        if verdict.inside is not None:
            yield f"    inside: {verdict.inside}"
        yield from _reasons(verdict.against)
    against = [verdict.against for verdict in explanation.verdicts]
    yield f"{number_of(len(against), 'wheel')}: {_totals(against)}"
    yield from _others(listed, most)
    if explanation.absence and explanation.absence.suggestion:
        yield f"hint: {explanation.absence.suggestion}"


def _report_variants(
    requirement: Requirement, target: TargetEnvironment, search: Search, *, fitting: bool, most: int | None
) -> tuple[VariantExplanation, ExplainVariants, Iterator[str]]:
    explanation = explain_variants(requirement, target, search)
    listed = [verdict for verdict in explanation.verdicts if not (fitting and verdict.against)]
    best, taken = explanation.best, explanation.taken
    content: ExplainVariants = {
        "schema": "wheelmill.explain-variants/1",
        "environment": str(explanation.environment),
        "machine": {name: namespace.says for name, namespace in explanation.machine.items()},
        "wheels": [_variant_content(verdict) for verdict in listed],
        "gets": best.wheel.candidate.filename if best else None,
        "uv_takes": taken.wheel.candidate.filename if taken else None,
        "command": explanation.command,
        "warnings": explanation.warnings,
        "sources": explanation.sources,
    }
    return explanation, content, _variant_lines(explanation, listed, most)


def _variant_lines(
    explanation: VariantExplanation, listed: Sequence[VariantVerdict], most: int | None
) -> Iterator[str]:
    yield f"for {explanation.environment}:"
    for name, namespace in explanation.machine.items():
        yield f"  {name}: {namespace.says}"
    for verdict in listed[:most]:
        yield _heading(verdict.wheel.candidate, verdict.against)
        for name, features in (verdict.variant.properties if verdict.variant else {}).items():
            for feature, values in features.items():
                yield f"    {property_text(name, feature, values)}"
        yield from _reasons(verdict.against)
        for note in verdict.notes:
            yield f"    note: {note}"
    against = [verdict.against for verdict in explanation.verdicts]
    variants = sum(verdict.wheel.label is not None for verdict in explanation.verdicts)
    yield f"{number_of(len(against), 'wheel')}, {variants} of them variants: {_totals(against)}"
    yield from _others(listed, most)
    best, taken = explanation.best, explanation.taken
    yield f"this machine gets {best.wheel.candidate.filename if best else 'none of them'}"
    if taken and not explanation.is_as_uv:
        yield f"uv takes {taken.wheel.candidate.filename}: it does not compare torch and GPU code with what is here"
    if explanation.command:
        yield f"to install it: {explanation.command}"


def _heading(candidate: Candidate, against: Sequence[Mismatch]) -> str:
    return f"{'-' if against else '+'} {candidate.filename}  [{candidate.source.name}]"


def _reasons(against: Iterable[Mismatch]) -> Iterator[str]:
    return (f"    {mismatch.aspect}: {mismatch.reason}" for mismatch in against)


def _totals(reasons: Sequence[Sequence[Mismatch]]) -> str:
    """``3 fitting, 4 refused for torch, 2 refused for python``."""
    counts = Counter(aspect for against in reasons for aspect in dict.fromkeys(each.aspect for each in against))
    refused = "".join(f", {count} refused for {aspect}" for aspect, count in counts.most_common())
    return f"{sum(not against for against in reasons)} fitting{refused}"


def _others(listed: Sequence[object], most: int | None) -> Iterator[str]:
    if most is not None and len(listed) > most:
        yield f"these are the nearest {most}; --all shows the other {len(listed) - most}"


def _variant_content(verdict: VariantVerdict) -> AssessedVariantWheel:
    return {
        **_assessed(verdict.wheel.candidate, verdict.against),
        "version": str(verdict.wheel.candidate.version),
        "variant": verdict.wheel.label,
        "properties": verdict.variant.properties if verdict.variant else None,
        "notes": verdict.notes,
    }


def _verdict_content(verdict: Assessment) -> AssessedWheel:
    inside = verdict.inside
    return {
        **_assessed(verdict.candidate, verdict.against),
        **torch_in_json(verdict.candidate.torch),
        "inside": inside if isinstance(inside, WheelInspection) else None,
        "note": inside if isinstance(inside, str) else None,
    }


def _assessed(candidate: Candidate, against: Iterable[Mismatch]) -> Assessed:
    refusals: list[Refusal] = [{"stage": mismatch.aspect, "reason": mismatch.reason} for mismatch in against]
    return {
        "filename": candidate.filename,
        "url": candidate.url,
        "source": candidate.source.name,
        "fits": not refusals,
        "refusals": refusals,
    }


@with_groups
def available(
    projects: Annotated[list[str], package_argument("Packages: flash-attn.", "PROJECT...")],
    *,
    target: TargetOptions,
    search: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """List the CUDA, torch and Python releases that packages have wheels for, with sources. Exits with 8 without any.

    In a pipe, sources have their whole addresses.
    """
    environment = target.here().detect()
    offers = {
        name: find_offer(name, environment.platform, environment, search.search()) for name in projects_of(projects)
    }
    for offer in offers.values():
        say_warnings(offer.warnings, () if offer.combinations else offer.sources)
    outcomes = [each for offer in offers.values() for each in offer.sources]
    if as_json:
        content: Available = {
            "schema": "wheelmill.available/1",
            "platform": environment.platform,
            "projects": {name: offer.combinations for name, offer in offers.items()},
            "sources": outcomes,
        }
        print_json(content)
    else:
        for name, offer in offers.items():
            if offer.combinations:
                _print_table(f"{name} on {environment.platform}", offer)
    if missing := {name: offer.absence for name, offer in offers.items() if not offer.combinations}:
        print_absences(missing, [each for each in outcomes if each.project in missing])
        raise absence_error(missing, outcomes)


def _print_table(title: str, offer: Offer) -> None:
    from rich.table import Table  # its import takes longer than an explanation

    from wheelmill.cli.shared.terminal import STDOUT

    addresses = {} if STDOUT.is_terminal else {each.source: each.url for each in offer.sources}
    STDOUT.width = STDOUT.width if STDOUT.is_terminal else 10_000  # which no row fills
    table = Table("CUDA", "torch", "Python", "Versions", "Size", "Sources", title=title, title_justify="left")
    for group in offer.combinations:
        sizes = dict.fromkeys(size(number) for number in (group.smallest, group.largest) if number is not None)
        sources = ", ".join(addresses.get(source, source) for source in group.sources)
        texts = " ".join(group.pythons), " ".join(group.versions), " - ".join(sizes), sources
        table.add_row(*(text or "-" for text in (group.cuda, group.torch_in_words, *texts)))
    STDOUT.print(table)
