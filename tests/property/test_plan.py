"""What holds of every plan, whatever the configuration and the wishes are."""

import datetime as dt
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from wheelmill.config.records import (
    BuildArguments,
    Compatibility,
    Config,
    CudaRelease,
    Lock,
    Package,
    TorchRelease,
)
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    ReleaseTag,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.records import Cell, Filters, Plan

PROJECTS = [project_name(text) for text in ("demo", "demo-1", "demo-1-0")]
VERSIONS = [project_version(text) for text in ("1.0", "1.0.post1", "1.0+git1", "2.10rc1")]
PYTHONS = [PythonVersion.parse(text) for text in ("3.9", "3.12", "3.13", "3.13t")]
CUDAS = [CudaVersion.parse(text) for text in ("11.8", "12.8", "13.0")]
TORCHES = [TorchVersion.parse(text) for text in ("2.1", "2.10", "2.11")]
PLATFORMS = [Platform("linux_x86_64"), Platform("linux_aarch64")]
ARCHITECTURES = [Architecture.parse(text) for text in ("7.0", "9.0", "9.0a", "12.0+PTX")]

Value = TypeVar("Value")


def some(values: list[Value], at_least: int = 0) -> st.SearchStrategy[tuple[Value, ...]]:
    """Distinct values in any order."""
    return st.lists(st.sampled_from(values), min_size=at_least, unique=True).map(tuple)


packages = st.builds(
    Package,
    name=st.just(PROJECTS[0]),
    versions=some(VERSIONS, at_least=1),
    build_arguments=st.just(BuildArguments(isolation=True, config_settings=())),
    extra_deps=some(["ninja", "torch>=2"]),
    env=st.just(()),
    architectures=some(ARCHITECTURES, at_least=1),
    test_import=st.just("demo"),
    description=st.just(""),
    source=st.none(),
)
cuda_releases = st.builds(
    CudaRelease,
    toolkit=st.sampled_from(["12.8.1", "13.0.2"]),
    architectures=some([architecture.capability for architecture in ARCHITECTURES], at_least=2).map(frozenset),
)
torch_releases = st.builds(
    TorchRelease,
    release=st.sampled_from(["2.10.0", "2.11.0"]),
    cuda=some(CUDAS, at_least=1).map(frozenset),
    python=some(PYTHONS, at_least=2).map(frozenset),
)
compatibilities = st.builds(
    Compatibility,
    checked=st.just(dt.date(2026, 11, 21)),
    cuda=st.dictionaries(st.sampled_from(CUDAS), cuda_releases, min_size=2),
    torch=st.dictionaries(st.sampled_from(TORCHES), torch_releases, min_size=1),
    platforms=some(PLATFORMS, at_least=1),
)
configs = st.builds(
    Config,
    directory=st.just(Path("config")),
    packages=st.dictionaries(st.sampled_from(PROJECTS), packages, min_size=2).map(
        lambda entries: {name: replace(package, name=name) for name, package in entries.items()}
    ),
    compatibility=compatibilities,
    lock=st.just(Lock(sdists={})),
)


@st.composite
def wishes(draw: st.DrawFn) -> tuple[Config, Filters]:
    """A configuration and filters for it, some of which name what it does not know."""
    config = draw(configs)
    projects = draw(st.just(()) | some([*config.packages]))
    versions = {version for name in projects or config.packages for version in config.packages[name].versions}
    return config, Filters(
        projects=projects,
        versions=draw(st.just(()) | some(sorted(versions))),
        pythons=draw(st.just(()) | some(PYTHONS)),
        cudas=draw(st.just(()) | some(CUDAS)),
        torches=draw(st.just(()) | some(TORCHES)),
        platforms=draw(st.just(()) | some(PLATFORMS)),
    )


every_plan = settings(derandomize=True, max_examples=50)


def cells_of(plan: Plan) -> list[Cell]:
    return [target.cell for target in plan.targets] + [skip.cell for skip in plan.skips]


def whole_product(config: Config, filters: Filters) -> set[Cell]:
    facts = config.compatibility
    axes = product(
        filters.projects or config.packages,
        filters.versions or VERSIONS,
        filters.pythons or facts.pythons,
        filters.cudas or facts.cuda,
        (*(filters.torches or facts.torch), None),
        filters.platforms or facts.platforms,
    )
    return {
        Cell(project=project, version=version, python=python, cuda=cuda, torch=torch, platform=platform)
        for project, version, python, cuda, torch, platform in axes
        if version in config.packages[project].versions and (torch is None) != config.packages[project].needs_torch
    }


@given(wishes())
@every_plan
def test_every_cell_of_the_product_is_either_a_target_or_a_skip(wish: tuple[Config, Filters]) -> None:
    config, filters = wish
    assert Counter(cells_of(make_plan(config, filters, {}))) == Counter(whole_product(config, filters))


@given(wishes())
@every_plan
def test_every_target_can_exist(wish: tuple[Config, Filters]) -> None:
    config, filters = wish
    facts = config.compatibility
    for target in make_plan(config, filters, {}).targets:
        cell, cuda = target.cell, facts.cuda[target.cell.cuda]
        assert cell.platform in facts.platforms
        assert cell.python in facts.pythons
        assert target.package == config.packages[cell.project]
        assert target.toolkit == cuda.toolkit
        assert target.architectures
        assert set(target.architectures) <= set(target.package.architectures)
        assert {architecture.capability for architecture in target.architectures} <= cuda.architectures
        if cell.torch:
            torch = facts.torch[cell.torch]
            assert cell.cuda in torch.cuda
            assert cell.python in torch.python
            assert target.torch_release == torch.release


@given(wishes())
@every_plan
def test_every_skip_names_what_stands_in_the_way(wish: tuple[Config, Filters]) -> None:
    for skip in make_plan(*wish, {}).skips:
        cell = skip.cell
        obstacles = (f"platform {cell.platform}", f"CUDA {cell.cuda}", f"Python {cell.python}", f"torch {cell.torch}")
        assert any(obstacle in skip.reason for obstacle in obstacles)


@given(wishes())
@every_plan
def test_no_two_cells_have_one_id(wish: tuple[Config, Filters]) -> None:
    ids = Counter(cell.id for cell in cells_of(make_plan(*wish, {})))
    assert [cell_id for cell_id, count in ids.items() if count > 1] == []


@given(wishes())
@every_plan
def test_planning_with_a_filter_is_filtering_the_whole_plan(wish: tuple[Config, Filters]) -> None:
    config, filters = wish
    wanted = whole_product(config, filters)
    whole, part = make_plan(config, Filters(), {}), make_plan(config, filters, {})
    assert set(part.targets) == {target for target in whole.targets if target.cell in wanted}
    assert set(part.skips) >= {skip for skip in whole.skips if skip.cell in wanted}


@given(wishes(), st.data())
@every_plan
def test_what_is_published_moves_from_targets_to_skips_unless_it_is_forced(
    wish: tuple[Config, Filters], data: st.DataObject
) -> None:
    config, filters = wish
    without = make_plan(config, filters, {})
    published = dict.fromkeys(data.draw(st.sets(st.sampled_from(cells_of(without)))), ReleaseTag("v2026-11-21"))
    planned = make_plan(config, filters, published)
    assert planned.targets == tuple(target for target in without.targets if target.cell not in published)
    assert {skip.cell for skip in planned.skips if skip.reason == "already published in v2026-11-21"} == {
        target.cell for target in without.targets if target.cell in published
    }
    assert make_plan(config, replace(filters, force=True), published) == without
