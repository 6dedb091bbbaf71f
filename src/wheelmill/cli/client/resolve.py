"""``wheelmill resolve`` and ``search``: wheels that fit, and the sources that are searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wheelmill.cli.shared.commands import JsonOption, Waiting, print_json, say, say_warning
from wheelmill.cli.shared.options import SignerOption, TargetOptions, requirements_of, signer_of, with_groups
from wheelmill.client.choose.finder import known_projects
from wheelmill.client.choose.resolve import resolve as resolve_requirements
from wheelmill.client.project.find import find_existing_project
from wheelmill.client.records import Choice, Resolution, Search, Source, SourceOutcome, Unresolved, messages_of
from wheelmill.client.sources.pages import open_cache
from wheelmill.client.sources.sources import keep_credentials, read_sources
from wheelmill.errors import NetworkError, NoWheelError, UsageError, WheelmillError
from wheelmill.names import TORCH, ProjectName, StableTorch, project_name
from wheelmill.system.files import write_bytes
from wheelmill.system.progress import number_of, size
from wheelmill.web.budget import TIMEOUT_S, Budget
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.label import torch_in_json, words_for

if TYPE_CHECKING:
    from wheelmill.cli.client.outputs import Chosen, KnownSource, ResolutionContent, Resolve, SearchContent
    from wheelmill.client.project.tool_project import Project


def _option(name: str, text: str, metavar: str | None = None, **more: Any) -> object:  # noqa: ANN401 - of typer.Option
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel="Sources of wheels", **more)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of the search for wheels."""

    source: Annotated[
        list[str] | None,
        _option("--source", "Look only here: a file, a URL, github:OWNER/REPOSITORY ... Repeatable.", "SOURCE"),
    ] = None
    index: Annotated[
        list[str] | None,
        _option("--index", "Look only in this simple index (PEP 503), as --source simple:URL. Repeatable.", "URL"),
    ] = None
    extra_source: Annotated[list[str] | None, _option("--extra-source", "Look here first. Repeatable.", "SOURCE")] = (
        None
    )
    offline: Annotated[bool, _option("--offline", "Use only what is in the cache.")] = False
    refresh: Annotated[bool, _option("--refresh", "Read every page again, even if the cached one is fresh.")] = False
    no_cache: Annotated[bool, _option("--no-cache", "Neither read nor write the cache.")] = False
    timeout: Annotated[
        int,
        _option(
            "--timeout", "Total time to wait for sources; wheels are chosen from those that answered.", "SECONDS", min=1
        ),
    ] = TIMEOUT_S
    no_look: Annotated[bool, _option("--no-look", "Choose by file names alone, without looking inside wheels.")] = False
    allow_other_torch: Annotated[
        bool,
        _option(
            "--allow-other-torch",
            "Take a wheel built for another torch if the target's torch has the symbols it needs.",
        ),
    ] = False

    @property
    def named(self) -> list[str]:
        """The sources to look in and nowhere else, as ``--source`` takes them."""
        return [*(self.source or ()), *(f"simple:{url}" for url in self.index or ())]

    @cached_property
    def _budget(self) -> Budget:
        """Time that all searches of the command share."""
        return Budget(self.timeout)

    def search(self, project: Project | None = None) -> Search:
        """Return the options and the sources of a project, by default the nearest, as a `Search` of the client."""
        if self.offline and (self.refresh or self.no_cache):
            raise UsageError("options-conflict", "--offline needs the cache: leave out --refresh and --no-cache")
        if self.allow_other_torch and self.no_look:
            raise UsageError("options-conflict", "--allow-other-torch has to look into wheels: leave out --no-look")
        with suppress(UsageError, OSError):  # commands that change the nearest project name its fault
            project = project or find_existing_project()
        sources = project.sources if project else ()
        keep_credentials(self.named, self.extra_source or ())
        return Search(
            named=self.named,
            extra=self.extra_source or (),
            declared=[replace(each, projects=each.projects - {TORCH}) for each in sources if each.projects != {TORCH}],
            offline=self.offline,
            refresh=self.refresh,
            use_cache=not self.no_cache,
            inspect=not self.no_look,
            other_torch=self.allow_other_torch,
            progress=Waiting(),
            budget=self._budget,
        )


def _complete_project(incomplete: str) -> list[str]:
    """Offer a shell the packages that sources are known to have; no server is asked, and no fault is reported."""
    offline = Search(offline=True)
    try:
        with open_cache(offline) as cache:
            known = known_projects(read_sources(offline, cache), cache)
    except WheelmillError:
        return []
    return sorted(name for name in known if name.startswith(incomplete))


def package_argument(text: str, metavar: str) -> Any:  # noqa: ANN401 - as typer.Argument itself
    """An argument for names of packages, which shells complete."""
    return typer.Argument(help=text, metavar=metavar, autocompletion=_complete_project)


@with_groups
def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only sources with all of these words in their name or description.", metavar="[WORD...]"),
    ] = None,
    *,
    where: SearchOptions,
    as_json: JsonOption = False,
) -> None:
    """List the sources of wheels, with their packages, descriptions and addresses."""
    options = where.search()
    with open_cache(options) as cache:
        known = read_sources(options, cache)
    for warning in cache.warnings:
        say_warning(warning)
    asked = [word.lower() for word in words or ()]
    sources = [source for source in known if all(word in _text_of(source) for word in asked)]
    if as_json:
        content: SearchContent = {"schema": "wheelmill.search/1", "sources": list(map(_source_content, sources))}
        print_json(content)
        return
    if not sources:
        say("no source matches all of these words")
    for source in sources:
        only = " ".join((*(architecture.sm for architecture in source.gpus), *map(str, source.platforms)))
        meant_first = sorted(source.projects, key=lambda name: (not any(word in name for word in asked), name))
        print(f"{some_of(meant_first) or 'any package'}: {source.description or source.name}")
        print(f"    {source.kind} {source.url}{f', for {only} only' if only else ''}")


def _source_content(source: Source) -> KnownSource:
    return {
        "name": source.name,
        "kind": source.kind,
        "url": source.url,
        "projects": sorted(source.projects),
        "description": source.description,
        "gpus": [architecture.capability for architecture in source.gpus],
        "platforms": source.platforms,
    }


def _text_of(source: Source) -> str:
    return " ".join((source.name, source.description, source.url, *source.projects)).lower()


RequirementsArgument = Annotated[
    list[str], package_argument("Packages: flash-attn, 'mamba-ssm>=2,<3'.", "REQUIREMENT...")
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
    """Refuse wheels that are not attested by the repository that the option names."""
    if signer := signer_of(option):
        from wheelmill.client.choose.wheel_inspection import check_attested

        check_attested(resolutions, signer)


def no_wheel_error(resolutions: Sequence[Resolution]) -> NoWheelError | NetworkError:
    """Make the error for the projects that have no wheel; see `absence_error`."""
    missing = {name for resolution in resolutions for name in resolution.unresolved}
    return absence_error(missing, [each for resolution in resolutions for each in resolution.sources])


def absence_error(missing: Iterable[ProjectName], outcomes: Iterable[SourceOutcome]) -> NoWheelError | NetworkError:
    """Make the error for projects without a wheel, which a source in ``outcomes`` that did not answer may have."""
    names = frozenset(missing)
    projects = ", ".join(sorted(names))
    asked = [each for each in outcomes if each.project in names]
    if silent := sorted({each.url for each in asked if each.outcome.is_open}):
        hint = "correct the cause given for each, or try again later; --timeout waits longer, --source names others"
        if all(each.outcome.is_open for each in asked):
            reasons = messages_of(asked)
            if len(reasons) < len(silent):
                hint = "check the network and the proxy of this machine, or try again later"
            return NetworkError(
                "sources-silent", f"no wheel for {projects}, as no source answered: {', '.join(reasons)}", hint=hint
            )
        return NetworkError(
            "sources-silent",
            f"no wheel for {projects} in the sources that answered; these did not: {', '.join(silent)}",
            hint=hint,
        )
    return NoWheelError(
        "no-wheel",
        f"no wheel for {projects}",
        hint="'wheelmill explain' shows every candidate; 'wheelmill add --build' compiles one if it knows how",
    )


def print_resolution(resolution: Resolution) -> None:
    """Print what was chosen and what was not, one line each."""
    outcomes = [each for each in resolution.sources if each.project in resolution.unresolved]
    say_warnings(resolution.warnings, outcomes)
    if resolution.choices:
        say(f"for {resolution.environment}:")
    for name, choice in resolution.choices.items():
        parents = f", which {' and '.join(choice.required_by)} requires" if choice.required_by else ""
        say(f"  {name}: {choice.candidate.filename} of {choice.candidate.source.name}{parents}")
        if isinstance(choice.candidate.torch, StableTorch):
            say(f"    for {words_for(choice.candidate.torch)}")
        for note in choice.notes:
            say(f"    note: {note}")
    sizes = [choice.candidate.size for choice in resolution.choices.values() if choice.required_by]
    if sizes and None not in sizes:
        say(f"  {number_of(len(sizes), 'wheel')} that others require: {size(sum(filter(None, sizes)))}")
    print_absences(resolution.unresolved, outcomes, indent="  " if resolution.choices else "")


def print_absences(
    absences: Mapping[ProjectName, Unresolved], outcomes: Sequence[SourceOutcome], *, indent: str = ""
) -> None:
    """Print the reason why each project has no wheel, what would help, and the outcome of each source."""
    if outcomes and all(each.outcome.is_open for each in outcomes):
        return  # as without a network: `absence_error` gives the only reason
    for name, absence in absences.items():
        say(f"{indent}{name}: {absence.reason}", essential=True)
        if absence.suggestion:
            say(f"    hint: {absence.suggestion}", essential=True)
        print_outcomes(each for each in outcomes if each.project == name)


def say_warnings(warnings: Iterable[str], outcomes: Iterable[SourceOutcome]) -> None:
    """Print warnings, except those of sources whose outcomes and URLs are printed later."""
    printed = messages_of(each for each in outcomes if each.outcome.is_open)
    for warning in warnings:
        if warning not in printed:
            say_warning(warning)


def print_outcomes(outcomes: Iterable[SourceOutcome]) -> None:
    """Print the outcome of each source, and one line for all those without an answer for the same reason."""
    alike: dict[object, list[SourceOutcome]] = {}
    for outcome in outcomes:
        alike.setdefault((outcome.outcome, outcome.detail) if outcome.outcome.is_open else outcome.source, []).append(
            outcome
        )
    for first, *others in alike.values():
        detail = f", {first.detail}" if first.detail else ""
        sources = some_of([first.source, *(each.source for each in others)])
        line = f"    {sources}: {first.outcome}{detail}{' (from the cache)' if first.cached else ''}"
        say(line, essential=True)


def resolution_content(resolution: Resolution) -> ResolutionContent:
    """Return a resolution as JSON."""
    return {
        "environment": resolution.environment.in_json,
        "resolved": {name: _choice_content(choice) for name, choice in resolution.choices.items()},
        "unresolved": {name: missing.reason for name, missing in resolution.unresolved.items()},
        "suggestions": {name: missing.suggestion for name, missing in resolution.unresolved.items()},
        "warnings": resolution.warnings,
        "sources": resolution.sources,
    }


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
        "notes": choice.notes,
        "required_by": choice.required_by,
    }


def _write_text(resolution: Resolution, name: str, output: Path | None) -> None:
    from wheelmill.client.project.change import new_project_text

    try:
        text = new_project_text(resolution, project_name(name))
    except ValueError as error:
        raise UsageError("project-name-invalid", f"--project: {error}") from None
    if output:
        write_bytes(output, text.encode())
        say(f"wrote {output}")
    else:
        print(text, end="")
