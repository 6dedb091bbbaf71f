"""What holds of every plan, whatever the configuration and the wishes are."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from tests.property.configurations import VERSIONS, wishes
from wheelmill.config.model.config import Config
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import ArchitectureRule, Part
from wheelmill.names import Architecture, PythonVersion, ReleaseTag, StableTorch, TorchNeed, TorchVersion
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Cell, Filters, Obstacle, Plan, Skip

Entry = TypeVar("Entry", BuildTarget, Skip)

every_plan = settings(max_examples=settings().max_examples // 2)


def cells_of(plan: Plan) -> list[Cell]:
    return [target.cell for target in plan.targets] + [skip.cell for skip in plan.skips]


def pythons_for(package: Package, config: Config) -> set[PythonVersion]:
    facts = config.compatibility
    of_torch = (pythons for torch in facts.torch.values() for pythons in torch.python.values() if package.needs_torch)
    return set[PythonVersion]().union(*of_torch) or {*facts.pythons}


def is_axis_of(package: Package, torch: TorchNeed | None) -> bool:
    """Whether cells of a package may have such a torch, published or not."""
    if package.torch_abi or not package.needs_torch:
        return torch == package.torch_abi
    return isinstance(torch, TorchVersion)


def whole_product(config: Config, filters: Filters) -> set[Cell]:
    facts = config.compatibility
    axes = product(
        filters.projects or config.packages,
        filters.versions or VERSIONS,
        filters.pythons or {python for package in config.packages.values() for python in pythons_for(package, config)},
        filters.cudas or facts.cuda,
        {*(filters.torches or facts.torch), *(package.torch_abi for package in config.packages.values()), None},
        filters.platforms or facts.platforms,
    )
    return {
        Cell(project=project, version=version, python=python, cuda=cuda, torch=torch, platform=platform)
        for project, version, python, cuda, torch, platform in axes
        if version in config.packages[project].versions
        and is_axis_of(config.packages[project], torch)
        and (filters.pythons or python in pythons_for(config.packages[project], config))
    }


@cache
def contains(wanted: SpecifierSet, value: str) -> bool:
    return wanted.contains(value, prereleases=True)


def lies_in(part: Part, cell: Cell) -> bool:
    axes = (
        (part.version, cell.version),
        (part.python, str(cell.python).removesuffix("t")),
        (part.cuda, str(cell.cuda)),
        (part.torch, str(cell.torch)),
    )
    for wanted, value in axes:
        if wanted is not None and (value == "None" or not contains(wanted, value)):
            return False
    return part.platform is None or cell.platform in part.platform


@given(wishes())
@every_plan
def test_every_cell_of_the_product_is_either_a_target_or_a_skip(wish: tuple[Config, Filters]) -> None:
    config, filters = wish
    assert Counter(cells_of(make_plan(config, filters, {}))) == Counter(whole_product(config, filters))


def wanted_for(cell: Cell, package: Package) -> tuple[Architecture, ...]:
    for each in package.architectures:
        if isinstance(each, ArchitectureRule) and lies_in(each, cell):
            return each.list
    return tuple(each for each in package.architectures if isinstance(each, Architecture))


@given(wishes())
@every_plan
def test_every_target_can_exist(wish: tuple[Config, Filters]) -> None:
    config, filters = wish
    facts = config.compatibility
    for target in make_plan(config, filters, {}).targets:
        cell, cuda = target.cell, facts.cuda[target.cell.cuda]
        assert cell.platform in facts.platforms
        assert target.package == config.packages[cell.project]
        assert target.toolkit == cuda.toolkit
        assert target.architectures
        wanted = wanted_for(cell, target.package)
        names = [architecture.capability for architecture in target.architectures]
        assert names == [each.capability for each in wanted if each.capability in cuda.architectures]
        runs_later = not all(architecture.feature for architecture in target.architectures)
        if runs_later and any(each.ptx for each in wanted):
            assert any(architecture.ptx for architecture in target.architectures)
        if cell.torch is None:
            assert cell.python in facts.pythons
            continue
        if isinstance(cell.torch, StableTorch):
            linked = facts.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)[0]
        else:
            linked = cell.torch
        torch = facts.torch[linked]
        assert target.torch_release == torch.release
        if not any(lies_in(rule, cell) for rule in target.package.include):
            assert cell.cuda in torch.cuda[cell.platform]
            assert cell.python in torch.python[cell.platform]


@given(wishes())
@every_plan
def test_every_target_is_wanted(wish: tuple[Config, Filters]) -> None:
    for target in make_plan(*wish, {}).targets:
        package, cell = target.package, target.cell
        assert package.redistributable
        assert lies_in(package.scope, cell)
        assert not any(lies_in(rule, cell) for rule in package.exclude)


@given(wishes())
@every_plan
def test_every_skip_names_what_stands_in_the_way(wish: tuple[Config, Filters]) -> None:
    config, filters = wish
    facts = config.compatibility
    for skip in make_plan(config, filters, {}).skips:
        cell, package = skip.cell, config.packages[skip.cell.project]
        obstacles = (f"platform {cell.platform}", f"CUDA {cell.cuda}", f"Python {cell.python}", f"torch {cell.torch}")
        excluded_by = [rule.reason for rule in package.exclude if lies_in(rule, cell)]
        if skip.reason.startswith("its licence"):
            assert not package.redistributable
        elif skip.reason.startswith("its entry is for "):
            assert not lies_in(package.scope, cell)
        elif skip.obstacle is Obstacle.NO_TORCH and isinstance(cell.torch, StableTorch):
            served = facts.torches_in(cell.torch, cell.cuda, cell.platform, cell.python)
            assert set(served).isdisjoint(filters.torches or served)
        elif skip.reason in ("Too old", "Does not link"):
            assert skip.reason == excluded_by[0]
        else:
            assert any(obstacle in skip.reason for obstacle in obstacles)


@given(wishes())
@every_plan
def test_no_two_cells_have_one_id(wish: tuple[Config, Filters]) -> None:
    ids = Counter(cell.id for cell in cells_of(make_plan(*wish, {})))
    assert [cell_id for cell_id, count in ids.items() if count > 1] == []


def keeps(filters: Filters, cell: Cell) -> bool:
    """Whether a cell is asked for. One without a torch of its own stands outside of that axis."""
    axes = (
        (filters.projects, cell.project),
        (filters.versions, cell.version),
        (filters.pythons, cell.python),
        (filters.cudas, cell.cuda),
        (filters.torches if isinstance(cell.torch, TorchVersion) else (), cell.torch),
        (filters.platforms, cell.platform),
    )
    return all(value in wanted for wanted, value in axes if wanted)


AXES = ["projects", "versions", "pythons", "cudas", "torches", "platforms"]


@given(wishes(), st.sets(st.sampled_from(AXES)))
@settings(every_plan, max_examples=settings().max_examples * 2)
def test_filters_before_and_after_planning_are_equal(wish: tuple[Config, Filters], kept: set[str]) -> None:
    config, every = wish
    # Which torch a wheel for many of them is linked with depends on those that are asked for.
    kept = kept - {"torches"} if any(package.torch_abi for package in config.packages.values()) else kept
    keeping = only(kept, every)
    some, whole = make_plan(config, only({*AXES} - kept, every), {}), make_plan(config, every, {})
    assert by_cell(whole.targets) == {c: t for c, t in by_cell(some.targets).items() if keeps(keeping, c)}
    known = {*cells_of(some)}
    assert {c: s for c, s in by_cell(whole.skips).items() if c in known} == {
        c: s for c, s in by_cell(some.skips).items() if keeps(keeping, c)
    }


def only(axes: set[str], filters: Filters) -> Filters:
    return Filters(**{axis: getattr(filters, axis) for axis in axes})


def by_cell(entries: Iterable[Entry]) -> dict[Cell, Entry]:
    return {entry.cell: entry for entry in entries}


@given(wishes(), st.data())
@every_plan
def test_published_targets_become_skips_unless_forced(wish: tuple[Config, Filters], data: st.DataObject) -> None:
    config, filters = wish
    without = make_plan(config, filters, {})
    published = dict.fromkeys(data.draw(st.sets(st.sampled_from(cells_of(without)))), ReleaseTag("v2026-11-21"))
    planned = make_plan(config, filters, published)
    assert planned.targets == tuple(target for target in without.targets if target.cell not in published)
    assert {skip.cell for skip in planned.skips if skip.reason == "already published in v2026-11-21"} == {
        target.cell for target in without.targets if target.cell in published
    }
    assert make_plan(config, replace(filters, force=True), published) == without
