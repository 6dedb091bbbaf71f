"""``wheelmill explain``: the wheels that are nearest, and every reason against them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from packaging.utils import canonicalize_name

from wheelmill.cli.client.resolve import outcomes_content, print_outcomes
from wheelmill.cli.client.search import SearchOptions, package_argument
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say
from wheelmill.cli.shared.target import TargetOptions, requirements_of
from wheelmill.client.choose.explain import Assessment, Explanation, has_namesake
from wheelmill.client.choose.explain import explain as explain_requirement
from wheelmill.client.records import Inside
from wheelmill.names import StableTorch
from wheelmill.system.plain_records import plain_of
from wheelmill.system.progress import number_of
from wheelmill.wheel.torch_need import torch_in_json, words_for

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import Candidate, Explain

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
        from wheelmill.cli.client.variants import print_variants  # noqa: PLC0415 - not for plain wheels

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


def _inside_content(inside: Inside) -> Any:  # noqa: ANN401 - the record as JSON has it
    return asdict(inside) | {"torch_window": plain_of(inside.torch_window)}


def _verdict_content(verdict: Assessment) -> Candidate:
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
