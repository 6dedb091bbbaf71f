"""Which wheels stand in which trees. Which wheels of a folder an index lists."""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.index.conftest import EVERY_KIND, Release, names_of, people, rendered, the_file_of
from tests.unit.plan.examples import CUDA_13
from tests.unit.release.conftest import NOW
from tests.wheels import write_wheel
from wheelmill.config.model.files import Listing, Removed, Status, StatusEntry, Yanked
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_folder, site_of_releases, unused_entries
from wheelmill.names import CudaVersion, StableTorch, TorchVersion, project_name
from wheelmill.wheel.metadata import metadata_bytes

FOR_CANDIDATE = "demo-1.0+cu130torch2.16rc1-cp311-cp311-manylinux_2_28_x86_64.whl"
TORCH_211, TORCH_210, CUDA_128, NO_TORCH, UNLABELLED = EVERY_KIND


def test_a_wheel_stands_in_the_trees_of_its_label(release: Release) -> None:
    assert names_of(site_of_releases(release(*EVERY_KIND), "")) == {
        "": set(EVERY_KIND),
        "cu128": {CUDA_128},
        "cu128/torch2.10": {CUDA_128},
        "cu130": {TORCH_211, TORCH_210, NO_TORCH},
        "cu130/torch2.10": {TORCH_210, NO_TORCH},
        "cu130/torch2.11": {TORCH_211, NO_TORCH},
    }


def test_a_wheel_for_a_release_candidate_of_torch_stands_apart(release: Release) -> None:
    """A plain installer takes the highest label of a page: no page of releases may have it."""
    only = FOR_CANDIDATE.replace("demo", "other")
    site = site_of_releases(release(*EVERY_KIND, FOR_CANDIDATE, only), "")
    trees = names_of(site)
    assert trees["rc/cu130/torch2.16rc1"] == {FOR_CANDIDATE, only, NO_TORCH}
    del trees["rc/cu130/torch2.16rc1"]
    assert trees == names_of(site_of_releases(release(*EVERY_KIND, store="stable"), ""))
    pages = rendered(site)
    listing = {path for path, page in pages.items() if b"torch2.16rc1-cp311" in page and path.endswith(".html")}
    assert listing == {f"rc/cu130/torch2.16rc1/simple/{name}/index.html" for name in ("demo", "other")}
    assert not [path for path, page in people(site).items() if b"2.16" in page]
    listed = {wheel["filename"]: wheel["trees"] for wheel in json.loads(pages["wheels.json"])["wheels"]}
    assert listed[FOR_CANDIDATE] == ["rc/cu130/torch2.16rc1"], "the next index must not lose it"


TORCHES = {CUDA_13: [TorchVersion(2, minor) for minor in (9, 10, 11, 12)]}
STABLE = "stable-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl"


def test_a_wheel_for_many_torches_stands_in_the_tree_of_each(release: Release) -> None:
    manifests = release(STABLE, requires=("torch>=2.10",))
    trees = names_of(site_of_releases(manifests, "", torches=TORCHES))
    assert list(trees) == ["", "cu130", "cu130/torch2.10", "cu130/torch2.11", "cu130/torch2.12"]
    assert list(trees.values()) == [{STABLE}] * 5
    assert the_file_of(site_of_releases(manifests, "")).torch == StableTorch(oldest=TorchVersion(2, 10))


def test_it_stands_in_trees_that_other_wheels_open_and_in_none_below_its_range(release: Release) -> None:
    release(TORCH_210, TORCH_211)
    manifests = release(STABLE, requires=("torch>=2.11",), now=NOW + timedelta(days=1))
    trees = names_of(site_of_releases(manifests, ""))
    assert trees["cu130/torch2.10"] == {TORCH_210}
    assert trees["cu130/torch2.11"] == {TORCH_211, STABLE}


@pytest.mark.parametrize(
    ("requirement", "minors"),
    [
        ("torch>=2.10,<2.12", {"2.10", "2.11"}),
        ("torch>=2.10,!=2.11.*", {"2.10", "2.12"}),
        ("torch==2.11.*", {"2.11"}),
        ("torch>=2.13", set()),
        ("torch>=2.10; extra == 'test'", set()),
        ("torch", {"2.9", "2.10", "2.11", "2.12"}),
    ],
)
def test_what_it_requires_decides_which_they_are(requirement: str, minors: set[str], release: Release) -> None:
    trees = names_of(site_of_releases(release(STABLE, requires=(requirement,)), "", torches=TORCHES))
    assert {path.partition("torch")[2] for path in trees} - {""} == minors


def test_the_widest_tree_comes_first(release: Release) -> None:
    assert [tree.folder for tree in site_of_releases(release(NO_TORCH, UNLABELLED), "").trees] == [
        "simple",
        "cu130/simple",
    ]


def test_a_plus_is_escaped_because_object_stores_take_it_for_a_space(release: Release) -> None:
    site = site_of_releases(release(NO_TORCH), "https://example.org/releases")
    assert the_file_of(site).url == (
        "https://example.org/releases/v2026-11-21/plain_cuda-2.0%2Bcu130-py3-none-manylinux_2_28_x86_64.whl"
    )


def test_one_name_with_different_bytes_in_two_releases_is_refused(release: Release) -> None:
    first = release(NO_TORCH, store="first")
    second = release(NO_TORCH, store="second", content=b"changed = True", now=NOW + timedelta(days=1))
    escaped = NO_TORCH.replace("+", "%2B")
    places = [f"../releases/v2026-11-{day}/{escaped}" for day in (21, 22)]
    with pytest.raises(SiteError, check=coded("wheels-contradict", NO_TORCH, *places)):
        site_of_releases([*first, *second], "../releases")


def test_one_wheel_in_two_releases_is_listed_once(release: Release) -> None:
    first = release(NO_TORCH, store="first")
    second = release(NO_TORCH, store="second", now=NOW + timedelta(days=1))
    assert "v2026-11-21" in the_file_of(site_of_releases([*first, *second], "")).url


def test_files_are_in_the_order_of_their_names_whatever_their_release(release: Release) -> None:
    release(TORCH_211)
    manifests = release(TORCH_210, now=NOW + timedelta(days=1))
    (files,) = site_of_releases(manifests, "").trees[0].projects.values()
    assert [file.filename for file in files] == [TORCH_210, TORCH_211]


def test_a_folder_of_wheels_gives_the_same_trees_as_their_release(release: Release, tmp_path: Path) -> None:
    of_release = names_of(site_of_releases(release(*EVERY_KIND), ""))
    assert names_of(site_of_folder(tmp_path / "wheels", "", warn=lambda _text: None)) == of_release


GONE = "gone-1.0-py3-none-any.whl"


def named_in(lines: Iterable[str]) -> list[tuple[str, bool]]:
    """The file and the key of each line, and whether it says what may be meant."""
    return [(": ".join(line.split(": ", 2)[:2]), line.endswith("?")) for line in lines]


def test_lines_about_wheels_that_there_are_say_nothing(release: Release) -> None:
    listing = Listing(
        removed=Removed(wheels={TORCH_211: "broken", GONE: "its release is gone"}),
        yanked=Yanked(
            wheels={NO_TORCH: "slow"},
            versions={Requirement("demo>=1.0"): "old"},
            projects={project_name("demo"): StatusEntry(status=Status.ARCHIVED, reason="done")},
        ),
    )
    assert list(unused_entries(listing, release(*EVERY_KIND), [GONE])) == []


def test_a_mistyped_wheel_is_named_with_the_one_that_may_be_meant(release: Release) -> None:
    mistyped = TORCH_211.replace("cp311-cp311", "cp311-cp310")
    listing = Listing(removed=Removed(wheels={mistyped: "broken"}), yanked=Yanked(wheels={GONE: "broken"}))
    lines = list(unused_entries(listing, release(*EVERY_KIND), []))
    assert named_in(lines) == [(f"removed.yml: wheels.{mistyped}", True), (f"yanked.yml: wheels.{GONE}", False)]
    assert f" {TORCH_211}?" in lines[0]


def test_versions_and_projects_without_a_wheel_are_named(release: Release) -> None:
    quarantined = StatusEntry(status=Status.QUARANTINED, reason="it steals")
    listing = Listing(
        yanked=Yanked(
            versions={Requirement("demo==1.1"): "slow", Requirement("demmo==1.0"): "slow"},
            projects={project_name("plain-cudda"): quarantined},
        )
    )
    assert named_in(unused_entries(listing, release(*EVERY_KIND), [])) == [
        ("yanked.yml: versions.demo==1.1", False),
        ("yanked.yml: versions.demmo==1.0", True),
        ("yanked.yml: projects.plain-cudda", True),
    ]


def refuse(text: str) -> None:
    raise AssertionError(text)


def test_wheels_without_a_label_for_one_cuda_are_told_of(tmp_path: Path) -> None:
    labels = ("cu12torch2.8cxx11abitrue", "rocm6.4")
    of_others = [f"foreign-2.1+{label}-cp311-cp311-linux_x86_64.whl" for label in labels]
    for name in (NO_TORCH, UNLABELLED, *of_others):
        write_wheel(tmp_path / name)
    warnings: list[str] = []
    site = site_of_folder(tmp_path, "", warn=warnings.append)
    lacking = [*of_others, UNLABELLED]
    assert [warning.partition(" ")[0] for warning in warnings] == lacking
    assert names_of(site) == {"": {NO_TORCH, *lacking}, "cu130": {NO_TORCH}}


def test_wheels_with_the_labels_of_others_stand_in_the_same_trees(tmp_path: Path) -> None:
    scatter, commit, stable = (
        "torch_scatter-2.1.2+pt211cu130-cp311-cp311-linux_x86_64.whl",
        "flash_attn_3-3.0.0+cu130torch2.11gite2743ab-cp39-abi3-linux_x86_64.whl",
        "sageattention-2.2.0+cu130torch2.10.0andhigher.post4-cp39-abi3-win_amd64.whl",
    )
    for name in (scatter, commit, stable):
        write_wheel(tmp_path / name)
    torches = {CudaVersion(13, 0): [TorchVersion(2, 9), TorchVersion(2, 10)]}
    assert names_of(site_of_folder(tmp_path, "", torches=torches, warn=refuse)) == {
        "": {scatter, commit, stable},
        "cu130": {scatter, commit, stable},
        "cu130/torch2.10": {stable},
        "cu130/torch2.11": {scatter, commit, stable},
    }


def test_the_published_torches_decide_in_which_tree_joined_digits_stand(tmp_path: Path) -> None:
    thirteen, one, both = (
        f"natten-0.21.6+{label}-cp313-cp313-linux_x86_64.whl"
        for label in ("cu130.torch213", "torch210cu121", "cu128.torch210")
    )
    for name in (thirteen, one, both):
        write_wheel(tmp_path / name)
    minors = [TorchVersion(2, minor) for minor in (1, 10, 13)]
    torches = {CudaVersion(12, 1): minors[:1], CudaVersion(12, 8): minors[:2], CudaVersion(13, 0): minors[1:]}
    assert names_of(site_of_folder(tmp_path, "", torches=torches, warn=refuse)) == {
        "": {thirteen, one, both},
        "cu121": {one},
        "cu121/torch2.1": {one},
        "cu128": {both},
        "cu130": {thirteen},
        "cu130/torch2.13": {thirteen},
    }


def test_an_empty_folder_and_no_releases_make_a_site_with_one_empty_tree(tmp_path: Path) -> None:
    for site in (site_of_folder(tmp_path, "", warn=refuse), site_of_releases([], "")):
        assert names_of(site) == {"": set()}


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_sidecar_that_is_no_regular_file_is_none(tmp_path: Path, make: Callable[[Path], None]) -> None:
    write_wheel(tmp_path / NO_TORCH)
    make(tmp_path / f"{NO_TORCH}.metadata")
    assert the_file_of(site_of_folder(tmp_path, "", warn=refuse)).metadata_sha256 is None


@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_sidecar_beside_a_wheel_is_listed_if_it_has_its_bytes(tmp_path: Path, *, is_its_own: bool) -> None:
    wheel = write_wheel(tmp_path / NO_TORCH)
    metadata = metadata_bytes(wheel) if is_its_own else b"of another"
    wheel.with_name(f"{NO_TORCH}.metadata").write_bytes(metadata)
    listed = the_file_of(site_of_folder(tmp_path, "", warn=refuse)).metadata_sha256
    assert listed == (hashlib.sha256(metadata).hexdigest() if is_its_own else None)


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    left_out: list[str] = []
    assert names_of(site_of_folder(tmp_path / "absent", "", warn=refuse, leave_out=left_out.append)) == {"": set()}
    assert [text.partition(":")[0] for text in left_out] == [str(tmp_path / "absent")]


def test_every_wheel_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_wheel(tmp_path / NO_TORCH)
    (tmp_path / TORCH_211).write_bytes(b"no zip")
    (tmp_path / "badly-named.whl").touch()
    write_wheel(tmp_path / CUDA_128, metadata="no metadata")
    with zipfile.ZipFile(tmp_path / TORCH_210, "w") as archive:
        archive.writestr("demo-1.0.dist-info/RECORD", "")
    with pytest.raises(SiteError) as refusal:
        site_of_folder(tmp_path, "", warn=refuse)
    named = [line.partition(":")[0] for line in str(refusal.value).splitlines()]
    assert named == sorted((TORCH_211, TORCH_210, CUDA_128, "badly-named.whl"))
