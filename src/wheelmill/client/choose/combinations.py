"""The combinations of CUDA, torch and Python that a project has wheels for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wheelmill.client.choose.resolve import Search, open_finder
from wheelmill.client.records import Candidate, TargetEnvironment
from wheelmill.client.sources.listing import candidates_of
from wheelmill.names import Platform, ProjectName


@dataclass(frozen=True, kw_only=True, order=True)
class Combination:
    """A CUDA, a torch and a Python that a project has wheels for; empty where its wheels do not say."""

    cuda: str
    torch: str
    pythons: tuple[str, ...]


def combinations(
    project: ProjectName, platform: Platform, environment: TargetEnvironment, search: Search
) -> tuple[tuple[Combination, ...], tuple[str, ...]]:
    """List what a project has wheels for on one platform.

    Returns:
        The combinations, by CUDA and torch, and warnings of sources that did not answer.
    """
    with open_finder([project], environment, search) as found:
        candidates = candidates_of(project, found.places(project), found.pages)
        return _combine(candidates, platform), tuple(found.pages.warnings)


def _combine(candidates: Sequence[Candidate], platform: Platform) -> tuple[Combination, ...]:
    pythons: dict[tuple[tuple[int, int], str, tuple[int, int], str], set[str]] = {}
    for candidate in candidates:
        label = candidate.label
        systems = {tag.platform for tag in candidate.tags}  # whatever the C library
        if not any(system == "any" or Platform.of_tag(system) == platform for system in systems):
            continue
        cuda = label.cuda
        key = (
            (cuda.major, cuda.minor) if cuda else (label.cuda_major or 0, -1),
            str(cuda or (f"{label.cuda_major}.x" if label.cuda_major else "")),
            (label.torch.major, label.torch.minor) if label.torch else (0, 0),
            f"{label.torch or ''}{'+' * label.and_newer}",
        )
        pythons.setdefault(key, set()).update(
            f"{tag.interpreter}+" if tag.abi == "abi3" else tag.abi if tag.abi != "none" else tag.interpreter
            for tag in candidate.tags
        )
    return tuple(
        Combination(cuda=cuda, torch=torch, pythons=tuple(sorted(found, key=lambda abi: (len(abi.rstrip("t+")), abi))))
        for (_, cuda, _, torch), found in sorted(pythons.items())
    )
