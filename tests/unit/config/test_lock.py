"""Locking source distributions: nothing changes behind a person's back."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.specifiers import SpecifierSet

from tests.refusals import coded
from tests.unit.config.locking import (
    DEMO,
    LOCKED,
    OTHER,
    PACKAGES,
    V10,
    V20,
    V210,
    archive_of,
    file,
    pin,
    relocked,
    sdist,
    write_packages,
)
from tests.wheels import write_wheel
from wheelmill.config import lock
from wheelmill.config.load import load_config
from wheelmill.config.lock import lock_changes, lock_packages, newer_versions, write_lock
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import Lock, LockedRequirement, LockedRequirements, SourceCode
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, Sha256, project_name
from wheelmill.web.pages import Link

pytestmark = pytest.mark.usefixtures("wheels")

NINJA = LockedRequirement(requirement="ninja==1.9", sha256=(Sha256("a" * 64),))
RANGE = 'packages: {demo: {versions: "%s", build_args: "--no-build-isolation"}}'

Offer = Callable[..., list[ProjectName]]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Set which files the package index has; the list that comes back fills with the projects it is asked for."""

    def offered(*filenames: str) -> list[ProjectName]:
        asked: list[ProjectName] = []

        def sdists_of(project: ProjectName) -> tuple[Link, ...]:
            asked.append(project)
            return tuple(file(name) for name in filenames if name.startswith(f"{project}-"))

        monkeypatch.setattr(lock, "sdists_of", sdists_of)
        return asked

    return offered


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The files of every source distribution."""
    files = {"setup.py": ""}

    def cached_sdist(_project: ProjectName, filename: str, _sha256: Sha256) -> Path:
        (archive := tmp_path / filename).write_bytes(archive_of(files))
        return archive

    monkeypatch.setattr(lock, "cached_sdist", cached_sdist)
    return files


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A folder whose lock has the first version of the two of ``demo``, and nothing of ``other``."""
    (tmp_path / "packages.yml").write_text(PACKAGES)
    write_lock(Lock(sdists={DEMO: {V10: LOCKED}}), tmp_path / "packages.lock")
    return load_config(tmp_path)


def test_what_is_locked_stays_and_what_is_missing_is_added(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz", "other-2.10.tar.gz", "other-2.1.tar.gz")
    assert lock_packages(config, ()).lock.sdists == {
        DEMO: {V10: LOCKED, V20: sdist("demo-2.0.tar.gz")},
        OTHER: {V210: sdist("other-2.10.tar.gz")},
    }


def test_what_became_newer_is_named(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz", "other-2.10.tar.gz", "other-2.11.tar.gz", "other-3.0rc1.tar.gz")
    assert list(newer_versions(config, config.packages)) == [
        "other: the package index has 2.11; packages.yml lists 2.10"
    ]
    assert list(newer_versions(config, [DEMO])) == []
    before = replace(config.lock, requirements={DEMO: LockedRequirements(inputs=("ninja",), pinned=(NINJA,))})
    newest = replace(NINJA, requirement="ninja==1.13.2")
    after = replace(before, requirements={DEMO: LockedRequirements(inputs=("ninja",), pinned=(newest,))})
    assert list(lock_changes(before, after)) == ["demo: ninja 1.9 -> 1.13.2"]
    both = replace(after, sdists={DEMO: {V10: LOCKED, V20: LOCKED}})
    assert list(lock_changes(after, both)) == ["demo: its source 1.0 -> 1.0, 2.0"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (">=3.9.2", SpecifierSet(">=3.9.2")),
        (None, None),
        ("no version", None),
        ("", None),
        (" ", None),
        ("===$(id)", None),
        ("===`id`", None),
        (f">={'9' * 5000}", None),
    ],
)
def test_the_pythons_of_a_source_are_locked_where_the_lock_can_be_read_again(
    said: str | None, kept: SpecifierSet | None, config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link = file("demo-2.0.tar.gz")._replace(requires_python=said)
    monkeypatch.setattr(lock, "sdists_of", lambda _project: (link,))
    write_lock(lock_packages(config, [DEMO]).lock, tmp_path / "packages.lock")
    assert load_config(tmp_path).lock.sdists[DEMO][V20].requires_python == kept


STATIC: Final = "Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n"
PROJECT: Final = '[project]\ndependencies = ["torch>=2.13,<2.14", "numpy"]\n'
BOUND: Final = ("torch<2.14,>=2.13",)


@pytest.mark.parametrize(
    ("pkg_info", "pyproject", "kept"),
    [
        (f"{STATIC}Requires-Dist: torch<2.14,>=2.13\nRequires-Dist: numpy>=2\n", "", BOUND),
        (f"{STATIC}Requires-Dist: torch>=2\n", PROJECT, ("torch>=2",)),
        (STATIC, PROJECT, None),
        (f"{STATIC}Dynamic: Requires-Dist\nRequires-Dist: torch>=2\n", "", None),
        (f"{STATIC}Dynamic: requires-dist\nRequires-Dist: torch>=2\n", PROJECT, BOUND),
        (f"{STATIC}Requires-Dist: torch>=2\n".replace("2.4", "2.1"), "", None),
        (f"{STATIC}Requires-Dist: torch>=2\n".replace("2.4", "two"), PROJECT, BOUND),
        ("", PROJECT, BOUND),
        ("", f"{PROJECT}dynamic = ['version']", BOUND),
        ("", f"{PROJECT}dynamic = ['dependencies']", None),
        ("", "[project]\ndynamic = 1\ndependencies = 2", None),
        ("", "project = 1", None),
        (f"{STATIC}Requires-Dist: ?\nRequires-Dist: x @ https://a.test\nRequires-Dist: torch<3\n", "", ("torch<3",)),
        ("", "[project]\ndependencies = ['torch<3', 'x @ https://example.org']", None),
        ("", "[project]\ndependencies = ['torch<3; os_name == \"$x\"', 'torch<3; extra == \"x\"', 'torch']", None),
    ],
)
def test_the_torches_and_cudas_of_a_source_are_locked_unless_its_build_computes_them(
    *, pkg_info: str, pyproject: str, kept: object, config: Config, files: dict[str, str], offer: Offer, tmp_path: Path
) -> None:
    files |= {"PKG-INFO": pkg_info, "pyproject.toml": pyproject}
    offer("demo-2.0.tar.gz")
    write_lock(lock_packages(config, [DEMO]).lock, tmp_path / "packages.lock")
    locked = load_config(tmp_path).lock.sdists[DEMO]
    assert locked[V20].requires_dist == kept
    assert locked[V10] == LOCKED


def test_a_sources_code_is_locked_and_read(config: Config, files: dict[str, str], offer: Offer, tmp_path: Path) -> None:
    files |= {"a.cu": "", "a.cpp": "#include <Python.h>"}
    offer("demo-2.0.tar.gz")
    write_lock(lock_packages(config, [DEMO]).lock, tmp_path / "packages.lock")
    locked = load_config(tmp_path).lock.sdists[DEMO]
    assert locked[V20].code == SourceCode(cuda_files=1, bindings=1, includes_python=False)
    assert locked[V10].code is None


def test_a_refused_build_is_locked_without_requirements(config: Config, files: dict[str, str], offer: Offer) -> None:
    """One such version keeps no other from being locked."""
    files |= {"../escaped": "", "pyproject.toml": PROJECT}
    offer("demo-2.0.tar.gz")
    assert lock_packages(config, [DEMO]).whole().sdists[DEMO][V20] == sdist("demo-2.0.tar.gz")


def test_only_the_projects_that_were_named_are_looked_up(config: Config, offer: Offer) -> None:
    asked = offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    sdists = lock_packages(config, [OTHER]).lock.sdists
    assert {name: set(versions) for name, versions in sdists.items()} == {DEMO: {V10}, OTHER: {V210}}
    assert asked == [OTHER]


@pytest.mark.usefixtures("config")
def test_a_whole_lock_asks_nobody(offer: Offer, tmp_path: Path, wheels: Path) -> None:
    offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    whole = relocked(tmp_path)
    written = (tmp_path / "packages.lock").read_bytes()
    asked = offer()
    for wheel in wheels.glob("*.whl"):
        wheel.unlink()
    assert relocked(tmp_path) == whole
    assert (tmp_path / "packages.lock").read_bytes() == written
    assert asked == []


@pytest.mark.usefixtures("config")
def test_an_upgrade_looks_everything_up_anew(offer: Offer, tmp_path: Path, wheels: Path) -> None:
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz", "other-2.10.tar.gz")
    relocked(tmp_path)
    newer = write_wheel(wheels / "wheel-100.0-py3-none-any.whl")
    after = relocked(tmp_path, DEMO, upgrade=True)
    assert after.sdists[DEMO][V10] == sdist("demo-1.0.tar.gz")
    assert pin(newer) in after.requirements[DEMO].pinned
    assert pin(newer) not in after.requirements[OTHER].pinned


def test_what_packages_yml_no_longer_lists_is_dropped(config: Config, offer: Offer, tmp_path: Path) -> None:
    offer("demo-2.0.tar.gz", "other-2.10.tar.gz")
    relocked(tmp_path)
    write_packages(tmp_path, 'packages: {demo: {versions: ["2.0"], build_args: "--no-build-isolation"}}\n')
    after = relocked(tmp_path)
    assert V10 in config.lock.sdists[DEMO]
    assert after.sdists == {DEMO: {V20: sdist("demo-2.0.tar.gz")}}
    assert after.requirements.keys() == {DEMO}


def test_a_package_with_its_source_in_a_folder_is_not_looked_up(tmp_path: Path, offer: Offer) -> None:
    (tmp_path / "demo").mkdir()
    write_packages(tmp_path, 'packages: {demo: {versions: ["1.0"], source: demo}}\n')
    asked = offer("demo-1.0.tar.gz")
    assert lock_packages(load_config(tmp_path), ()).lock.sdists == {}
    assert asked == []


@pytest.mark.parametrize(
    "offered",
    [("demo-0.1.tar.bz2", "demo-1.0-final.tar.gz", "demo-2.0.tar.gz"), ("demo-2.0.tar.gz", "demo-2.0.zip")],
    ids=["with names from before the rules", "with an archive that builds cannot unpack"],
)
def test_a_file_that_a_build_can_unpack_is_locked(offered: tuple[str, ...], config: Config, offer: Offer) -> None:
    offer(*offered)
    assert lock_packages(config, [DEMO]).lock.sdists[DEMO][V20] == sdist("demo-2.0.tar.gz")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sha256": "f" * 63}, "demo 2.0"),
        ({"sha256": "../" * 21 + "f"}, "demo 2.0"),
        ({"sha256": None}, "demo 2.0"),
        ({"filename": "../../demo-2.0.tar.gz"}, "demo 2.0"),
        ({"filename": "other-2.0.tar.gz"}, "demo 2.0"),
        ({"filename": "demo-1.0.tar.gz"}, "demo 2.0"),
        ({"yanked": "its kernels corrupt memory"}, "demo 2.0 was yanked: its kernels corrupt memory"),
    ],
    ids=["short hash", "folders for a hash", "no hash", "folders", "another project's", "another version", "yanked"],
)
def test_unfit_files(changed: dict[str, Any], said: str, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = file("demo-2.0.tar.gz")._replace(**changed)
    monkeypatch.setattr(lock, "sdists_of", lambda _: (offered,))
    with pytest.raises(UsageError, check=coded("lock-failed", said)):
        lock_packages(config, [DEMO]).whole()


@pytest.mark.parametrize(
    ("versions", "files", "said"),
    [
        (">=2", (file("demo-2.0.tar.gz")._replace(yanked="broken"), file("demo-1.0.tar.gz")), "2.0 (broken)"),
        (">=2.0", (file("demo-1.0.tar.gz"), file("demo-2.0rc1.tar.gz")), "demo >=2.0"),
    ],
    ids=["a yanked one", "a release candidate"],
)
def test_a_range_without_a_release_says_what_it_has(
    versions: str, files: tuple[Link, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "sdists_of", lambda _: files)
    write_packages(tmp_path, RANGE % versions)
    with pytest.raises(UsageError, check=coded("no-source-distribution", f"demo {versions}", said)):
        relocked(tmp_path)


def test_every_package_that_fails_is_named_and_the_others_are_locked(config: Config, offer: Offer) -> None:
    offer("demo-1.0.tar.gz", "other-2.10.tar.gz")
    locking = lock_packages(config, ())
    assert locking.locked == (OTHER,)
    assert {name: str(error) for name, error in locking.failures.items()} == {
        DEMO: "the package index has no source distribution of demo 2.0"
    }
    assert locking.lock.sdists == {DEMO: {V10: LOCKED}, OTHER: {V210: sdist("other-2.10.tar.gz")}}
    assert locking.lock.requirements.keys() == {OTHER}


def test_an_unknown_project_is_refused_before_anything_is_looked_up(config: Config, offer: Offer) -> None:
    asked = offer()
    with pytest.raises(UsageError, check=coded("package-unknown", "demoo", "packages.yml")):
        lock_packages(config, [DEMO, project_name("demoo")])
    assert asked == []


@pytest.mark.parametrize(
    ("versions", "locked"),
    [(">=1,<2", ["1.0", "1.5.post1"]), (">=1.5rc1", ["1.5rc1", "1.5.post1", "2.0"]), ("==2.*", ["2.0"])],
    ids=["final releases", "a pre-release that is named", "a prefix"],
)
def test_a_range_takes_every_release_in_it(versions: str, locked: list[str], offer: Offer, tmp_path: Path) -> None:
    offer("demo-1.0.tar.gz", "demo-1.5rc1.tar.gz", "demo-1.5.post1.tar.gz", "demo-2.0.tar.gz", "demo-2.1.zip")
    write_packages(tmp_path, RANGE % versions)
    relocked(tmp_path)
    assert list(load_config(tmp_path).packages[DEMO].versions) == locked


def test_a_range_keeps_what_it_has_until_it_is_upgraded(offer: Offer, tmp_path: Path) -> None:
    write_packages(tmp_path, RANGE % ">=1")
    offer("demo-1.0.tar.gz")
    relocked(tmp_path)
    offer("demo-1.0.tar.gz", "demo-2.0.tar.gz")
    assert relocked(tmp_path).sdists[DEMO].keys() == {V10}
    assert relocked(tmp_path, upgrade=True).sdists[DEMO].keys() == {V10, V20}
