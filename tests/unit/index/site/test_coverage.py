"""The coverage grid: wheels laid over the plan."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape

from tests.unit.index.conftest import Release, people
from tests.unit.index.site.test_pages import HOSTILE, catalogue
from tests.unit.plan.examples import ARM, CONFIG, CUDA_13, DEMO, PY_12, PY_13T, TORCH_9, TORCH_11, V1, X86
from tests.unit.release.conftest import NOW
from wheelmill.build.provenance import identity_of, inputs_of, known_failures
from wheelmill.config.model.config import Config
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.coverage import (
    COLUMNS,
    Grid,
    Matrix,
    MatrixCell,
    State,
    failures_of,
    grids_of,
    matrix_of,
    planned_coverage,
)
from wheelmill.index.site.finder import EMPTY_CATALOGUE
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue
from wheelmill.names import CudaVersion, Platform, ProjectName, Sha256, StableTorch, TorchVersion, project_name
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import BuildTarget, Filters, KnownFailure, KnownFailures, Obstacle, Skip
from wheelmill.release.manifest.record import ListedRelease

BUILT = "demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
NOTHING: KnownFailures = {}


def failed(target: BuildTarget) -> KnownFailures:
    identity = identity_of(inputs_of(target))
    when = datetime(2026, 11, 20, tzinfo=UTC)
    failure = KnownFailure(id=target.cell.id, target=identity, failed_at=when, reason="a.cu(1): error: no")
    return {identity: failure}


def planned_catalogue(config: Config = CONFIG, failures: KnownFailures = NOTHING) -> Catalogue:
    plan = make_plan(config, Filters(), {}, known_failures(failures))
    return Catalogue(packages=config.packages, plan=plan, drivers={})


def grids(
    manifests: tuple[ListedRelease, ...], planned: Catalogue, project: ProjectName = DEMO, version: str = V1
) -> dict[Platform, Grid]:
    files = site_of_releases(manifests, "").trees[0].projects.get(project, ())
    every = grids_of(wheel_groups(files), planned_coverage(planned.plan).get(project, {}).get(version, {}))
    return {Platform.parse(grid.platform): grid for grid in every}


def states(grid: Grid) -> dict[tuple[str, str], list[State]]:
    return {(str(row.axes.torch), row.axes.words): [outcome.state for outcome in row.outcomes] for row in grid.rows}


def test_what_is_built_what_is_missing_and_what_cannot_be(release: Release) -> None:
    grid = grids(release(BUILT), planned_catalogue())[X86]
    assert grid.pythons == (PY_12, PY_13T)
    assert states(grid) == {
        ("2.11", "13.0"): [State.BUILT, State.SKIPPED],
        ("2.11", "12.8"): [State.MISSING, State.SKIPPED],
        ("2.9", "12.8"): [State.MISSING, State.MISSING],
    }
    assert [row.axes.torch for row in grid.rows] == [TORCH_11, TORCH_11, TORCH_9]
    assert (grid.counts[State.BUILT], grid.wanted) == (1, 4)


def test_reasons_are_given_for_cells_in_the_grid_and_outside_of_it(release: Release) -> None:
    grid = grids(release(BUILT), planned_catalogue())[X86]
    assert grid.skips == (("torch 2.11 is not published for Python 3.13t", 2),)
    assert grid.outside == ((f"torch 2.9 is not published for CUDA 13.0 on {X86} (12.8 there)", 2),)
    assert grid.failures == ()


def test_a_failed_build_is_told_from_one_that_was_never_tried() -> None:
    (target, *_) = (target for target in make_plan(CONFIG, Filters(), {}).targets if target.cell.platform == X86)
    failures = failed(target)
    planned = planned_catalogue(failures=failures)
    grid = grids((), planned)[X86]
    assert grid.counts[State.FAILED] == 1
    assert grid.failures == (("failed on 2026-11-20: a.cu(1): error: no", 1),)


def test_a_wheel_that_was_built_after_all_counts_as_built(release: Release) -> None:
    planned = make_plan(CONFIG, Filters(), {}).targets
    cell_id = f"demo-1.0+cu130torch2.11-cp312-{X86}"
    (target,) = (each for each in planned if each.cell.id == cell_id and each.cell.cuda == CUDA_13)
    failures = failed(target)
    grid = grids(release(BUILT), planned_catalogue(failures=failures))[X86]
    assert (grid.counts[State.BUILT], grid.counts[State.FAILED]) == (1, 0)


def test_a_package_that_may_not_be_built_says_why_and_has_no_rows() -> None:
    config = replace(CONFIG, packages={DEMO: replace(CONFIG.packages[DEMO], redistributable=False, licence="X")})
    grid = grids((), planned_catalogue(config))[ARM]
    assert grid.rows == ()
    assert [reason for reason, _ in grid.outside] == ["its licence (X) does not let others be given the wheel"]


def test_one_abi3_wheel_covers_every_python_from_its_own_on(release: Release) -> None:
    shared = "demo-1.0+cu130torch2.11-cp39-abi3-manylinux_2_28_x86_64.whl"
    config = replace(CONFIG, packages={DEMO: replace(CONFIG.packages[DEMO], abi="abi3")})
    assert states(grids(release(shared), planned_catalogue(config))[X86])["2.11", "13.0"] == [State.BUILT, State.BUILT]


def test_the_pythons_of_an_abi3_wheel_that_is_missing_are_missing() -> None:
    config = replace(CONFIG, packages={DEMO: replace(CONFIG.packages[DEMO], abi="abi3")})
    grid = grids((), planned_catalogue(config))[X86]
    assert set(states(grid)["2.9", "12.8"]) == {State.MISSING}


def test_without_a_plan_only_what_is_built_is_known(release: Release) -> None:
    (grid,) = grids(release(BUILT), EMPTY_CATALOGUE).values()
    assert states(grid) == {("2.11", "13.0"): [State.BUILT]}
    assert grid.outside == ()


def test_a_wheel_for_many_torches_has_a_row_of_its_own(release: Release) -> None:
    for_many = replace(CONFIG.packages[DEMO], abi="abi3", torch_abi=StableTorch(oldest=TORCH_9))
    planned = planned_catalogue(replace(CONFIG, packages={DEMO: for_many}))
    wheel = "demo-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl"
    assert set(states(grids((), planned)[X86])) == {(">=2.9", "13.0"), (">=2.9", "12.8")}
    grid = states(grids(release(wheel, BUILT, requires=("torch>=2.9",)), planned)[X86])
    assert set(grid[">=2.9", "13.0"]) == {State.BUILT}
    assert State.MISSING in grid[">=2.9", "12.8"]
    assert State.BUILT in grid["2.11", "13.0"]


MINORS = [TorchVersion(2, minor) for minor in (8, 9, 10, 11)]
TORCHES = {CudaVersion(13, 0): [*MINORS, TorchVersion(2, 12, 1)]}


def matrix(
    release: Release, *wheels: str, requires: tuple[str, ...] = (), planned: Catalogue = EMPTY_CATALOGUE
) -> Matrix:
    names = [f"demo-{each}-cp312-cp312-manylinux_2_28_x86_64.whl" for each in wheels]
    site = site_of_releases(release(*names, requires=requires) if names else [], "")
    groups = {DEMO: wheel_groups(site.projects.get(DEMO, ()))}
    return matrix_of(groups, TORCHES, planned_coverage(planned.plan))


def versions(found: Matrix) -> dict[str, str | None]:
    return {str(torch): cell.version for torch, cell in zip(found.torches, found.rows[0][1], strict=True)}


def test_each_torch_has_the_newest_version_with_wheels_for_it(release: Release) -> None:
    found = matrix(release, "1.0+cu130torch2.9", "1.0+cu130torch2.10", "2.0+cu130torch2.10", "1.10+cu130torch2.11")
    assert versions(found) == {"2.11": "1.10", "2.10": "2.0", "2.9": "1.0", "2.8": None}
    assert [cell.is_newest for cell in found.rows[0][1][:3]] == [False, True, False]


def test_a_candidate_is_no_column_and_there_are_not_too_many(release: Release) -> None:
    many = {CudaVersion(13, 0): [TorchVersion(2, minor) for minor in range(12)]}
    assert len(matrix_of({}, many, {}).torches) == COLUMNS
    assert [str(torch) for torch in matrix(release).torches] == ["2.11", "2.10", "2.9", "2.8"]


def test_what_needs_no_torch_or_any_of_a_range_stands_below_all_of_them(release: Release) -> None:
    assert set(versions(matrix(release, "1.0+cu130")).values()) == {"1.0"}


def test_any_torch_of_a_range_is_each_of_them(release: Release) -> None:
    found = versions(matrix(release, "1.0+cu130", requires=("torch>=2.9,<2.11",)))
    assert found == {"2.11": None, "2.10": "1.0", "2.9": "1.0", "2.8": None}


def test_what_is_not_built_is_planned_failed_or_cannot_be(release: Release) -> None:
    found = matrix(release, planned=catalogue())
    assert found.rows[0][1][0] == MatrixCell(state=State.MISSING, version="2.0")
    assert {cell.state for cell in found.rows[0][1]} == {State.MISSING, State.SKIPPED}


def test_a_cell_that_failed_leads_to_the_reason() -> None:
    failed = failing("error: no")
    alone = replace(failed, plan=replace(failed.plan, targets=()))
    pages = people(site_of_releases([], ""), alone)
    assert '<a class="failed" href="../packages/demo/failures/">' in pages["matrix/index.html"].decode()


def test_many_packages_are_several_pages_of_bounded_size() -> None:
    packages = {
        name: replace(CONFIG.packages[DEMO], name=name)
        for name in (project_name(f"package-{number:03}") for number in range(320))
    }
    planned = replace(catalogue(), packages=packages)
    pages = people(site_of_releases([], ""), planned)
    parts = [pages[f"matrix/{part}index.html"].decode() for part in ("", "page-2/", "page-3/")]
    assert sum(part.count('<th scope="row">') for part in parts) == 320
    assert all(len(part) < 150_000 and part.count("<") - part.count("</") < 3000 for part in parts)


def test_an_empty_site_has_an_empty_matrix() -> None:
    assert "Nothing is built or planned" in people(site_of_releases([], ""))["matrix/index.html"].decode()


RUN = "https://example.org/o/r/actions/runs/12"


def failing(*reasons: str, log: str = "cc1plus: out of words", run: str | None = RUN) -> Catalogue:
    """A plan whose first targets failed of these."""
    known = catalogue()
    targets = [target for target in known.plan.targets if target.cell.project == DEMO]
    skips = []
    for number, (target, reason) in enumerate(zip(targets, reasons, strict=False)):
        failure = KnownFailure(
            id=target.cell.id, target=Sha256("0" * 64), failed_at=NOW + timedelta(hours=number), reason=reason, log=log,
            run=run,
        )  # fmt: skip
        skips.append(Skip(cell=target.cell, obstacle=Obstacle.FAILED, reason=reason, failure=failure))
    assert len(skips) == len(reasons)
    return replace(known, plan=replace(known.plan, skips=tuple(skips)))


def test_a_page_tells_what_the_compiler_said_where_and_shows_the_log() -> None:
    pages = people(site_of_releases([], ""), failing("error: no ninja"))
    page = pages["packages/demo/failures/index.html"].decode()
    assert '<p class="verdict none">error: no ninja</p>' in page
    assert "cc1plus: out of words" in page
    assert f'<a href="{RUN}">' in page
    assert 'href="failures/"' in pages["packages/demo/index.html"].decode()


def test_what_fails_of_the_same_is_told_once() -> None:
    found = failures_of(failing("error: a", "error: a", "error: b").plan)[DEMO]
    told = {(each.version, each.newest.reason): each.count for each in found.builds}
    assert sum(told.values()) == 3
    assert len(told) == len(found.builds)


def test_packages_without_failures_have_no_such_page() -> None:
    pages = people(site_of_releases([], ""), catalogue())
    assert [path for path in pages if "failures" in path] == []


def test_a_hostile_log_stays_text_and_links_to_nothing() -> None:
    hostile = failing(HOSTILE, log=HOSTILE, run="javascript:alert(1)")
    page = people(site_of_releases([], ""), hostile)["packages/demo/failures/index.html"].decode()
    assert HOSTILE in unescape(page)
    assert "<img src=x" not in page
    assert "javascript:" not in page


def test_many_reasons_make_a_page_of_bounded_size() -> None:
    plan = make_plan(CONFIG, Filters(), {})
    (target, *_) = plan.targets
    skips = tuple(
        Skip(cell=target.cell, obstacle=Obstacle.FAILED, reason=f"error {number}", failure=KnownFailure(
            id=target.cell.id, target=Sha256("0" * 64), failed_at=NOW, reason=f"error {number}", log="x" * 4000))
        for number in range(100)
    )  # fmt: skip
    pages = people(site_of_releases([], ""), replace(catalogue(), plan=replace(plan, skips=skips)))
    page = pages[f"packages/{target.cell.project}/failures/index.html"]
    assert len(page) < 150_000
    assert b"And 80 other reasons" in page
