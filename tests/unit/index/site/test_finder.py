"""What the finder searches."""

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from tests.unit.index.conftest import EVERY_KIND, Release, with_evidence
from tests.unit.plan.examples import CONFIG, CUDA_13, DEMO, PLAIN
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.finder import EMPTY_CATALOGUE, FinderData, ProjectWheels, finder_data
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue
from wheelmill.names import PythonVersion, TorchVersion, project_name
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters
from wheelmill.release.manifest.record import ListedRelease

TORCHES = {CUDA_13: [TorchVersion(2, minor) for minor in (9, 10, 11)]}
TOP = project_name("top")
CATALOGUE = Catalogue(packages=CONFIG.packages, plan=make_plan(CONFIG, Filters(), {}), drivers={CUDA_13: "580.65.06"})


def data(manifests: Sequence[ListedRelease], catalogue: Catalogue = EMPTY_CATALOGUE) -> FinderData:
    site = site_of_releases(manifests, "", torches=TORCHES)
    groups = {project: wheel_groups(files) for project, files in site.projects.items()}
    return finder_data(groups, site.torches, catalogue)


def test_a_wheel_for_many_torches_names_all_that_have_a_tree(release: Release) -> None:
    found = data(release("demo-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl", requires=("torch>=2.10",)))
    assert found["torches"] == ["2.10", "2.11"]
    assert [row[3] for row in found["wheels"]["demo"]["rows"]] == [[0, 1]]


def test_labels_of_others_name_their_cuda_and_those_for_no_cuda_are_left_out(release: Release) -> None:
    labels = ("cu132torch2.13gite2743ab", "cu12torch2.8cxx11abitrue", "cu126", "cuda12.8.torch2.10.0", "rocm6.4", "cpu")
    found = data(release(*(f"demo-1.0+{label}-cp311-cp311-linux_x86_64.whl" for label in labels)))["wheels"]["demo"]
    read = {
        found["exact_versions"][row[1]]: [
            found["cudas"][each] for each in (row[2] if isinstance(row[2], list) else [row[2]])
        ]
        for row in found["rows"]
        if isinstance(row[1], int)
    }
    assert read == {
        "1.0+cu132torch2.13gite2743ab": ["13.2"],
        "1.0+cu12torch2.8cxx11abitrue": ["12.6", "12.8"],
        "1.0+cu126": ["12.6"],
        "1.0+cuda12.8.torch2.10.0": ["12.8"],
    }


def test_a_wheel_for_all_newer_pythons_is_found_for_those_that_no_wheel_names(release: Release) -> None:
    """Python 3.12 was no choice beside cp39-abi3 wheels alone, so the finder fell back on the newest of them."""
    wheels = release("demo-1.0+cu128torch2.9gite2743ab-cp310-abi3-linux_x86_64.whl")
    known = tuple(map(PythonVersion.parse, ("3.9", "3.12", "3.13t")))
    found = data(wheels, replace(EMPTY_CATALOGUE, pythons=known))
    assert found["pythons"] == ["3.10", "3.12"]
    assert [row[-1] for row in found["wheels"]["demo"]["rows"]] == [[0, 1]]


def test_packages_without_wheels_are_planned_and_those_with_wheels_are_not(release: Release) -> None:
    found = data(release(EVERY_KIND[0]), CATALOGUE)
    assert (found["projects"], found["planned"]) == (["demo"], ["plain"])


def test_a_version_of_others_has_no_part_of_their_label(release: Release) -> None:
    labels = ("cu130torch2.9gite2743ab", "20251001.cu126torch280cxx11abitrue.98024f")
    found = data(release(*(f"demo-3.0+{label}-cp39-abi3-linux_x86_64.whl" for label in labels)))["wheels"]["demo"]
    assert (found["versions"], len(found["exact_versions"])) == (["3.0"], 2)


def test_a_major_release_that_is_named_alone_can_be_chosen(release: Release) -> None:
    found = data(release("demo-1.0+cu12torch2.8cxx11abitrue-cp311-cp311-linux_x86_64.whl"))
    assert (found["cudas"], found["wheels"]["demo"]["rows"][0][2]) == (["12.0"], [0])


def rows(found: FinderData) -> list[tuple[str, ...]]:
    """Project, version, CUDA, torch and Pythons of the rows, as a person reads them."""
    return [(project, *row) for project, wheels in found["wheels"].items() for row in rows_of(wheels)]


def rows_of(wheels: ProjectWheels) -> list[tuple[str, ...]]:
    lists = (wheels["versions"], wheels["exact_versions"], wheels["cudas"], wheels["torches"])
    read = []
    for row in wheels["rows"]:
        numbers = [number for number in row[:4] if isinstance(number, int)]
        pythons = row[-1] if isinstance(row[-1], list) else []
        words = ("-" if number < 0 else of[number] for of, number in zip(lists, numbers, strict=True))
        read.append((*words, " ".join(wheels["pythons"][python] for python in pythons)))
    return read


def test_every_kind_of_wheel_has_a_row(release: Release) -> None:
    assert rows(data(release(*EVERY_KIND))) == [
        ("demo", "1.0", "1.0+cu130torch2.11", "13.0", "2.11", "3.11"),
        ("demo", "1.0", "1.0+cu130torch2.10", "13.0", "2.10", "3.11"),
        ("demo", "1.0", "1.0+cu128torch2.10", "12.8", "2.10", "3.11"),
        ("plain-cuda", "2.0", "2.0+cu130", "13.0", "-", "3.11"),
        ("unlabelled", "3.0", "3.0", "-", "-", "3.11"),
    ]


def test_wheels_that_differ_in_python_share_a_row(release: Release) -> None:
    names = [f"demo-1.0+cu130torch2.11-cp3{minor}-cp3{minor}-manylinux_2_28_x86_64.whl" for minor in (9, 10, 12)]
    found = data(release(*names))
    assert found["pythons"] == ["3.9", "3.10", "3.12"]
    assert [row[-1] for row in found["wheels"]["demo"]["rows"]] == [[0, 1, 2]]


def test_machine_code_and_portable_code_are_told_apart(release: Release) -> None:
    found = data(with_evidence(release(EVERY_KIND[0]), sass=("sm_120", "sm_90a"), ptx=("compute_120",)))
    (code,) = found["wheels"]["demo"]["code"]
    assert (code["sass"], code["ptx"]) == (["9.0a", "12.0"], ["12.0"])
    runs = {gpu: how for gpu, how in code["runs"].items() if how}
    assert runs == {"9.0": ("machine code", "9.0a"), "12.0": ("machine code", "12.0"), "12.1": ("machine code", "12.0")}


def test_of_wheels_that_nobody_looked_into_no_gpu_is_known(release: Release) -> None:
    (code,) = data(with_evidence(release(EVERY_KIND[0]), sass=(), ptx=()))["wheels"]["demo"]["code"]
    assert code["runs"] == {}


def test_the_plan_names_pythons_that_no_wheel_is_for_and_drivers(release: Release) -> None:
    found = data(release(EVERY_KIND[0]), CATALOGUE)
    assert found["pythons"] == ["3.11", "3.12", "3.13t"]
    assert found["drivers"] == {"13.0": "580.65.06"}


def test_what_packages_require_of_each_other_is_known_to_the_bottom() -> None:
    packages = {**CONFIG.packages, TOP: CONFIG.packages[PLAIN]}
    for package, required in ((PLAIN, DEMO), (TOP, PLAIN)):
        packages[package] = replace(packages[package], requires=(required,))
    assert data((), replace(CATALOGUE, packages=packages))["requires"] == {"plain": ["demo"], "top": ["plain", "demo"]}


def test_ten_thousand_wheels_are_small(release: Release) -> None:
    (manifest,) = release(EVERY_KIND[0])
    (entry,) = manifest.wheels
    names = [
        f"p{project}-{version}.0+cu{cuda}torch2.{torch}-cp3{python}-cp3{python}-manylinux_2_28_x86_64.whl"
        for project in range(50)
        for version in range(1, 5)
        for cuda in (128, 130)
        for torch in range(7, 12)
        for python in range(9, 14)
    ]
    assert len(names) == 10_000
    parts = ((name, *name.split("-")[:2]) for name in names)
    wheels = tuple(
        structs.replace(entry, filename=filename, name=name, version=version) for filename, name, version in parts
    )
    found = data((structs.replace(manifest, wheels=wheels),))
    assert sum(len(wheels["rows"]) for wheels in found["wheels"].values()) == 2_000
    assert len(str({**found, "wheels": {}})) < 10_000
    assert max(len(str(wheels)) for wheels in found["wheels"].values()) < 5_000
