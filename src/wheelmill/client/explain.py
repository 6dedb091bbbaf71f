"""Every wheel of a project, with every reason against it."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose import choose, preference
from wheelmill.client.fit import refusals
from wheelmill.client.records import Candidate, Refusal, TargetEnvironment
from wheelmill.client.resolve import Search, finding


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What was considered for one requirement."""

    environment: TargetEnvironment
    """With the torch and CUDA that were compared with."""
    verdicts: tuple[tuple[Candidate, tuple[Refusal, ...]], ...]
    """Every wheel with all that speaks against it: those that fit first, the best at the front."""
    warnings: tuple[str, ...]


def explain(requirement: Requirement, environment: TargetEnvironment, search: Search) -> Explanation:
    """Compare every wheel of a project with a target.

    Args:
        requirement: the project, and the versions that are wanted.
        environment: the target; where it is open, with what `resolve` would choose.
        search: where to look.
    """
    project = canonicalize_name(requirement.name)
    with finding([project], environment, search) as found:
        candidates = found.all(project)
        target = choose([requirement], environment, {project: candidates}, found.facts).environment
        compared = [
            (candidate, tuple(refusals(candidate, requirement, target, found.facts))) for candidate in candidates
        ]
        fit = [pair for pair in compared if not pair[1]]
        fit.sort(key=lambda pair: preference(pair[0], target), reverse=True)
        others = sorted((pair for pair in compared if pair[1]), key=lambda pair: (len(pair[1]), pair[0].filename))
        return Explanation(environment=target, verdicts=(*fit, *others), warnings=tuple(found.pages.warnings))
