"""``wheelmill explain``: every wheel, and every reason against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from wheelmill.cli.client.resolve import outcomes_content, print_outcomes
from wheelmill.cli.client.search import SearchOptions
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say
from wheelmill.cli.shared.target import TargetOptions, requirements_of
from wheelmill.client.choose.explain import Assessment
from wheelmill.client.choose.explain import explain as explain_requirement
from wheelmill.client.records import Inside
from wheelmill.names import StableTorch
from wheelmill.system.plain_records import plain_of
from wheelmill.wheel.torch_need import torch_in_json, words_for


@with_groups
def explain(
    requirement: Annotated[
        str, typer.Argument(help="A package: flash-attn, 'mamba-ssm>=2,<3'.", metavar="REQUIREMENT")
    ],
    *,
    target: TargetOptions,
    search: SearchOptions,
    fitting: Annotated[bool, typer.Option("--fitting", help="Only wheels that fit.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show every wheel of a package with every reason against it, the best first."""
    (wanted,) = requirements_of([requirement])
    explanation = explain_requirement(wanted, target.detect(), search.search())
    shown = [verdict for verdict in explanation.verdicts if not (fitting and verdict.against)]
    for warning in explanation.warnings:
        say(f"warning: {warning}")
    if as_json:
        candidates = [_verdict_content(verdict) for verdict in shown]
        print_json(
            "wheelmill.explain/1",
            environment=str(explanation.environment),
            candidates=candidates,
            sources=outcomes_content(explanation.sources),
        )
        return
    print(f"for {explanation.environment}:")  # noqa: T201 - the result
    for verdict in shown:
        mark = "-" if verdict.against else "+"
        print(f"{mark} {verdict.candidate.filename}  [{verdict.candidate.source.name}]")  # noqa: T201
        if isinstance(verdict.candidate.torch, StableTorch):
            print(f"    for {words_for(verdict.candidate.torch)}")  # noqa: T201
        if verdict.inside is not None:
            print(f"    inside: {verdict.inside}")  # noqa: T201
        for mismatch in verdict.against:
            print(f"    {mismatch.aspect}: {mismatch.reason}")  # noqa: T201
    counts = Counter(
        aspect for verdict in explanation.verdicts for aspect in dict.fromkeys(each.aspect for each in verdict.against)
    )
    fits = sum(not verdict.against for verdict in explanation.verdicts)
    aspects = "".join(f", {count} refused for {aspect}" for aspect, count in counts.most_common())
    print(f"{len(explanation.verdicts)} wheels: {fits} fit{aspects}")  # noqa: T201
    if not explanation.verdicts:
        print_outcomes(explanation.sources)


def _inside_content(inside: Inside) -> dict[str, object]:
    return asdict(inside) | {"torch_window": plain_of(inside.torch_window)}


def _verdict_content(verdict: Assessment) -> dict[str, object]:
    candidate, inside = verdict.candidate, verdict.inside
    return {
        "filename": candidate.filename,
        "url": candidate.url,
        "source": candidate.source.name,
        **torch_in_json(candidate.torch),
        "fits": not verdict.against,
        "refusals": [{"stage": mismatch.aspect, "reason": mismatch.reason} for mismatch in verdict.against],
        "inside": None if isinstance(inside, str | None) else _inside_content(inside),
        "note": inside if isinstance(inside, str) else None,
    }
