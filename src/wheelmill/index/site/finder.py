"""Data of the wheel finder: every wheel, as numbers that point into lists."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypedDict, TypeVar

from wheelmill.config.model.package import NameElsewhere
from wheelmill.index.site.packages import TorchSource, dependencies_of, names_elsewhere, required_here, torch_source
from wheelmill.index.site.wheels import Groups, Trees, WheelGroup, covered_pythons
from wheelmill.index.tree import Catalogue
from wheelmill.names import Architecture, CudaVersion, Platform, ProjectName, PythonVersion, StableTorch, TorchVersion
from wheelmill.plan.targets import Plan
from wheelmill.wheel.gpu_code import CARD_WORDS, CARDS, running_code
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.platforms import PLATFORMS

EMPTY_CATALOGUE: Final = Catalogue(packages={}, plan=Plan(targets=(), skips=()), drivers={})
"""Catalogue of an index whose wheels alone are known."""
Value = TypeVar("Value", bound=Hashable)


class GpuCode(TypedDict):
    """GPU code of wheels."""

    sass: list[str]
    """Architectures with machine code."""
    ptx: list[str]
    """Architectures with portable assembly."""
    runs: dict[str, tuple[str, str] | None]
    """For every compute capability that people may have: ``machine code`` or ``PTX``, and the architecture that it is
    for; null where it does not run. Empty where it is not known what wheels have.
    """


class ProjectWheels(TypedDict):
    """Wheels of one project, as numbers that point into lists."""

    versions: list[str]
    exact_versions: list[str]
    """With their labels."""
    pythons: list[str]
    """Ascending, as are CUDA and torch."""
    cudas: list[str]
    torches: list[str]
    platforms: list[tuple[str, str | None]]
    """Each with a glibc: the oldest that wheels run on."""
    code: list[GpuCode]
    dependencies: list[list[str]]
    """Requirements of wheels besides torch and projects of this index."""
    rows: list[list[int | list[int]]]
    """Version, exact version, CUDA, torch, platform, GPU code, dependencies, Pythons.

    A row for wheels that differ in Python only, the newest version first; -1 is none. CUDA and torch are a list where
    any of several will do. Wheels for no CUDA, such as ROCm's, have no row.
    """


class FinderData(TypedDict):
    """Data that ``finder.js`` reads."""

    projects: list[str]
    """Projects with wheels."""
    planned: list[str]
    """Packages of this factory that have none."""
    pythons: list[str]
    """Ascending, as are CUDA and torch."""
    cudas: list[str]
    torches: list[str]
    drivers: dict[str, str]
    """The oldest Linux driver that runs each CUDA."""
    ptx_drivers: dict[str, str]
    """The oldest one that compiles the portable assembly of each, where it is known."""
    gpu_drivers: dict[str, str]
    """Oldest driver for each GPU, by compute capability; no entry if every driver that runs a CUDA supports it."""
    cards: dict[str, Sequence[str]]
    """Words that identify each card, by compute capability."""
    requires: dict[str, list[str]]
    """Projects of this index that others need beside them."""
    elsewhere: dict[str, NameElsewhere]
    """Project under each name on the package index, where it is known."""
    homes: dict[str, Sequence[str]]
    """Sources of the client that have wheels of a project."""
    torch_sources: dict[str, TorchSource]
    """Torch by ``platform CUDA torch``, where the package index has it for another CUDA."""
    wheels: dict[str, ProjectWheels]
    """Wheels by project; empty on the page, which loads a project once it is chosen."""


def finder_data(groups: Groups, trees: Trees, catalogue: Catalogue = EMPTY_CATALOGUE) -> FinderData:
    """Gather the data of the finder; `catalogue` adds drivers, requirements, and Pythons that no wheel names."""
    for_cuda = {
        project: [group for group in own if not group.kind.built_for.other_accelerator]
        for project, own in groups.items()
    }
    shown = {project: own for project, own in for_cuda.items() if own}
    every_group = [group for of_project in shown.values() for group in of_project]
    pythons = sorted(_pythons(every_group, catalogue))
    cudas = _cudas([group.kind.built_for for group in every_group])
    torches = sorted({torch for group in every_group for torch in _torches_for(group, trees)})
    drivers, ptx_drivers = catalogue.drivers, catalogue.ptx_drivers
    return FinderData(
        projects=list(shown),
        planned=[project for project in sorted(catalogue.packages) if project not in shown],
        pythons=[str(python) for python in pythons],
        cudas=[str(cuda) for cuda in cudas],
        torches=[str(torch) for torch in torches],
        drivers={str(cuda): drivers[cuda] for cuda in cudas if cuda in drivers},
        ptx_drivers={str(cuda): ptx_drivers[cuda] for cuda in cudas if cuda in ptx_drivers},
        gpu_drivers=dict(catalogue.gpu_drivers),
        cards={gpu.capability: words for gpu, words in CARD_WORDS.items()},
        requires={project: list(required) for project, required in required_here(groups, catalogue.packages).items()},
        elsewhere={str(project): claim for project, claim in names_elsewhere(catalogue.packages).items()},
        homes={str(project): homes for project, homes in catalogue.homes.items()},
        torch_sources=_torch_sources(every_group, cudas, trees, catalogue),
        wheels={project: _wheels_of(each, groups, pythons, trees) for project, each in shown.items()},
    )


def _wheels_of(
    groups: Sequence[WheelGroup], here: Container[ProjectName], every_python: Sequence[PythonVersion], trees: Trees
) -> ProjectWheels:
    covered = {pythons: covered_pythons(tuple(every_python), pythons) for pythons in {each.pythons for each in groups}}
    pythons = _numbers_of(sorted({python for each in covered.values() for python in each}))
    cudas = _numbers_of(_cudas([group.kind.built_for for group in groups]))
    torches = _numbers_of(sorted({torch for group in groups for torch in _torches_for(group, trees)}))
    versions = _numbers_of(group.kind.version for group in groups)
    exact_versions = _numbers_of(group.kind.exact_version for group in groups)
    platforms = _numbers_of((group.kind.platform, group.kind.glibc) for group in groups)
    codes = _numbers_of((group.kind.sass, group.kind.ptx) for group in groups)
    dependencies = _numbers_of(dependencies_of(group.requires_dist, here) for group in groups)
    rows: list[list[int | list[int]]] = [
        [
            versions[(kind := group.kind).version],
            exact_versions[kind.exact_version],
            _cuda_column(kind.built_for, cudas),
            _torch_column(group, torches, trees),
            platforms[kind.platform, kind.glibc],
            codes[kind.sass, kind.ptx],
            dependencies[dependencies_of(group.requires_dist, here)],
            [pythons[python] for python in covered[group.pythons]],
        ]
        for group in groups
    ]
    return ProjectWheels(
        versions=list(versions),
        exact_versions=list(exact_versions),
        pythons=[str(python) for python in pythons],
        cudas=[str(cuda) for cuda in cudas],
        torches=[str(torch) for torch in torches],
        platforms=list(platforms),
        code=[_gpu_code(sass, ptx) for sass, ptx in codes],
        dependencies=[list(texts) for texts in dependencies],
        rows=rows,
    )


def _torch_sources(
    groups: Iterable[WheelGroup], cudas: Sequence[CudaVersion], trees: Trees, catalogue: Catalogue
) -> dict[str, TorchSource]:
    """Find the torches of every choice that wheels fit, but those of PyPI."""
    choices = {
        (platform, cuda, torch)
        for group in groups
        for torch in _torches_for(group, trees)
        for cuda in _cudas_for(group.kind.built_for, cudas)
        for named in [Platform.of_tag(group.kind.platform)]
        for platform in ([named] if named else PLATFORMS)
    }
    return {
        f"{platform} {cuda} {torch}": source
        for platform, cuda, torch in sorted(choices)
        if (source := torch_source(torch, cuda, platform, catalogue))
    }


def _cudas_for(named: BuiltFor, cudas: Iterable[CudaVersion]) -> list[CudaVersion]:
    """Return the CUDA releases that wheels fit; none if their label names none."""
    return [named.cuda] if named.cuda else [cuda for cuda in cudas if cuda.major == named.cuda_major]


def _cudas(named: Iterable[BuiltFor]) -> list[CudaVersion]:
    """Return the CUDA releases to choose from; the first of a major stands for it if wheels name the major alone."""
    exact = {each.cuda for each in named if each.cuda}
    majors = {each.cuda_major for each in named if each.cuda_major} - {cuda.major for cuda in exact}
    return sorted(exact | {CudaVersion(major, 0) for major in majors})


def _cuda_column(named: BuiltFor, cudas: Mapping[CudaVersion, int]) -> int | list[int]:
    if named.cuda_major is None:
        return -1
    return cudas[named.cuda] if named.cuda else [cudas[cuda] for cuda in _cudas_for(named, cudas)]


def _torches_for(group: WheelGroup, trees: Trees) -> Sequence[TorchVersion]:
    """Return the torches that wheels are for, if known to the index; none if they need no certain one."""
    label, needed = group.kind.label, group.kind.torch
    if label and isinstance(needed, StableTorch):
        return [torch for torch in trees.get(label.cuda, ()) if group.wheels[0].file.serves(torch)]
    return [needed] if isinstance(needed, TorchVersion) else []


def _torch_column(group: WheelGroup, torches: Mapping[TorchVersion, int], trees: Trees) -> int | list[int]:
    numbers = [torches[torch] for torch in _torches_for(group, trees)]
    if not numbers:
        return -1
    return numbers if isinstance(group.kind.torch, StableTorch) else numbers[0]


def _gpu_code(sass: Sequence[Architecture], ptx: Sequence[Architecture]) -> GpuCode:
    return GpuCode(
        sass=[each.capability for each in sass],
        ptx=[each.capability for each in ptx],
        runs={
            gpu.capability: (code[0], code[1].capability) if (code := running_code(gpu, sass, ptx)) else None
            for gpu in CARDS
            if sass or ptx
        },
    )


def _numbers_of(values: Iterable[Value]) -> dict[Value, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


def _pythons(groups: Iterable[WheelGroup], catalogue: Catalogue) -> set[PythonVersion]:
    of_wheels = {pythons for group in groups for pythons in group.pythons}
    named = {pythons.oldest for pythons in of_wheels if pythons.oldest}
    newer = {python for python in catalogue.pythons if any(each.oldest and each.allows(python) for each in of_wheels)}
    planned = {python for target in catalogue.plan.targets for python in target.pythons}
    return named | newer | planned
