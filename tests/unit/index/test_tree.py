"""What an index must not list: all of it is named at once, with both sides."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.refusals import places
from tests.unit.index.conftest import EVERY_KIND, Release
from tests.unit.release.conftest import NOW
from tests.wheels import write_wheel
from wheelmill.config.model.files import Listing, Removed, Status, StatusEntry, Yanked
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.tree import SiteAddress, vanished
from wheelmill.names import Sha256, project_name
from wheelmill.release.manifest.record import ListedRelease

TORCH_211, TORCH_210, _, NO_TORCH, _ = EVERY_KIND
WINDOWS = "demo-1.0+cu130torch2.11-cp311-cp311-win_amd64.whl"
OTHER = Sha256("f" * 64)
PLAIN = project_name("plain-cuda")
QUARANTINE = Listing(yanked=Yanked(projects={PLAIN: StatusEntry(status=Status.QUARANTINED, reason="it steals")}))


@pytest.fixture
def entry_with(release: Release) -> Callable[..., ListedRelease]:
    """The manifest of a release of one wheel, with other words in its entry."""

    def make(**changes: Any) -> ListedRelease:
        (manifest,) = release(NO_TORCH)
        return replace(manifest, wheels=(replace(manifest.wheels[0], **changes),))

    return make


def faults_of(*manifests: ListedRelease, **options: Any) -> list[str]:
    with pytest.raises(SiteError) as refusal:
        site_of_releases(manifests, "https://example.org", **options)
    return str(refusal.value).splitlines()


def test_a_torch_of_ours_is_not_listed(entry_with: Callable[..., ListedRelease]) -> None:
    """Dependency confusion: pip would take it for the real one, since a label makes its version higher."""
    filename = "torch-2.11.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl"
    (fault,) = faults_of(entry_with(filename=filename, name="torch", version="2.11.0+cu130"))
    assert "the name torch is reserved" in fault


def test_an_entry_that_installers_could_not_use_is_named_with_its_key(entry_with: Callable[..., ListedRelease]) -> None:
    assert places(faults_of(entry_with(size=0, requires_python="three"))) == [
        f"v2026-11-21/{NO_TORCH}: size",
        f"v2026-11-21/{NO_TORCH}: requires_python",
    ]


@pytest.mark.parametrize("name", ["Plain.CUDA", "plain-cuda"])
def test_any_spelling_of_the_project_will_do(name: str, entry_with: Callable[..., ListedRelease]) -> None:
    assert list(site_of_releases([entry_with(name=name)], "").projects) == ["plain-cuda"]


def test_a_name_that_is_no_wheels_is_refused(entry_with: Callable[..., ListedRelease]) -> None:
    (fault,) = faults_of(entry_with(filename="../demo.whl"))
    assert fault.startswith("v2026-11-21/../demo.whl: ")


@pytest.mark.parametrize("label", ["CU130torch2.11", "cu130TORCH2.11", "cu130_torch2.11"])
def test_a_label_that_installers_rewrite_is_refused(label: str, entry_with: Callable[..., ListedRelease]) -> None:
    filename = f"plain_cuda-2.0+{label}-py3-none-any.whl"
    normal = label.lower().replace("_", ".")
    (fault,) = faults_of(entry_with(filename=filename, version=f"2.0+{normal}"))
    assert places([fault]) == [f"v2026-11-21/{filename}: filename"]
    assert f"'2.0+{normal}'" in fault


def test_a_release_without_the_files_that_its_manifest_names_is_refused(release: Release) -> None:
    manifests = release(NO_TORCH)
    sidecar = f"{NO_TORCH}.metadata"
    (fault,) = faults_of(*manifests, absent={manifests[0].tag: {sidecar}})
    assert fault.startswith(f"v2026-11-21/{NO_TORCH}: ")
    assert fault.endswith(f" {sidecar}")


@pytest.mark.parametrize(
    ("key", "changes", "shown"),
    [
        ("Requires-Dist", {"requires_dist": ("einops", "torch==2.11.*")}, "only one has 'einops'"),
        ("Requires-Python", {"requires_python": ">=3.10"}, "any, >=3.10"),
    ],
)
def test_one_version_with_two_sets_of_requirements_is_refused(
    key: str, changes: dict[str, Any], shown: str, release: Release
) -> None:
    (manifest,) = release(TORCH_211, WINDOWS)
    linux, windows = (replace(entry, requires_dist=("torch==2.11.*",)) for entry in manifest.wheels)
    manifest = replace(manifest, wheels=(linux, replace(windows, **changes)))
    assert faults_of(manifest) == [f"{TORCH_211} and {WINDOWS} have different {key}: {shown}"]


@pytest.mark.parametrize(
    ("names", "requires"),
    [
        pytest.param((TORCH_211, WINDOWS), (("a", "b"), ("b", "a")), id="in another order"),
        pytest.param((TORCH_210, TORCH_211), (("torch==2.10.*",), ("torch==2.11.*",)), id="by another label"),
    ],
)
def test_requirements_that_installers_do_not_take_for_different_ones_may_differ(
    names: tuple[str, ...], requires: tuple[tuple[str, ...], ...], release: Release
) -> None:
    (manifest,) = release(*names)
    entries = zip(manifest.wheels, requires, strict=True)
    wheels = tuple(replace(entry, requires_dist=required) for entry, required in entries)
    assert len(site_of_releases([replace(manifest, wheels=wheels)], "").files[project_name("demo")]) == len(names)


@pytest.mark.parametrize(
    "other",
    [
        NO_TORCH.replace("plain_cuda", "Plain_Cuda"),
        NO_TORCH.replace("plain_cuda", "plain.cuda"),
        NO_TORCH.replace("2.0", "2.0.0"),
    ],
)
def test_two_names_of_one_wheel_are_refused(other: str, release: Release) -> None:
    """Tried: pip takes the last link of a page, uv the one that it reads as the same name wherever it stands."""
    first, second = sorted((NO_TORCH, other))
    (fault,) = faults_of(*release(NO_TORCH, other))
    assert fault.startswith(f"{first} and {second} ")


def test_a_wheel_that_was_built_again_has_another_number(release: Release) -> None:
    again = NO_TORCH.replace("-py3", "-1-py3")
    assert len(site_of_releases(release(NO_TORCH, again), "").projects[PLAIN]) == 2


def test_every_fault_is_named_at_once(release: Release) -> None:
    first = release(NO_TORCH, TORCH_211, store="first")
    second = release(NO_TORCH, store="second", content=b"changed = True", now=NOW + timedelta(days=1))
    (manifest,) = first
    broken = replace(manifest, wheels=(replace(manifest.wheels[0], size=0), *manifest.wheels[1:]))
    faults = faults_of(broken, *second, deployed={"gone-1.0-py3-none-any.whl": OTHER, NO_TORCH: OTHER})
    assert [fault.partition(" ")[2] for fault in faults] == [
        "size: expected 1 to 2,147,483,647 bytes, not 0",
        "stands in the deployed index and in no release; removed.yml gives no reason",
        (
            f"has sha256 {OTHER} in the deployed index, {manifest.wheels[1].sha256} at"
            f" https://example.org/v2026-11-21/{NO_TORCH.replace('+', '%2B')}"
        ),
        (
            f"has sha256 {OTHER} in the deployed index, {second[0].wheels[0].sha256} at"
            f" https://example.org/v2026-11-22/{NO_TORCH.replace('+', '%2B')}"
        ),
        (
            f"has different bytes at https://example.org/v2026-11-21/{NO_TORCH.replace('+', '%2B')}"
            f" and https://example.org/v2026-11-22/{NO_TORCH.replace('+', '%2B')}"
        ),
    ]


def test_an_index_may_grow(release: Release) -> None:
    (manifest,) = release(NO_TORCH, TORCH_211)
    deployed = {NO_TORCH: manifest.wheels[1].sha256}
    assert len(site_of_releases([manifest], "", deployed=deployed).projects) == 2


def test_what_removed_yml_names_is_listed_no_more_and_may_vanish(release: Release) -> None:
    listing = Listing(removed=Removed(wheels={NO_TORCH: "not ours to give", "gone-1.0-py3-none-any.whl": "broken"}))
    deployed = {NO_TORCH: OTHER, "gone-1.0-py3-none-any.whl": OTHER}
    site = site_of_releases(release(NO_TORCH, TORCH_211), "", listing, deployed=deployed)
    assert list(site.projects) == ["demo"]


def test_what_removed_yml_names_holds_up_nothing(entry_with: Callable[..., ListedRelease]) -> None:
    listing = Listing(removed=Removed(wheels={NO_TORCH: "its manifest is broken"}))
    assert site_of_releases([entry_with(sha256="")], "", listing).projects == {}


def test_a_quarantined_project_lists_no_files_and_may_lose_them(release: Release) -> None:
    gone = NO_TORCH.replace("2.0", "1.0")
    site = site_of_releases(release(NO_TORCH, TORCH_211), "", QUARANTINE, deployed={gone: OTHER})
    assert site.projects[PLAIN] == ()
    assert [tree.path for tree in site.trees if PLAIN in tree.projects] == [""]
    assert site.status_of(PLAIN).reason == "it steals"


def test_wheels_of_a_folder_follow_the_same_rules(tmp_path: Path) -> None:
    write_wheel(tmp_path / "unlabelled-1.0+cu130-py3-none-any.whl", metadata="Metadata-Version: 2.1\nName: unlabelled\n"
                "Version: 1.0\n")  # fmt: skip
    write_wheel(tmp_path / "shouted-1.0+CU130-py3-none-any.whl")
    for python, requires in (("cp311", "numpy"), ("cp312", "numpy<2")):
        metadata = f"Metadata-Version: 2.1\nName: two\nVersion: 1.0\nRequires-Dist: {requires}\n"
        write_wheel(tmp_path / f"two-1.0-{python}-none-any.whl", metadata=metadata)
    warnings: list[str] = []
    with pytest.raises(SiteError) as refusal:
        site_of_folder(tmp_path, "", warn=warnings.append)
    *of_one, of_two = str(refusal.value).splitlines()
    assert places(of_one) == ["unlabelled-1.0+cu130-py3-none-any.whl: name"]
    assert "shouted-1.0+CU130-py3-none-any.whl: filename" in places(warnings)
    assert of_two.startswith("two-1.0-cp311-none-any.whl and two-1.0-cp312-none-any.whl have different Requires-Dist: ")


def test_of_a_name_that_is_none_of_a_wheel_nothing_is_quarantined() -> None:
    names = ("plain_cuda.whl", "plain_cuda-1.0-py3-none-any.whl", "demo-1.0-py3-none-any.whl")
    assert [fault.partition(" ")[0] for fault in vanished(names, QUARANTINE)] == [names[2], names[0]]


@pytest.mark.parametrize(
    ("url", "base_url", "repository", "root"),
    [
        ("https://me.github.io/wheels", "https://github.com/me/wheels/releases/download", "me/wheels", "/wheels/"),
        ("https://wheels.example.org", "https://github.com/me/wheels/releases/download", "me/wheels", "/"),
        ("https://me.github.io/wheels/", "https://bucket.example.org/releases", "me/wheels", "/wheels/"),
        ("https://me.github.io", "releases", "me/me.github.io", "/"),
        ("https://me.github.io/a/b/", "releases", "", "/a/b/"),
        ("https://github.io.example.org/wheels/", "../releases/download", "", "/wheels/"),
        ("https://u:secret@wheels.example.org/", "releases", "", "/"),
        (None, "https://github.com/me/wheels/releases/download", "me/wheels", ""),
        (None, "https://u:secret@github.com/me/wheels/releases/download", "me/wheels", ""),
        (None, "https://bucket.example.org/releases/download", "", ""),
    ],
)
def test_a_sites_maker_is_in_its_releases_or_pages(url: str | None, base_url: str, repository: str, root: str) -> None:
    address = SiteAddress.of(url, base_url)
    assert (address.full_name, address.root) == (repository, root)
    assert "secret" not in address.url + address.repository


def test_an_address_in_a_command_means_nothing_to_a_shell() -> None:
    assert SiteAddress.of("https://example.org/$(id) '", "releases").of_folder("cu130/simple") == (
        "https://example.org/%24%28id%29%20%27/cu130/simple/"
    )
    assert SiteAddress().of_folder("simple") == "ADDRESS"
