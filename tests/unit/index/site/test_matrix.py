"""The matrix of all packages and the newest torches."""

from dataclasses import replace

from tests.unit.index.conftest import Release
from tests.unit.index.site.test_failures import failing
from tests.unit.index.site.test_pages import catalogue, people
from tests.unit.plan.examples import CONFIG, DEMO
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.coverage import State, planned_coverage
from wheelmill.index.site.matrix import COLUMNS, Matrix, MatrixCell, matrix_of
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue
from wheelmill.names import CudaVersion, TorchVersion, project_name

MINORS = [TorchVersion(2, minor) for minor in (8, 9, 10, 11)]
TORCHES = {CudaVersion(13, 0): [*MINORS, TorchVersion(2, 12, 1)]}


def matrix(release: Release, *wheels: str, requires: tuple[str, ...] = (), planned: Catalogue | None = None) -> Matrix:
    names = [f"demo-{each}-cp312-cp312-manylinux_2_28_x86_64.whl" for each in wheels]
    site = site_of_releases(release(*names, requires=requires) if names else [], "")
    groups = {DEMO: wheel_groups(site.projects.get(DEMO, ()))}
    return matrix_of(groups, TORCHES, planned_coverage(planned))


def versions(found: Matrix) -> dict[str, str | None]:
    return {str(torch): cell.version for torch, cell in zip(found.torches, found.rows[0].cells, strict=True)}


def test_each_torch_has_the_newest_version_with_wheels_for_it(release: Release) -> None:
    found = matrix(release, "1.0+cu130torch2.9", "1.0+cu130torch2.10", "2.0+cu130torch2.10", "1.10+cu130torch2.11")
    assert versions(found) == {"2.11": "1.10", "2.10": "2.0", "2.9": "1.0", "2.8": None}
    assert [cell.is_newest for cell in found.rows[0].cells[:3]] == [False, True, False]


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
    assert found.rows[0].cells[0] == MatrixCell(state=State.MISSING, version="2.0")
    assert {cell.state for cell in found.rows[0].cells} == {State.MISSING, State.SKIPPED}


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
