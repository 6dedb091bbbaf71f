"""``wheelmill resolve``: the wheels that fit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wheelmill.cli.client.search import SearchOptions, package_argument
from wheelmill.cli.shared.options import SignerOption, signer_of, with_groups
from wheelmill.cli.shared.output import JsonOption, print_json, say, say_warning
from wheelmill.cli.shared.target import TargetOptions, requirements_of
from wheelmill.client.choose.resolve import resolve as resolve_requirements
from wheelmill.client.records import Choice, Resolution, SourceOutcome
from wheelmill.errors import NetworkError, NoWheelError, UsageError
from wheelmill.names import ProjectName, StableTorch, project_name
from wheelmill.wheel.torch_need import torch_in_json, words_for

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import Chosen, Resolve, SourceLooked
    from wheelmill.cli.client.outputs import Resolution as ResolutionContent

RequirementsArgument = Annotated[
    list[str],
    package_argument("Packages: flash-attn, 'mamba-ssm>=2,<3'.", "REQUIREMENT..."),
]


@with_groups
def resolve(
    requirements: RequirementsArgument,
    *,
    target: TargetOptions,
    search: SearchOptions,
    project: Annotated[str, typer.Option(help="Name of the printed project.", metavar="NAME")] = "my-project",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write it to this file, which must be new.", metavar="FILE")
    ] = None,
    require_attestation: SignerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose wheels for a target and print a pyproject.toml with them. Exits with 8 when a package has none."""
    if output and output.exists():
        raise UsageError("file-exists", f"{output} already exists", hint="'wheelmill add' changes an existing project")
    resolution = resolve_requirements(requirements_of(requirements), target.here().detect(), search.search())
    print_resolution(resolution)
    demand_attestations([resolution], require_attestation)
    if as_json:
        content: Resolve = {"schema": "wheelmill.resolve/1", **resolution_content(resolution)}
        print_json(content)
    elif resolution.choices:
        _write_text(resolution, project, output)
    if resolution.unresolved:
        raise no_wheel_error([resolution])


def demand_attestations(resolutions: Iterable[Resolution], option: str | None) -> None:
    """Refuse wheels that are not attested by the repository that the option names.

    Raises:
        IntegrityError: names the wheels that are not.
        UsageError: the option names no repository, or this machine lacks what verifying takes.
    """
    if signer := signer_of(option):
        from wheelmill.client.choose.look import check_attested  # noqa: PLC0415 - only where it is asked for

        check_attested(resolutions, signer)


def no_wheel_error(resolutions: Iterable[Resolution]) -> NoWheelError | NetworkError:
    """The error for projects without a wheel, with a hint: a source that did not answer may have one."""
    found = list(resolutions)
    missing = {name for resolution in found for name in resolution.unresolved}
    return absence_error(missing, [each for resolution in found for each in resolution.sources])


def absence_error(missing: Iterable[ProjectName], outcomes: Iterable[SourceOutcome]) -> NoWheelError | NetworkError:
    """The error for projects without a wheel.

    Args:
        missing: the projects without a wheel.
        outcomes: the outcomes of sources, for these projects and others.
    """
    names = frozenset(missing)
    projects = ", ".join(sorted(names))
    asked = [each for each in outcomes if each.project in names]
    if silent := sorted({each.url for each in asked if each.outcome.is_open}):
        hint = "mend what is said of each, or try again later; --source names other sources"
        if all(each.outcome.is_open for each in asked):
            return NetworkError(
                "sources-silent", f"no wheel for {projects}, as no source answered: {', '.join(silent)}", hint=hint
            )
        return NetworkError(
            "sources-silent",
            f"no wheel for {projects} in the sources that answered; these did not: {', '.join(silent)}",
            hint=hint,
        )
    return NoWheelError(
        "no-wheel",
        f"no wheel for {projects}",
        hint="'wheelmill explain' shows every candidate; 'wheelmill add --build' compiles what packages.yml has",
    )


def print_resolution(resolution: Resolution) -> None:
    """Print what was chosen and what was not, one line each."""
    outcomes = [each for each in resolution.sources if each.project in resolution.unresolved]
    say_warnings(resolution.warnings, outcomes)
    say(f"for {resolution.environment}:")
    for name, choice in resolution.choices.items():
        say(f"  {name}: {choice.candidate.filename} of {choice.candidate.source.name}")
        if isinstance(choice.candidate.torch, StableTorch):
            say(f"    for {words_for(choice.candidate.torch)}")
        for note in choice.notes:
            say(f"    note: {note}")
    for name, missing in resolution.unresolved.items():
        say(f"  {name}: {missing.reason}")
        if missing.suggestion:
            say(f"    hint: {missing.suggestion}")
        print_outcomes(each for each in outcomes if each.project == name)


def say_warnings(warnings: Iterable[str], outcomes: Iterable[SourceOutcome]) -> None:
    """Say warnings, but for those of sources whose outcomes follow, together with the error that has their URLs."""
    told = {each.warning for each in outcomes if each.outcome.is_open}
    for warning in warnings:
        if warning not in told:
            say_warning(warning)


def print_outcomes(outcomes: Iterable[SourceOutcome]) -> None:
    """Print the outcome of each source, one line each."""
    for each in outcomes:
        say(f"    {each.source.name}: {each.outcome}{f', {each.detail}' if each.detail else ''}")


def resolution_content(resolution: Resolution) -> ResolutionContent:
    """The resolution as JSON shows it."""
    target = resolution.environment
    return {
        "environment": {
            "python": str(target.python),
            "platform": str(target.platform),
            "torch": str(target.torch) if target.torch else None,
            "cuda": str(target.cuda) if target.cuda else None,
        },
        "resolved": {name: _choice_content(choice) for name, choice in resolution.choices.items()},
        "unresolved": {name: missing.reason for name, missing in resolution.unresolved.items()},
        "suggestions": {name: missing.suggestion for name, missing in resolution.unresolved.items()},
        "warnings": list(resolution.warnings),
        "sources": outcomes_content(resolution.sources),
    }


def outcomes_content(outcomes: Iterable[SourceOutcome]) -> list[SourceLooked]:
    """The outcomes of sources as JSON shows them."""
    return [
        {
            "project": each.project,
            "source": each.source.name,
            "outcome": each.outcome,
            "url": each.url,
            "detail": each.detail,
        }
        for each in outcomes
    ]


def _choice_content(choice: Choice) -> Chosen:
    candidate = choice.candidate
    return {
        "version": str(candidate.version),
        "filename": candidate.filename,
        "url": candidate.url,
        "sha256": candidate.sha256,
        "size": candidate.size,
        "source": candidate.source.name,
        **torch_in_json(candidate.torch),
        "notes": list(choice.notes),
    }


def _write_text(resolution: Resolution, name: str, output: Path | None) -> None:
    from wheelmill.client.project.change import new_project_text  # noqa: PLC0415 - JSON needs no TOML
    from wheelmill.system.files import write_bytes  # noqa: PLC0415 - the same

    try:
        text = new_project_text(resolution, project_name(name))
    except ValueError as error:
        raise UsageError("project-name-invalid", f"--project: {error}") from None
    if output:
        write_bytes(output, text.encode())
        say(f"wrote {output}")
    else:
        print(text, end="")  # noqa: T201 - the result
