"""All wheels of a project with every reason against them, and the combinations that have wheels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose.choice import cost_of, no_wheel_of, preference
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.choose.resolve import (
    RequiredWheels,
    choose_inspected,
    inspect_wheels,
    open_finder,
    with_inspections,
)
from wheelmill.client.records import (
    Candidate,
    Mismatch,
    Search,
    SourceOutcome,
    TargetEnvironment,
    Unresolved,
    WheelInspection,
)
from wheelmill.client.sources.pages import Pages
from wheelmill.names import Platform, ProjectName, StableTorch, TorchNeed, TorchVersion
from wheelmill.system import own_installation
from wheelmill.wheel.label import TorchRange, age_of, torch_in_json, words_for
from wheelmill.wheel.name import stable_since


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The verdict on one wheel."""

    candidate: Candidate
    against: tuple[Mismatch, ...]
    """Every reason; empty if it fits."""
    inside: WheelInspection | str | None
    """Result of the inspection, or why there was none; None for a wheel that would not be chosen anyway."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The verdicts on all wheels for one requirement."""

    environment: TargetEnvironment
    """The target, with the torch and CUDA that were assumed."""
    verdicts: tuple[Assessment, ...]
    """Verdicts on all wheels: those that fit first, best first, then the others, smallest change first."""
    absence: Unresolved | None
    """Why none fits, and what to change; None where one does."""
    warnings: tuple[str, ...]
    sources: tuple[SourceOutcome, ...]


def explain(requirement: Requirement, environment: TargetEnvironment, search: Search) -> Explanation:
    """Compare every wheel of a project with the target that `resolve` would choose, and inspect the best ones."""
    project = canonicalize_name(requirement.name)
    environment = search.target(environment)
    with open_finder([project], environment, search) as finder:
        asked, candidates = {project: requirement}, {project: finder.all_candidates(project)}
        required = RequiredWheels(asked=asked, finder=finder, candidates={**candidates}, wanted=asked, of_sources={})
        resolution, seen = choose_inspected(partial(required.choose, environment), finder.pages)
        target, candidates = resolution.environment, {project: finder.all_candidates(project)}
        verdicts = [
            Assessment(
                candidate=candidate,
                against=tuple(mismatches(candidate, requirement, target, finder.facts)),
                inside=seen.get(candidate.url),
            )
            for candidate in with_inspections(candidates, seen)[project]
        ]
        fit = [verdict for verdict in verdicts if not verdict.against]
        fit.sort(key=lambda verdict: preference(verdict.candidate, target), reverse=True)
        others = [verdict for verdict in verdicts if verdict.against]
        others.sort(key=lambda verdict: (verdict.candidate.version, verdict.candidate.filename), reverse=True)
        others.sort(key=lambda verdict: _distance(verdict, target))
        absence = resolution.unresolved.get(project)
        return Explanation(
            environment=target,
            verdicts=(*fit, *others),
            absence=absence and finder.refine(absence),
            warnings=(*finder.warnings(project), *finder.variant_warnings(project)),
            sources=tuple(finder.outcomes(project).values()),
        )


def has_namesake(project: ProjectName) -> bool:
    """True if the package index has another project of this name: ``pypi: other`` in the shipped ``packages.yml``."""
    from wheelmill.config.load import PACKAGES
    from wheelmill.config.yaml import read_document  # other commands do without YAML

    match read_document(own_installation.CONFIG / PACKAGES).content:
        case {"packages": {**packages}}:
            entry = packages.get(project)
            return isinstance(entry, dict) and entry.get("pypi") == "other"
        case _:
            return False


def _distance(verdict: Assessment, target: TargetEnvironment) -> tuple[float, ...]:
    """Measure how far a wheel is from fitting; it is farthest if no change makes it fit."""
    aspects = {mismatch.aspect for mismatch in verdict.against}
    return cost_of(verdict.candidate, aspects, target) or (math.inf, len(aspects))


_MAX_CUDAS: Final = 20
"""CUDAs of one project whose newest wheel is inspected; a page may name any number of them."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """CUDA, torch and Pythons that a project has wheels for."""

    cuda: str
    """``13.0``; ``12.x`` if only the major release is named, empty for none."""
    torch: str
    """``2.11``; of a range ``2.9+``, a form that is older than ``torch_abi``; ``2.1 or 2.10`` for a name with two
    readings; empty for none."""
    torch_abi: TorchRange | None
    versions: tuple[str, ...]
    """Without labels, the newest first."""
    pythons: tuple[str, ...]
    """``cp312``, ``cp39+`` for the stable ABI."""
    sources: tuple[str, ...]
    """The names of the sources with such wheels, in their order."""
    smallest: int | None
    """Bytes of the smallest wheel; None if no source gives sizes."""
    largest: int | None

    @property
    def torch_in_words(self) -> str:
        """Its torch as `words_for` writes it, but ``2.11`` for one release."""
        if self.torch_abi is None:
            return self.torch
        oldest, below = self.torch_abi["stable"], self.torch_abi.get("below")
        newer = TorchVersion.parse(below) if below else None
        return words_for(StableTorch(oldest=TorchVersion.parse(oldest), below=newer))


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The wheels of a project for one platform, from all sources."""

    combinations: tuple[Combination, ...]
    """By CUDA and torch."""
    warnings: tuple[str, ...]
    sources: tuple[SourceOutcome, ...]
    absence: Unresolved
    """The error if there are no combinations."""


def find_offer(project: ProjectName, platform: Platform, environment: TargetEnvironment, search: Search) -> Offer:
    """List the combinations that a project has wheels for on one platform."""
    with open_finder([project], environment, search) as finder:
        candidates = [each for each in finder.all_candidates(project) if _is_for(platform, each)]
        if not candidates and finder.ask_again(project):
            candidates = [each for each in finder.all_candidates(project) if _is_for(platform, each)]
        if search.inspect:
            candidates = _with_ranges(candidates, finder.pages)
        absence = no_wheel_of(project)
        if finder.all_candidates(project):
            absence = replace(absence, reason=f"{absence.reason} for {platform}", suggestion=None)
        return Offer(
            combinations=_combine(candidates),
            warnings=(*finder.warnings(project), *finder.variant_warnings(project)),
            sources=tuple(finder.outcomes(project).values()),
            absence=finder.refine(absence),
        )


def _is_for(platform: Platform, candidate: Candidate) -> bool:
    """True if it is for a platform, with any C library, and not for another accelerator than CUDA."""
    systems = {tag.platform for tag in candidate.tags}
    return not candidate.label.other_accelerator and any(
        system == "any" or Platform.of_tag(system) == platform for system in systems
    )


def _with_ranges(candidates: Sequence[Candidate], pages: Pages) -> list[Candidate]:
    """Add the needed torch to candidates whose names lack it; only the newest one for each CUDA is inspected."""
    silent = [each for each in candidates if each.label.cuda_major and each.label.torch is None]
    newest = {_cuda_of(each): each for each in sorted(silent, key=lambda each: each.version)}
    wanted = sorted(newest.values(), key=lambda each: each.version, reverse=True)[:_MAX_CUDAS]
    seen = inspect_wheels(wanted, pages)
    shown = {cuda: inside for cuda, each in newest.items() if isinstance(inside := seen.get(each.url), WheelInspection)}
    return [each if each.label.torch else replace(each, inside=shown.get(_cuda_of(each))) for each in candidates]


def _cuda_of(candidate: Candidate) -> str:
    """Write its CUDA: ``13.0``, ``12.x`` if only the major release is named, or nothing."""
    label = candidate.label
    return str(label.cuda or (f"{label.cuda_major}.x" if label.cuda_major else ""))


def _combine(candidates: Sequence[Candidate]) -> tuple[Combination, ...]:
    alike: dict[tuple[str, TorchNeed | None, str], list[Candidate]] = {}
    for candidate in candidates:
        readings = "" if candidate.torch else " or ".join(map(str, candidate.label.torch_readings))
        alike.setdefault((_cuda_of(candidate), candidate.torch, readings), []).append(candidate)
    return tuple(
        Combination(
            cuda=cuda,
            torch=f"{torch.oldest}+" if isinstance(torch, StableTorch) else str(torch or readings),
            torch_abi=torch_in_json(torch)["torch_abi"],
            versions=tuple(dict.fromkeys(each.public for each in sorted({c.version for c in group}, reverse=True))),
            pythons=tuple(sorted(_pythons_of(group), key=lambda abi: (len(abi.rstrip("t+")), abi))),
            sources=tuple(dict.fromkeys(each.source.name for each in group)),
            smallest=min(sizes := [each.size for each in group if each.size is not None], default=None),
            largest=max(sizes, default=None),
        )
        for (cuda, torch, readings), group in sorted(alike.items(), key=lambda item: _age_of(item[1][0]))
    )


def _age_of(candidate: Candidate) -> tuple[object, ...]:
    label = candidate.label
    return label.cuda_major or 0, label.cuda.minor if label.cuda else -1, age_of(candidate.torch)


def _pythons_of(candidates: Sequence[Candidate]) -> set[str]:
    return {
        f"{since.abi}+" if (since := stable_since(tag)) else tag.abi if tag.abi != "none" else tag.interpreter
        for candidate in candidates
        for tag in candidate.tags
    }
