"""Choosing wheels: the best of each project, all for one torch and one CUDA.

An alias is a wheel without files that requires another wheel, under a name with its CUDA. docs/what-an-index-has.md
lists the limits of aliases.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.choose.fit import cudas_of, is_for_other_torch, mismatches, newer_driver, pythons_of, yanked_words
from wheelmill.client.choose.suggest import explain_absence
from wheelmill.client.records import Candidate, Choice, Resolution, TargetEnvironment, Unresolved
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName
from wheelmill.wheel.label import has_release_of
from wheelmill.wheel.name import EVERYWHERE, chosen_by_extras, stands_for

Candidates = Mapping[ProjectName, Sequence[Candidate]]


def targets_of(environment: TargetEnvironment, facts: Compatibility) -> list[TargetEnvironment]:
    """List every torch and CUDA that an open environment could have, the newest first.

    Each torch is published for this Python and CUDA, and the driver runs each CUDA.
    """
    wanted = environment.torch_range
    if environment.cpu_only or (environment.torch and environment.cuda):
        return [environment]
    stacks = sorted(
        (
            (torch, cuda)
            for torch, release in facts.torch.items()
            for cuda in cudas_of(release, environment.platform)
            if environment.torch in (None, torch)
            and (wanted is None or has_release_of(torch, wanted))
            and environment.cuda in (None, cuda)
            and environment.cuda_major in (None, cuda.major)
            and environment.python in pythons_of(release, environment.platform)
            and not newer_driver(cuda, environment, facts)
        ),
        reverse=True,
    )
    if not stacks and environment.torch is None and wanted:
        raise UsageError("torch-unknown", f"no known torch{wanted} is published for {environment}")
    return [replace(environment, torch=torch, cuda=cuda) for torch, cuda in stacks] or [environment]


def choose(
    requirements: Sequence[Requirement],
    environment: TargetEnvironment,
    candidates: Candidates,
    facts: Compatibility,
) -> Resolution:
    """Choose a wheel for every requirement, all for the newest torch of `targets_of` with a wheel for each.

    If there is none, the torch and CUDA with the most wheels count. Among the CUDAs of that torch, `_closeness`
    decides. There is at most one requirement for each project. Candidates are in the order of their sources.
    """
    wanted = {canonicalize_name(requirement.name): requirement for requirement in requirements}
    best, chosen = _most(wanted, targets_of(environment, facts), candidates, facts)
    compared = best if chosen else environment  # without any wheel, all torches and CUDAs are equally good
    return Resolution(
        environment=best,
        choices={
            name: Choice(
                project=name, candidate=candidate, extras=frozenset(wanted[name].extras), notes=_notes(candidate)
            )
            for name, candidate in chosen.items()
        },
        unresolved={
            name: explain_absence(requirement, compared, candidates.get(name, ()), facts)
            for name, requirement in wanted.items()
            if name not in chosen
        },
    )


def _most(
    wanted: Mapping[ProjectName, Requirement],
    targets: Sequence[TargetEnvironment],
    candidates: Candidates,
    facts: Compatibility,
) -> tuple[TargetEnvironment, Mapping[ProjectName, Candidate]]:
    """Find the newest torch with a wheel for every project, else with the most, and its CUDA that changes least."""
    best, chosen = targets[0], dict[ProjectName, Candidate]()
    for target in targets:
        if len(chosen) == len(wanted) and target.torch != best.torch:
            break
        fitting = {
            name: candidate
            for name, requirement in wanted.items()
            if (candidate := _best(requirement, target, candidates, facts))
        }
        is_closer = target.torch == best.torch and _closeness(target, fitting, facts) > _closeness(best, chosen, facts)
        if len(fitting) > len(chosen) or (fitting and len(fitting) == len(chosen) and is_closer):
            best, chosen = target, fitting
    return best, chosen


def _closeness(
    target: TargetEnvironment, chosen: Mapping[ProjectName, Candidate], facts: Compatibility
) -> tuple[object, ...]:
    """Rank the CUDAs of a torch by what changes least.

    The CUDA of the torch that is there, those that the wheels' names give, that of PyPI, the newest.
    """
    torch, cuda = target.torch, target.cuda
    is_usual = torch and cuda and facts.torch_backend(torch, cuda, target.platform) is None
    own = sum(candidate.label.cuda in (None, cuda) for candidate in chosen.values())
    return (
        cuda is not None and cuda == target.preferred_cuda,
        own,
        bool(is_usual),
        (cuda.major, cuda.minor) if cuda else (),
    )


def _best(
    requirement: Requirement,
    target: TargetEnvironment,
    candidates: Candidates,
    facts: Compatibility,
) -> Candidate | None:
    fitting = (
        candidate
        for candidate in candidates.get(canonicalize_name(requirement.name), ())
        if next(mismatches(candidate, requirement, target, facts), None) is None
    )
    return max(fitting, key=lambda candidate: preference(candidate, target), default=None)


def preference(candidate: Candidate, target: TargetEnvironment) -> tuple[object, ...]:
    """Rank a fitting wheel, by the most important criterion first.

    Not yanked (PEP 592), no torch and no CUDA but the target's, a final release, a higher version, a name with a CUDA.
    Then a name with just this torch, not a range: installers sort labels so, too. Then a newer CUDA, better tags, a
    higher build number, a higher local version. The first of equals is taken, in the order of sources.
    """
    label = candidate.label
    public = _public(candidate.version)
    place = target.tag_places
    return (
        candidate.yanked is None,
        not is_for_other_torch(label, target),
        label.cuda in (None, target.cuda),
        not public.is_prerelease,
        public,
        label.cuda is not None,
        target.torch is not None and label.torch == target.torch,
        (label.cuda.major, label.cuda.minor) if label.cuda else (0, 0),
        -min(place[tag] for tag in candidate.tags if tag in place),
        candidate.build,
        candidate.version,
    )


@functools.cache
def _public(version: Version) -> Version:
    return Version(version.public)


def _notes(candidate: Candidate) -> tuple[str, ...]:
    notes = []
    if candidate.sha256 is None:
        notes.append("its source gives no hash")
    if candidate.yanked is not None:
        notes.append(yanked_words(candidate.yanked))
    if candidate.version.is_prerelease:
        notes.append("a pre-release: no final release fits")
    if candidate.label.cuda_major is None:
        notes.append("its name does not say which CUDA it is for")
    if candidate.label.torch_readings:
        notes.append(f"its name has two readings: {candidate.label.torch_words}")
    return tuple(notes)


def without_aliases(resolution: Resolution) -> Resolution:
    """Remove aliases: they can be installed only from an index that has their requirements."""
    aliases = {name: absence for name, choice in resolution.choices.items() if (absence := _absence_of(choice))}
    return replace(
        resolution,
        choices={name: choice for name, choice in resolution.choices.items() if name not in aliases},
        unresolved={**resolution.unresolved, **aliases},
    )


def _absence_of(choice: Choice) -> Unresolved | None:
    """Warn about an alias; None for any other wheel."""
    wheel, requires_dist = choice.candidate, choice.requires_dist or ()
    if wheel.tags != EVERYWHERE:
        return None
    version = str(wheel.version)
    if project := chosen_by_extras(version, requires_dist):
        reason = f"is an alias of {project} with an extra for each CUDA: its wheel {wheel.filename} has no files"
        suggestion = f"name {project}: its wheel for this CUDA is chosen here"
    elif project := stands_for(version, requires_dist):
        reason = f"is an alias of {project}: its wheel {wheel.filename} has no files and requires {requires_dist[0]}"
        suggestion = f"name {project}, whose wheel is chosen here, or '{requires_dist[0]}' for that one"
    else:
        return None
    return Unresolved(project=choice.project, reason=reason, suggestion=suggestion)
