"""The combinations of CUDA, torch and Python that a project has wheels for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from wheelmill.client.choose.inspection import look_into_all
from wheelmill.client.choose.resolve import Search, open_finder
from wheelmill.client.records import Candidate, Inside, TargetEnvironment, Unresolved
from wheelmill.client.source_records import SourceOutcome
from wheelmill.client.sources.listing import candidates_of
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.names import Platform, ProjectName, TorchNeed
from wheelmill.wheel.torch_need import age_of

_LOOKS: Final = 20
"""The most CUDAs of one project; a page may name any number of them."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """A CUDA, a torch and Pythons that a project has wheels for; empty where its wheels do not say."""

    cuda: str
    torch: TorchNeed | None
    pythons: tuple[str, ...]
    sources: tuple[str, ...]
    """The names of the sources with such wheels, in their order."""
    smallest: int | None
    """Bytes of its smallest wheel; None where no source gives sizes."""
    largest: int | None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The wheels that sources have of a project for one platform."""

    combinations: tuple[Combination, ...]
    """By CUDA and torch."""
    warnings: tuple[str, ...]
    sources: tuple[SourceOutcome, ...]
    """The outcome of each source."""
    absence: Unresolved
    """What to say if it has none."""


def find_offer(project: ProjectName, platform: Platform, environment: TargetEnvironment, search: Search) -> Offer:
    """List what a project has wheels for on one platform."""
    with open_finder([project], environment, search) as found:
        listed = candidates_of(project, found.places(project), found.pages)
        candidates = [candidate for candidate in listed if _is_for(platform, candidate)]
        if search.look:
            candidates = _with_ranges(candidates, found.pages.cache, search)
        outcomes = tuple(found.outcomes(project))
        reason = f"no source has a wheel of it for {platform}"
        absence = Unresolved(project=project, reason=reason, suggestion=None)
        return Offer(
            combinations=_combine(candidates),
            warnings=(*found.warnings(outcomes), *found.variants_passed_over(project)),
            sources=outcomes,
            absence=found.told_better(absence),
        )


def _is_for(platform: Platform, candidate: Candidate) -> bool:
    """Whether it is for a platform, whatever the C library, and not for another accelerator than CUDA."""
    systems = {tag.platform for tag in candidate.tags}
    return not candidate.label.other_accelerator and any(
        system == "any" or Platform.of_tag(system) == platform for system in systems
    )


def _with_ranges(candidates: Sequence[Candidate], cache: PageCache, search: Search) -> list[Candidate]:
    """Candidates with what they need of torch, also where their names do not say it.

    Of those the newest for each CUDA is looked into, and the others are taken to need the same.
    """
    silent = [each for each in candidates if each.label.cuda_major and each.label.torch is None]
    newest = {_cuda_of(each): each for each in sorted(silent, key=lambda each: each.version)}
    wanted = sorted(newest.values(), key=lambda each: each.version, reverse=True)[:_LOOKS]
    looks = look_into_all(wanted, cache, offline=search.offline, progress=search.progress)
    shown = {cuda: look for cuda, each in newest.items() if isinstance(look := looks.get(each.url), Inside)}
    return [each if each.label.torch else replace(each, inside=shown.get(_cuda_of(each))) for each in candidates]


def _cuda_of(candidate: Candidate) -> str:
    """``13.0``, ``12.x`` where only the major release is named, or nothing."""
    label = candidate.label
    return str(label.cuda or (f"{label.cuda_major}.x" if label.cuda_major else ""))


def _combine(candidates: Sequence[Candidate]) -> tuple[Combination, ...]:
    alike: dict[tuple[str, TorchNeed | None], list[Candidate]] = {}
    for candidate in candidates:
        alike.setdefault((_cuda_of(candidate), candidate.torch), []).append(candidate)
    return tuple(
        Combination(
            cuda=cuda,
            torch=torch,
            pythons=tuple(sorted(_pythons_of(found), key=lambda abi: (len(abi.rstrip("t+")), abi))),
            sources=tuple(dict.fromkeys(each.source.name for each in found)),
            smallest=min(sizes := [each.size for each in found if each.size is not None], default=None),
            largest=max(sizes, default=None),
        )
        for (cuda, torch), found in sorted(alike.items(), key=lambda item: _age_of(item[1][0]))
    )


def _age_of(candidate: Candidate) -> tuple[object, ...]:
    label = candidate.label
    return label.cuda_major or 0, label.cuda.minor if label.cuda else -1, age_of(candidate.torch)


def _pythons_of(candidates: Sequence[Candidate]) -> set[str]:
    return {
        f"{tag.interpreter}+" if tag.abi == "abi3" else tag.abi if tag.abi != "none" else tag.interpreter
        for candidate in candidates
        for tag in candidate.tags
    }
