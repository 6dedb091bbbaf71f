"""Every wheel of a project, with every reason against it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose.choice import choose, preference
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.choose.inspection import Inspection, Looks, inspect, with_looks
from wheelmill.client.choose.resolve import Search, open_finder
from wheelmill.client.choose.suggest import cost_of
from wheelmill.client.records import Candidate, Inside, Mismatch, Resolution, TargetEnvironment, Unresolved
from wheelmill.client.source_records import SourceOutcome
from wheelmill.names import ProjectName
from wheelmill.system import resources


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The verdict on one wheel."""

    candidate: Candidate
    against: tuple[Mismatch, ...]
    """Every reason; none when it fits."""
    inside: Inside | str | None
    """What inspecting it showed, or why it was not inspected; None for a wheel that would not be chosen anyway."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The verdicts on all wheels for one requirement."""

    environment: TargetEnvironment
    """The target, with the torch and CUDA that were assumed."""
    verdicts: tuple[Assessment, ...]
    """Of every wheel: first those that fit, best first, then the others, smallest change first."""
    absence: Unresolved | None
    """Why none fits, and what to change; None where one does."""
    warnings: tuple[str, ...]
    sources: tuple[SourceOutcome, ...]
    """What became of each source that was looked in."""


def explain(requirement: Requirement, environment: TargetEnvironment, search: Search) -> Explanation:
    """Compare every wheel of a project with a target, and look into those that would be chosen.

    Args:
        requirement: the project, and the versions that are wanted.
        environment: the target; where it is open, with what `resolve` would choose.
        search: the sources to look in, and how.
    """
    project = canonicalize_name(requirement.name)
    environment = search.target(environment)
    with open_finder([project], environment, search) as found:
        candidates = {project: found.all_candidates(project)}

        def choose_with(seen: Looks) -> Resolution:
            return choose([requirement], environment, with_looks(candidates, seen), found.facts)

        if search.look:
            inspection = inspect(choose_with, found.pages.cache, offline=search.offline, progress=search.progress)
        else:
            inspection = Inspection(resolution=choose_with({}), seen={})
        target = inspection.resolution.environment
        verdicts = [
            Assessment(
                candidate=candidate,
                against=tuple(mismatches(candidate, requirement, target, found.facts)),
                inside=inspection.seen.get(candidate.url),
            )
            for candidate in with_looks(candidates, inspection.seen)[project]
        ]
        fit = [verdict for verdict in verdicts if not verdict.against]
        fit.sort(key=lambda verdict: preference(verdict.candidate, target), reverse=True)
        others = [verdict for verdict in verdicts if verdict.against]
        others.sort(key=lambda verdict: (verdict.candidate.version, verdict.candidate.filename), reverse=True)
        others.sort(key=lambda verdict: _distance(verdict, target))
        outcomes = tuple(found.outcomes(project))
        absence = inspection.resolution.unresolved.get(project)
        return Explanation(
            environment=target,
            verdicts=(*fit, *others),
            absence=absence and found.told_better(absence),
            warnings=(*found.warnings(outcomes), *found.variants_passed_over(project)),
            sources=outcomes,
        )


def has_namesake(project: ProjectName) -> bool:
    """Whether the package index is known to have another project of a name, by what ships of ``packages.yml``.

    Only one key of the file is read: a client need not know what the others mean.
    """
    from wheelmill.config.load import PACKAGES  # noqa: PLC0415 - the same
    from wheelmill.config.yaml import read_document  # noqa: PLC0415 - other commands do without YAML

    match read_document(resources.CONFIG / PACKAGES).content:
        case {"packages": {**packages}}:
            entry = packages.get(project)
            return isinstance(entry, dict) and entry.get("pypi") == "other"
        case _:
            return False


def _distance(verdict: Assessment, target: TargetEnvironment) -> tuple[float, ...]:
    """How far a wheel is from fitting; one that no change makes fit is the farthest."""
    aspects = {mismatch.aspect for mismatch in verdict.against}
    return cost_of(verdict.candidate, aspects, target) or (math.inf, len(aspects))
