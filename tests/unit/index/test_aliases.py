"""Aliases stand where their wheels stand, and say of them what METADATA can say."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.refusals import coded
from tests.unit.index.conftest import Release, rendered
from tests.unit.plan.examples import CONFIG, DEMO
from tests.unit.release.conftest import NOW
from wheelmill.config.model.files import Listing, Status, StatusEntry, Yanked
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import Aliases
from wheelmill.errors import SiteError
from wheelmill.index.collect import EMPTY_LISTING, site_of_releases
from wheelmill.index.derived import Aliased, with_aliases
from wheelmill.index.tree import Site
from wheelmill.names import ProjectName, project_name
from wheelmill.release.manifest.record import ListedRelease

CU12, CU13, GPU = map(project_name, ("demo-cu12", "demo-cu13", "demo-gpu"))
BOTH = Aliases(suffix=True, extras=GPU)
LATER = NOW + timedelta(days=1)


def wheel(label: str, version: str = "1.0", python: str = "cp311") -> str:
    return f"demo-{version}+{label}-{python}-{python}-manylinux_2_28_x86_64.whl"


def packages(aliases: Aliases | None = BOTH) -> Mapping[ProjectName, Package]:
    return {DEMO: replace(CONFIG.packages[DEMO], aliases=aliases)}


def aliased(
    manifests: tuple[ListedRelease, ...], aliases: Aliases | None = BOTH, listing: Listing = EMPTY_LISTING
) -> Aliased:
    return with_aliases(site_of_releases(manifests, "", listing), packages(aliases))


def listed(site: Site, path: str) -> dict[str, list[str]]:
    """The versions of each alias in a tree."""
    tree = next(tree for tree in site.trees if tree.path == path)
    projects = tree.projects.items()
    return {project: [str(file.name.version) for file in files] for project, files in projects if project != DEMO}


def test_those_with_a_suffix_stand_in_the_trees_of_their_wheels(release: Release) -> None:
    wheels = wheel("cu130torch2.11"), wheel("cu128torch2.11"), wheel("cu128torch2.10")
    found = aliased(release(*wheels), Aliases(suffix=True)).site
    assert {tree.path: listed(found, tree.path) for tree in found.trees} == {
        "": {"demo-cu12": ["1.0+cu128torch2.10", "1.0+cu128torch2.11"], "demo-cu13": ["1.0+cu130torch2.11"]},
        "cu128": {"demo-cu12": ["1.0+cu128torch2.10", "1.0+cu128torch2.11"]},
        "cu128/torch2.10": {"demo-cu12": ["1.0+cu128torch2.10"]},
        "cu128/torch2.11": {"demo-cu12": ["1.0+cu128torch2.11"]},
        "cu130": {"demo-cu13": ["1.0+cu130torch2.11"]},
        "cu130/torch2.11": {"demo-cu13": ["1.0+cu130torch2.11"]},
    }


def test_a_wheel_without_torch_is_in_the_trees_of_all_torches_with_its_aliases(release: Release) -> None:
    other = "other-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
    found = aliased(release(wheel("cu130"), other)).site
    tree = next(tree for tree in found.trees if tree.path == "cu130/torch2.11")
    assert list(tree.projects) == ["demo", "demo-cu13", "demo-gpu", "other"]
    assert tree.projects[CU13][0].requires_dist == ("demo==1.0+cu130",)


def test_each_requires_its_wheel_by_its_label(release: Release) -> None:
    (file,) = aliased(release(wheel("cu130torch2.11"), requires_python=">=3.10")).site.projects[CU13]
    assert file.requires_dist == ("demo==1.0+cu130torch2.11",)
    assert file.requires_python == ">=3.10"


def test_extras_require_those_with_a_suffix(release: Release) -> None:
    (file,) = aliased(release(wheel("cu130torch2.11"), wheel("cu128torch2.11"))).site.projects[GPU]
    assert file.filename == "demo_gpu-1.0+extras.13.12-py3-none-any.whl"
    assert file.requires_dist == ('demo-cu13<=1.0,>=1.0; extra == "cuda13"', 'demo-cu12<=1.0,>=1.0; extra == "cuda12"')


def test_a_version_without_wheels_for_a_cuda_has_the_extra_all_the_same(release: Release) -> None:
    """Else installers would go back to it for the extra, and install nothing."""
    wheels = wheel("cu130torch2.11", "0.9"), wheel("cu130torch2.11"), wheel("cu128torch2.11")
    files = aliased(release(*wheels)).site.projects[GPU]
    assert [file.filename.split("-")[1] for file in files] == ["0.9+extras.13.12", "1.0+extras.13.12"]


def test_what_was_listed_before_another_cuda_came_is_yanked(release: Release) -> None:
    release(wheel("cu130torch2.11"))
    manifests = release(wheel("cu128torch2.11"), wheel("cu130torch2.11", "1.1"), now=LATER)
    files = {str(file.name.version): file for file in aliased(manifests).site.projects[GPU]}
    assert {version: file.yanked for version, file in files.items()} == {
        "1.0+extras.13": "there are wheels for another CUDA major since",
        "1.0+extras.13.12": None,
        "1.1+extras.13.12": None,
    }
    assert [file.uploaded_at for file in files.values()] == [
        moment.replace(microsecond=0) for moment in (NOW, LATER, LATER)
    ]


def test_a_new_release_changes_no_alias_that_was_there(release: Release) -> None:
    before = aliased(release(wheel("cu130torch2.11")))
    after = aliased(release(wheel("cu128torch2.11"), now=LATER))
    assert before.files.items() < after.files.items()


def test_their_bytes_are_those_that_lock_files_have(release: Release) -> None:
    """A site makes them again each time: other bytes would break every lock that has one."""
    found = aliased(release(wheel("cu130torch2.11"))).site.projects
    assert {project: found[project][0].sha256 for project in (CU13, GPU)} == {
        CU13: "33f52449bbe826648ad18b2b34c7db597a91792b385de4fe1f8c566517f941e6",
        GPU: "2ddcc7c81d3b717e42c07a1e9283b59ce82f83984b155a87f65a064d82a3d9e4",
    }


def test_equal_versions_have_one_alias_written_as_the_first_that_was_published(release: Release) -> None:
    """Of two with equal versions and tags, pip takes the last link of a page, and uv another."""
    before = aliased(release(wheel("cu130torch2.11", "1.0.0")))
    after = aliased(release(wheel("cu130torch2.11", python="cp312"), wheel("cu130torch2.10"), now=LATER))
    assert list(after.files) == [
        "aliases/demo-cu13/demo_cu13-1.0+cu130torch2.10-py3-none-any.whl",
        "aliases/demo-cu13/demo_cu13-1.0.0+cu130torch2.11-py3-none-any.whl",
        "aliases/demo-gpu/demo_gpu-1.0.0+extras.13-py3-none-any.whl",
    ]
    assert before.files.items() < after.files.items()
    assert listed(after.site, "cu130/torch2.11") == {
        "demo-cu13": ["1.0.0+cu130torch2.11"],
        "demo-gpu": ["1.0.0+extras.13"],
    }


def test_an_alias_of_equal_versions_is_yanked_when_both_are(release: Release) -> None:
    names = wheel("cu130torch2.11"), wheel("cu130torch2.11", "1.0.0", python="cp312")
    manifests = release(*names)
    yanked = []
    for some in (names[:1], names):
        listing = Listing(yanked=Yanked(wheels=dict.fromkeys(some, "it crashes")))
        found = aliased(manifests, listing=listing).site.projects
        yanked.append([file.yanked for file in (*found[CU13], *found[GPU])])
    assert yanked == [[None, None], ["it crashes", "it crashes"]]


def test_those_of_yanked_wheels_are_yanked(release: Release) -> None:
    manifests = release(wheel("cu130torch2.11"), wheel("cu130torch2.10"), wheel("cu130torch2.10", python="cp312"))
    yanked = {wheel("cu130torch2.11"): "it crashes", wheel("cu130torch2.10"): "it is slow"}
    found = aliased(manifests, listing=Listing(yanked=Yanked(wheels=yanked))).site.projects
    assert [file.yanked for file in found[CU13]] == [None, "it crashes"]
    assert [file.yanked for file in found[GPU]] == [None]


def test_they_have_the_status_of_their_package(release: Release) -> None:
    status = StatusEntry(status=Status.DEPRECATED, reason="use other")
    listing = Listing(yanked=Yanked(projects={DEMO: status}))
    found = aliased(release(wheel("cu130torch2.11")), listing=listing).site
    assert [found.status_of(name) for name in (CU13, GPU)] == [status, status]


def test_a_release_candidate_has_a_suffix_in_its_own_tree_and_no_extras(release: Release) -> None:
    found = aliased(release(wheel("cu130torch2.11"), wheel("cu130torch2.16rc1"))).site
    assert listed(found, "rc/cu130/torch2.16rc1") == {"demo-cu13": ["1.0+cu130torch2.16rc1"]}
    assert listed(found, "")["demo-cu13"] == ["1.0+cu130torch2.11"]


def test_a_wheel_without_a_label_has_none(release: Release) -> None:
    assert aliased(release("demo-1.0-py3-none-any.whl")).site.projects.keys() == {DEMO}


@pytest.mark.parametrize("project", ["demo_cu13", "demo_gpu"])
def test_the_name_of_a_project_with_wheels_is_refused(project: str, release: Release) -> None:
    other = f"{project}-1.0+cu130torch2.11-py3-none-any.whl"
    with pytest.raises(SiteError, check=coded("alias-has-wheels", "demo")):
        aliased(release(wheel("cu130torch2.11"), other))


def test_pages_link_to_the_files_that_the_site_has(release: Release) -> None:
    site = site_of_releases(release(wheel("cu130torch2.11")), "")
    found = with_aliases(site, packages())
    pages = rendered(site, found.site)
    page = pages["cu130/torch2.11/simple/demo-cu13/index.html"].decode()
    assert 'href="../../../../aliases/demo-cu13/demo_cu13-1.0%2Bcu130torch2.11-py3-none-any.whl#sha256=' in page
    assert "aliases/demo-cu13/demo_cu13-1.0+cu130torch2.11-py3-none-any.whl" in found.files
    assert b">demo-gpu<" in pages["cu130/torch2.11/simple/index.html"]


def test_programs_read_of_wheels_alone(release: Release) -> None:
    """wheels.json is compared with releases, which have no aliases."""
    site = site_of_releases(release(wheel("cu130torch2.11")), "")
    assert rendered(site, with_aliases(site, packages()).site)["wheels.json"] == rendered(site)["wheels.json"]


def test_a_package_without_aliases_has_none(release: Release) -> None:
    assert aliased(release(wheel("cu130torch2.11")), None).files == {}
