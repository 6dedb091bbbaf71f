"""The coverage grid: wheels laid over the plan."""

from dataclasses import replace
from datetime import UTC, datetime

from tests.unit.index.conftest import Release
from tests.unit.plan.examples import ARM, CONFIG, CUDA_13, DEMO, PY_12, PY_13T, TORCH_9, TORCH_11, V1, X86
from wheelmill.build.provenance import identity_of, inputs_of, known_failures
from wheelmill.config.model import Config
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.coverage import Grid, State, grids_of, planned_coverage
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue
from wheelmill.names import Platform, ProjectName, StableTorch
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters, KnownFailure, KnownFailures
from wheelmill.release.manifest import ListedRelease

BUILT = "demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
NOTHING: KnownFailures = {}


def failed(target: BuildTarget) -> KnownFailures:
    identity = identity_of(inputs_of(target))
    when = datetime(2026, 11, 20, tzinfo=UTC)
    failure = KnownFailure(id=target.cell.id, target=identity, failed_at=when, reason="a.cu(1): error: no")
    return {identity: failure}


def catalogue(config: Config = CONFIG, failures: KnownFailures = NOTHING) -> Catalogue:
    return Catalogue(
        packages=config.packages, plan=make_plan(config, Filters(), {}, known_failures(failures)), drivers={}
    )


def grids(
    manifests: tuple[ListedRelease, ...], planned: Catalogue | None, project: ProjectName = DEMO, version: str = V1
) -> dict[Platform, Grid]:
    files = site_of_releases(manifests, "").trees[0].projects.get(project, ())
    every = grids_of(project, version, wheel_groups(files), planned_coverage(planned))
    return {Platform.parse(grid.platform): grid for grid in every}


def states(grid: Grid) -> dict[tuple[str, str], list[State]]:
    return {(str(row.axes.torch), row.axes.words): [outcome.state for outcome in row.outcomes] for row in grid.rows}


def test_what_is_built_what_is_missing_and_what_cannot_be(release: Release) -> None:
    grid = grids(release(BUILT), catalogue())[X86]
    assert grid.pythons == (PY_12, PY_13T)
    assert states(grid) == {
        ("2.11", "13.0"): [State.BUILT, State.SKIPPED],
        ("2.11", "12.8"): [State.MISSING, State.SKIPPED],
        ("2.9", "12.8"): [State.MISSING, State.MISSING],
    }
    assert [row.axes.torch for row in grid.rows] == [TORCH_11, TORCH_11, TORCH_9]
    assert (grid.counts[State.BUILT], grid.wanted) == (1, 4)


def test_reasons_are_given_for_cells_in_the_grid_and_outside_of_it(release: Release) -> None:
    grid = grids(release(BUILT), catalogue())[X86]
    assert grid.skips == (("torch 2.11 is not published for Python 3.13t", 2),)
    assert grid.outside == ((f"torch 2.9 is not published for CUDA 13.0 on {X86} (12.8 there)", 2),)
    assert grid.failures == ()


def test_a_failed_build_is_told_from_one_that_was_never_tried() -> None:
    (target, *_) = (target for target in make_plan(CONFIG, Filters(), {}).targets if target.cell.platform == X86)
    failures = failed(target)
    planned = catalogue(failures=failures)
    grid = grids((), planned)[X86]
    assert grid.counts[State.FAILED] == 1
    assert grid.failures == (("failed on 2026-11-20: a.cu(1): error: no", 1),)


def test_a_wheel_that_was_built_after_all_counts_as_built(release: Release) -> None:
    planned = make_plan(CONFIG, Filters(), {}).targets
    (target,) = (
        each for each in planned if each.cell.id == f"demo-1.0+cu130torch2.11-cp312-{X86}" and each.cell.cuda == CUDA_13
    )
    failures = failed(target)
    grid = grids(release(BUILT), catalogue(failures=failures))[X86]
    assert (grid.counts[State.BUILT], grid.counts[State.FAILED]) == (1, 0)


def test_a_package_that_may_not_be_built_says_why_and_has_no_rows() -> None:
    config = replace(CONFIG, packages={DEMO: replace(CONFIG.packages[DEMO], redistributable=False, licence="X")})
    grid = grids((), catalogue(config))[ARM]
    assert grid.rows == ()
    assert [reason for reason, _ in grid.outside] == ["its licence (X) does not let others be given the wheel"]


def test_one_abi3_wheel_covers_every_python_from_its_own_on(release: Release) -> None:
    shared = "demo-1.0+cu130torch2.11-cp39-abi3-manylinux_2_28_x86_64.whl"
    config = replace(CONFIG, packages={DEMO: replace(CONFIG.packages[DEMO], abi="abi3")})
    assert states(grids(release(shared), catalogue(config))[X86])["2.11", "13.0"] == [State.BUILT, State.BUILT]


def test_the_pythons_of_an_abi3_wheel_that_is_missing_are_missing() -> None:
    config = replace(CONFIG, packages={DEMO: replace(CONFIG.packages[DEMO], abi="abi3")})
    grid = grids((), catalogue(config))[X86]
    assert set(states(grid)["2.9", "12.8"]) == {State.MISSING}


def test_without_a_plan_only_what_is_built_is_known(release: Release) -> None:
    (grid,) = grids(release(BUILT), None).values()
    assert states(grid) == {("2.11", "13.0"): [State.BUILT]}
    assert grid.outside == ()


def test_a_wheel_for_many_torches_has_a_row_of_its_own(release: Release) -> None:
    for_many = replace(CONFIG.packages[DEMO], abi="abi3", torch_abi=StableTorch(oldest=TORCH_9))
    planned = catalogue(replace(CONFIG, packages={DEMO: for_many}))
    wheel = "demo-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl"
    assert set(states(grids((), planned)[X86])) == {(">=2.9", "13.0"), (">=2.9", "12.8")}
    grid = states(grids(release(wheel, BUILT, requires=("torch>=2.9",)), planned)[X86])
    assert set(grid[">=2.9", "13.0"]) == {State.BUILT}
    assert State.MISSING in grid[">=2.9", "12.8"]
    assert State.BUILT in grid["2.11", "13.0"]
