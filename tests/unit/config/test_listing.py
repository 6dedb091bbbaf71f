"""``yanked.yml`` and ``removed.yml`` become one record, or every fault is named where it stands."""

from pathlib import Path

import pytest
from packaging.version import Version

from tests.refusals import coded, faults_of, places
from wheelmill.config.load import load_config, load_listing
from wheelmill.config.model.files import Listing, Status, StatusEntry
from wheelmill.errors import ConfigurationError
from wheelmill.names import project_name
from wheelmill.system import own_installation

DEMO = project_name("demo-kernels")
WHEEL = "demo_kernels-1.0+cu130-py3-none-any.whl"
YANKED = f"""\
wheels:
  {WHEEL}: "crashes"
versions:
  "Demo_Kernels==2.0": "wrong sums"
projects:
  demo-kernels: {{status: deprecated, reason: "part of torch"}}
"""


def listing_in(folder: Path, yanked: str = YANKED, removed: str = "wheels: {}\n") -> Listing:
    (folder / "yanked.yml").write_text(yanked)
    (folder / "removed.yml").write_text(removed)
    return load_listing(folder)


def test_both_files_become_one_record(tmp_path: Path) -> None:
    listing = listing_in(tmp_path, removed='wheels: {other-1.0-py3-none-any.whl: "not ours"}\n')
    assert listing.yanked.wheels == {WHEEL: "crashes"}
    assert listing.yanked.projects == {DEMO: StatusEntry(status=Status.DEPRECATED, reason="part of torch")}
    assert not listing.is_quarantined(DEMO)
    assert listing.removed.wheels == {"other-1.0-py3-none-any.whl": "not ours"}


@pytest.mark.parametrize(
    ("filename", "project", "version", "reason"),
    [
        (WHEEL, DEMO, "1.0+cu130", "crashes"),
        ("other.whl", DEMO, "1.0+cu130", None),
        ("any.whl", DEMO, "2.0", "wrong sums"),
        ("any.whl", DEMO, "2.0+cu128torch2.8", "wrong sums"),
        ("any.whl", DEMO, "2.0.1", None),
        ("any.whl", project_name("other"), "2.0", None),
    ],
)
def test_labels_of_a_version_are_yanked(
    filename: str, project: str, version: str, reason: str | None, tmp_path: Path
) -> None:
    assert listing_in(tmp_path).yank_reason(filename, project_name(project), Version(version)) == reason


def test_previews_are_in_a_range_too(tmp_path: Path) -> None:
    listing = listing_in(tmp_path, 'versions: {"demo-kernels<2": "old"}\n')
    assert listing.yank_reason("any.whl", DEMO, Version("1.0rc1+cu130")) == "old"


def test_every_fault_is_named_where_it_stands(tmp_path: Path) -> None:
    yanked = """\
wheels:
  demo.tar.gz: "no wheel"
  a-1.0-py3-none-any.whl: " "
versions:
  "demo": "no version"
  "demo[x]==1.0": "extra"
  "demo==": "nothing"
projects:
  Demo_Kernels: {status: archived, reason: "x"}
  demo: {status: gone}
wheel: {}
"""
    assert places(faults_of(listing_in, tmp_path, yanked, "wheels: [a]\n")) == [
        *("yanked.yml:2:3: wheels.demo.tar.gz", "yanked.yml:3:3: wheels.a-1.0-py3-none-any.whl"),
        *("yanked.yml:5:3: versions.demo", "yanked.yml:6:3: versions.demo[x]==1.0"),
        *("yanked.yml:7:3: versions.demo==", "yanked.yml:9:3: projects.Demo_Kernels"),
        *("yanked.yml:10:3: projects.demo.reason", "yanked.yml:10:10: projects.demo.status"),
        *("yanked.yml:11:1: wheel", "removed.yml:1:1: wheels"),
    ]


@pytest.mark.parametrize(
    ("yanked", "place"),
    [
        (f'wheels: {{{WHEEL}: "crashes"}}\nversions: {{"demo-kernels==1.0": "all do"}}\n', f"1:10: wheels.{WHEEL}"),
        ('versions: {"demo==1.0": "x", "Demo == 1.0": "y"}\n', "1:1: versions"),
    ],
    ids=["with its version", "in two spellings"],
)
def test_what_is_yanked_twice_is_a_fault(yanked: str, place: str, tmp_path: Path) -> None:
    assert places(faults_of(listing_in, tmp_path, yanked)) == [f"yanked.yml:{place}"]


def test_the_files_are_part_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "packages.yml").write_text("packages: {}\n")
    assert listing_in(tmp_path) == load_config(tmp_path).listing
    (tmp_path / "removed.yml").write_text("wheel: {}\n")
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "removed.yml:1:1: wheel: ")):
        load_config(tmp_path)


def test_the_files_that_ship_yank_and_remove_nothing_as_a_folder_without_them(tmp_path: Path) -> None:
    assert load_listing(own_installation.CONFIG) == load_listing(tmp_path) == Listing()
