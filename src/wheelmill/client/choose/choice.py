"""Choosing wheels: the best of each project, all for one torch and one CUDA, or the smallest change that gives one.

An alias is a wheel without files that requires another wheel, under a name with its CUDA. docs/what-an-index-has.md
lists the limits of aliases.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.choose.fit import (
    TorchPlace,
    cudas_of,
    is_for_other_torch,
    minimum_driver,
    mismatches,
    newer_driver,
    pythons_of,
    yanked_words,
)
from wheelmill.client.records import Aspect, Candidate, Choice, Mismatch, Resolution, TargetEnvironment, Unresolved
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, ProjectName, PythonVersion, TorchVersion
from wheelmill.system.process import command_line
from wheelmill.system.progress import number_of
from wheelmill.wheel.label import has_release_of
from wheelmill.wheel.name import EVERYWHERE, chosen_by_extras, stands_for

Candidates = Mapping[ProjectName, Sequence[Candidate]]


def targets_of(environment: TargetEnvironment, facts: Compatibility) -> list[TargetEnvironment]:
    """List the torches and CUDAs of an open environment, newest first: published for it, and run by its driver."""
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
    """Rank the CUDAs of a torch: the one that is there, those that wheels are named after, that of PyPI, the newest."""
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
    label = candidate.label
    notes = {
        "its source gives no hash": candidate.sha256 is None,
        yanked_words(candidate.yanked or ""): candidate.yanked is not None,
        "a pre-release: no final release fits": candidate.version.is_prerelease,
        "its name does not say which CUDA it is for": label.cuda_major is None,
        f"its name has two readings: {label.torch_words}": bool(label.torch_readings),
    }
    return tuple(note for note, applies in notes.items() if applies)


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


_COST: Final = {
    Aspect.GPU: 1,
    Aspect.VERSION: 2,
    Aspect.TORCH: 3,
    Aspect.CUDA: 4,
    Aspect.ABI: 4,
    Aspect.PYTHON: 10,
    Aspect.DRIVER: 20,
    Aspect.GLIBC: 30,
}
"""Effort for a user to change each fact; a fact that is missing here cannot be changed."""

_SHOWN: Final = {
    Aspect.PLATFORM: "for another platform",
    Aspect.GLIBC: "for a newer glibc",
    Aspect.PYTHON: "for another Python",
    Aspect.CUDA: "for another CUDA",
    Aspect.TORCH: "for another torch",
    Aspect.ABI: "for another C++ ABI",
    Aspect.DRIVER: "for a newer driver",
    Aspect.GPU: "for certain GPUs",
    Aspect.VERSION: "for another version",
    Aspect.YANKED: "yanked",
    Aspect.FILE: "no longer on their server",
    Aspect.METADATA: "with METADATA that is not safe",
}

ELSEWHERE: Final = "'wheelmill search' lists the sources; --extra-source names another one, which no project remembers"
"""The suggestion for a project that no source has, and whose name resembles no other."""


def no_wheel_of(project: ProjectName) -> Unresolved:
    """Explain the absence of a project that no source has."""
    return Unresolved(project=project, reason="no source has a wheel of it", suggestion=ELSEWHERE)


def explain_absence(
    requirement: Requirement, target: TargetEnvironment, candidates: Sequence[Candidate], facts: Compatibility
) -> Unresolved:
    """Explain why none of all wheels of a project fits, and what to change."""
    project = canonicalize_name(requirement.name)
    against = [(candidate, list(mismatches(candidate, requirement, target, facts))) for candidate in candidates]
    if not against:
        return no_wheel_of(project)
    counts = Counter(aspect for _, found in against for aspect in {mismatch.aspect for mismatch in found})
    aspects = sorted(filter(counts.get, _SHOWN), key=lambda aspect: -counts[aspect])
    reasons = ", ".join(f"{counts[aspect]} {_SHOWN[aspect]}" for aspect in aspects) or "for a torch that is not known"
    cause = f"{_without_cuda(target)}; " if target.cpu_only and counts[Aspect.CUDA] else ""
    return Unresolved(
        project=project,
        reason=f"{cause}{number_of(len(against), 'wheel')}, none for {target}: {reasons}",
        suggestion=_Advisor(requirement=requirement, target=target, facts=facts).smallest_change(against),
    )


def _without_cuda(target: TargetEnvironment) -> str:
    """Explain how the target's torch is known to be built without CUDA."""
    if target.torch_release:
        return f"torch {target.torch_release}, which is installed, is built without CUDA"
    return f"{target.origins.get('cuda', 'the target')} asks for torch without CUDA"


def cost_of(candidate: Candidate, aspects: set[Aspect], target: TargetEnvironment) -> tuple[int, int, int] | None:
    """Measure the change that makes a wheel fit, and the distance of torch and of CUDA; None if there is none."""
    if not aspects or not aspects <= _COST.keys():
        return None
    cuda, own = candidate.label.cuda, target.cuda
    cuda_steps = abs(10 * (cuda.major - own.major) + cuda.minor - own.minor) if cuda and own else 0
    return sum(_COST[aspect] for aspect in aspects), _steps(_named_torch(candidate), target), cuda_steps


def _named_torch(candidate: Candidate) -> TorchVersion | None:
    """Return the only torch that a wheel's name allows; None if it allows several or names none."""
    return candidate.label.torch if isinstance(candidate.label.torch, TorchVersion) else None


def _steps(torch: TorchVersion | None, target: TargetEnvironment) -> int:
    """Count the minor releases between a torch and the target's; 0 without one of them."""
    return abs(torch.minor - target.torch.minor) if torch and target.torch else 0


def _python_of(candidate: Candidate) -> PythonVersion | None:
    """Find the oldest Python in its tags; None if they have no supported one."""
    abis = {tag.abi if tag.abi.startswith("cp") else tag.interpreter for tag in candidate.tags}
    try:
        return min((PythonVersion.parse(abi) for abi in abis if abi.startswith("cp3")), default=None)
    except ValueError:  # cp37m
        return None


@dataclass(frozen=True, kw_only=True)
class _Advisor:
    """Finds the change with which a requirement has a wheel."""

    requirement: Requirement
    target: TargetEnvironment
    facts: Compatibility

    def smallest_change(self, against: Sequence[tuple[Candidate, list[Mismatch]]]) -> str | None:
        newest_first = sorted(against, key=lambda each: each[0].version, reverse=True)
        changes = []
        for candidate, reasons in newest_first:
            aspects = {mismatch.aspect for mismatch in reasons}
            if (cost := cost_of(candidate, aspects, self.target)) is None:
                continue
            possible = (self._change(candidate, aspects, torch) for torch in self._torches_for(candidate, aspects))
            if change := next(filter(None, possible), None):
                changes.append((cost, change))
        return min(changes, key=lambda each: each[0], default=(None, None))[1]

    def _change(self, candidate: Candidate, aspects: set[Aspect], torch: TorchVersion | None) -> str | None:
        """List what makes a wheel fit with a torch; None if that was not published, or other reasons remain."""
        target = self.target
        another_torch = bool({Aspect.TORCH, Aspect.CUDA} & aspects)
        cuda = None if Aspect.CUDA in aspects else target.cuda
        cuda = cuda or self._cuda_of(candidate, torch)
        python = _python_of(candidate) if Aspect.PYTHON in aspects else target.python
        lacks_gpu = Aspect.GPU in aspects and not candidate.source.gpus  # no change gives a wheel code for this GPU
        if python is None or (candidate.label.cuda_major and cuda is None) or lacks_gpu:
            return None
        changed = replace(target, torch=torch, cuda=cuda, python=python)
        if python != target.python:
            changed = replace(changed, python_release=None)
        if another_torch:  # then these facts of the installed torch do not apply
            changed = replace(changed, cpu_only=False, cxx11_abi=None, torch_release=None)
        left = {mismatch.aspect for mismatch in mismatches(candidate, self.requirement, changed, self.facts)}
        if not left <= aspects - {Aspect.TORCH, Aspect.CUDA, Aspect.PYTHON}:
            return None
        is_open = target.torch is None or target.cuda is None
        if (another_torch or is_open) and not self._is_published(torch, cuda, python):
            return None
        if target.cpu_only and torch and cuda and aspects <= {Aspect.TORCH, Aspect.CUDA}:
            return self._another_build(torch, cuda)
        changes = {
            Aspect.TORCH: f"--torch {torch}",
            Aspect.CUDA: f"--cuda {cuda}",
            Aspect.PYTHON: f"--python {python}",
            Aspect.GPU: f"--gpu {next(iter(candidate.source.gpus), None)}",
            Aspect.VERSION: f"{canonicalize_name(self.requirement.name)}=={candidate.version.public}",
            Aspect.ABI: "a torch with the other C++ ABI",
            Aspect.DRIVER: f"driver {minimum_driver(cuda, self.facts) if cuda else None} or newer",
            Aspect.GLIBC: "a Linux with a newer glibc",
        }
        return " ".join(text for aspect, text in changes.items() if aspect in aspects)

    def _another_build(self, torch: TorchVersion, cuda: CudaVersion) -> str:
        """Suggest a change if the target's torch is built without CUDA."""
        if self.target.interpreter is None or self.target.torch_release is None:
            return f"--torch {torch} --cuda {cuda}"
        from wheelmill.installers.uv import find_uv  # for advice alone

        place = TorchPlace.of(torch, cuda, self.target.platform, self.facts)
        commands = place.commands(self.target.interpreter, find_uv())
        return f"put torch for CUDA {cuda} in its place: {' && '.join(map(command_line, commands))}"

    def _torches_for(self, candidate: Candidate, aspects: set[Aspect]) -> Sequence[TorchVersion | None]:
        """List the torches that may fit: the target's unless it must change, the one in the wheel's name, else all."""
        named = _named_torch(candidate)
        if Aspect.TORCH not in aspects:
            return [self.target.torch or named]
        return [named] if named else sorted(self.facts.torch, key=lambda torch: _steps(torch, self.target))

    def _cuda_of(self, candidate: Candidate, torch: TorchVersion | None) -> CudaVersion | None:
        """Find the CUDA that a wheel names, else the newest of the major release that it names."""
        if candidate.label.cuda:
            return candidate.label.cuda
        release = self.facts.torch.get(torch) if torch else None
        releases = [release] if release else self.facts.torch.values()
        known = {cuda for release in releases for cuda in cudas_of(release, self.target.platform)}
        return max((cuda for cuda in known if cuda.major == candidate.label.cuda_major), default=None)

    def _is_published(self, torch: TorchVersion | None, cuda: CudaVersion | None, python: PythonVersion) -> bool:
        release, platform = self.facts.torch.get(torch) if torch else None, self.target.platform
        if release is None or cuda is None:
            return release is not None or torch is None
        return cuda in cudas_of(release, platform) and python in pythons_of(release, platform)
