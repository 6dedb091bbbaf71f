"""``packages.lock``: written one way, and never changed behind a person's back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pypi_simple import DistributionPackage, parse_filename

from wheelmill import resources
from wheelmill.config import lock
from wheelmill.config.load import load_config
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.records import Config, Lock, LockedSdist
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, Sha256, project_name, project_version

DEMO, OTHER = project_name("demo"), project_name("other")
V10, V20, V210 = project_version("1.0"), project_version("2.0"), project_version("2.10")

PACKAGES = """
packages:
  other: {versions: ["2.10"]}
  demo: {versions: ["1.0", "2.0"]}
"""
LOCKED = LockedSdist(filename="demo-1.0.tar.gz", sha256=Sha256("1" * 64))

Offer = Callable[..., list[ProjectName]]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Set which files the package index has; the list that comes back fills with the projects it is asked for."""

    def offered(*filenames: str) -> list[ProjectName]:
        asked: list[ProjectName] = []

        def sdists_of(project: ProjectName) -> tuple[DistributionPackage, ...]:
            asked.append(project)
            return tuple(file(name) for name in filenames if parse_filename(name)[0] == project)

        monkeypatch.setattr(lock, "sdists_of", sdists_of)
        return asked

    return offered


def file(name: str) -> DistributionPackage:
    project, version, package_type = parse_filename(name)
    return DistributionPackage(
        filename=name,
        url=f"https://example.org/{name}",
        project=project,
        version=version,
        package_type=package_type,
        digests={"sha256": "f" * 64},
        requires_python=None,
        has_sig=None,
    )


def sdist(name: str) -> LockedSdist:
    return LockedSdist(filename=name, sha256=Sha256("f" * 64))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A folder whose lock has the first version of the two of ``demo``, and nothing of ``other``."""
    (tmp_path / "packages.yml").write_text(PACKAGES)
    write_lock(Lock(sdists={(DEMO, V10): LOCKED}), tmp_path)
    return load_config(tmp_path)


def test_equal_locks_give_equal_bytes_that_read_back(tmp_path: Path) -> None:
    names = {(DEMO, V210): sdist("demo-2.10.tar.gz"), (DEMO, V10): LOCKED, (OTHER, V20): sdist("other-2.0.tar.gz")}
    written = []
    for sdists in (names, dict(reversed(names.items()))):
        write_lock(Lock(sdists=sdists), tmp_path)
        written.append((tmp_path / "packages.lock").read_bytes())
    assert written[0] == written[1]
    (tmp_path / "packages.yml").write_text(PACKAGES)
    assert load_config(tmp_path).lock == Lock(sdists=names)


def test_the_lock_that_ships_was_written_this_way(tmp_path: Path) -> None:
    write_lock(load_config(resources.CONFIG).lock, tmp_path)
    assert (tmp_path / "packages.lock").read_text() == (resources.CONFIG / "packages.lock").read_text()


def test_what_is_locked_stays_and_what_is_missing_is_added(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz", "other-2.10.tar.gz", "other-2.1.tar.gz")
    assert lock_packages(config, ()).sdists == {
        (DEMO, V10): LOCKED,
        (DEMO, V20): sdist("demo-2.0.tar.gz"),
        (OTHER, V210): sdist("other-2.10.tar.gz"),
    }


def test_only_the_projects_that_were_named_are_looked_up(config: Config, offer: Offer) -> None:
    asked = offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    assert lock_packages(config, ["other"]).sdists.keys() == {(DEMO, V10), (OTHER, V210)}
    assert asked == [OTHER]


def test_a_whole_lock_asks_nobody(config: Config, offer: Offer, tmp_path: Path) -> None:
    offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    write_lock(lock_packages(config, ()), tmp_path)
    asked = offer()
    whole = load_config(tmp_path)
    assert lock_packages(whole, ()) == whole.lock
    assert asked == []


def test_what_packages_yml_no_longer_lists_is_dropped(config: Config, offer: Offer, tmp_path: Path) -> None:
    offer("demo-2.0.tar.gz")
    (tmp_path / "packages.yml").write_text('packages: {demo: {versions: ["2.0"]}}\n')
    assert (DEMO, V10) in config.lock.sdists
    assert lock_packages(load_config(tmp_path), ()).sdists == {(DEMO, V20): sdist("demo-2.0.tar.gz")}


def test_a_package_with_its_source_in_a_folder_is_not_looked_up(tmp_path: Path, offer: Offer) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "packages.yml").write_text('packages: {demo: {versions: ["1.0"], source: demo}}\n')
    asked = offer("demo-1.0.tar.gz")
    assert lock_packages(load_config(tmp_path), ()).sdists == {}
    assert asked == []


def test_files_with_names_from_before_the_rules_are_passed_over(config: Config, offer: Offer) -> None:
    offer("demo-0.1.tar.bz2", "demo-1.0-final.tar.gz", "demo-2.0.tar.gz")
    assert lock_packages(config, ["demo"]).sdists[DEMO, V20] == sdist("demo-2.0.tar.gz")


def test_the_archive_that_builds_can_unpack_is_locked(config: Config, offer: Offer) -> None:
    offer("demo-2.0.tar.gz", "demo-2.0.zip")
    assert lock_packages(config, ["demo"]).sdists[DEMO, V20] == sdist("demo-2.0.tar.gz")


def test_a_version_that_the_index_lacks_is_named(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz")
    with pytest.raises(UsageError, match=r"^the package index has no source distribution of demo 2\.0$"):
        lock_packages(config, ["demo"])


def test_an_unknown_project_is_refused_before_anything_is_looked_up(config: Config, offer: Offer) -> None:
    asked = offer()
    with pytest.raises(UsageError, match=r"^demoo: not in packages\.yml$"):
        lock_packages(config, ["demo", "demoo"])
    assert asked == []
