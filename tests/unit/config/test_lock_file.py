"""``packages.lock``: written one way, and read back as it was."""

import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import faults_of
from tests.unit.config.locking import DEMO, LOCKED, OTHER, PACKAGES, V10, V20, V210, sdist, write_packages
from wheelmill.config.load import load_config
from wheelmill.config.lock import write_lock
from wheelmill.config.model.files import Lock, LockedCommit, LockedRequirement, LockedRequirements, LockedSdist
from wheelmill.system import own_installation


def test_equal_locks_give_equal_bytes_that_read_back(tmp_path: Path) -> None:
    names = {DEMO: {V210: sdist("demo-2.10.tar.gz"), V10: LOCKED}, OTHER: {V20: sdist("other-2.0.tar.gz")}}
    written = []
    for sdists in (names, dict(reversed(names.items()))):
        write_lock(Lock(sdists=sdists), tmp_path / "packages.lock")
        written.append((tmp_path / "packages.lock").read_bytes())
    assert written[0] == written[1]
    (tmp_path / "packages.yml").write_text(PACKAGES)
    assert load_config(tmp_path).lock == Lock(sdists=names)


hexadecimal = st.text("0123456789abcdef", min_size=64, max_size=64)
names = st.sampled_from([DEMO, OTHER])
versions = st.sampled_from([V10, V20, V210])
texts = st.lists(st.sampled_from(["ninja>=1.11", 'numpy; python_version < "3.10"', "wheel"]), unique=True).map(tuple)
requires = st.none() | texts
REPOSITORY: Final[dict[str, Any]] = {
    "git": st.sampled_from(["https://example.org/demo.git", "file:///srv/demo"]),
    "ref": st.sampled_from(["v1.0", "main", "release/1.0"]),
    "submodules": st.booleans(),
}
pins = st.builds(
    LockedRequirement,
    requirement=st.sampled_from(["ninja==1.13.2", 'numpy==2.0.2; python_full_version < "3.10"']),
    sha256=st.lists(hexadecimal, min_size=1, max_size=3, unique=True).map(tuple),
)
locks = st.builds(
    Lock,
    sdists=st.dictionaries(
        names,
        st.dictionaries(
            versions, st.builds(LockedSdist, sdist=st.just("demo-1.0.tar.gz"), sha256=hexadecimal, requires=requires)
        ),
    ),
    commits=st.dictionaries(
        names,
        st.dictionaries(
            versions,
            st.builds(LockedCommit, **REPOSITORY, commit=hexadecimal.map(lambda text: text[:40]), requires=requires),
        ),
    ),
    requirements=st.dictionaries(
        names, st.builds(LockedRequirements, inputs=texts, pinned=st.lists(pins, max_size=3).map(tuple))
    ),
)


@settings(derandomize=True, max_examples=15, deadline=None)
@given(locks)
def test_every_lock_that_is_written_reads_back(locked: Lock) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "packages.yml").write_text(PACKAGES)
        write_lock(locked, Path(folder, "packages.lock"))
        assert load_config(Path(folder)).lock == locked


def test_the_lock_that_ships_was_written_this_way(tmp_path: Path) -> None:
    write_lock(load_config(own_installation.CONFIG).lock, tmp_path / "packages.lock")
    assert (tmp_path / "packages.lock").read_text() == (own_installation.CONFIG / "packages.lock").read_text()


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("{inputs: [ninja], pinned: [{requirement: ninja>=1, sha256: [%s]}]}", "0.requirement: "),
        ("{inputs: [ninja], pinned: [{requirement: ninja==1.*, sha256: [%s]}]}", "0.requirement: "),
        ("{inputs: [ninja], pinned: [{requirement: 'x[y]==1', sha256: [%s]}]}", "0.requirement: "),
        ("{inputs: [ninja], pinned: [{requirement: ninja==1, sha256: []}]}", "0.sha256: "),
        ("{inputs: [ninja], pinned: [{requirement: ninja==1, sha256: [%sff]}]}", "0.sha256.0: "),
    ],
)
def test_a_fault_in_locked_requirements_is_named(written: str, fault: str, tmp_path: Path) -> None:
    write_packages(tmp_path, PACKAGES)
    (tmp_path / "packages.lock").write_text(f"sdists: {{}}\nrequirements:\n  demo: {written.replace('%s', 'a' * 64)}\n")
    (found,) = faults_of(load_config, tmp_path)
    assert found.startswith("packages.lock:3:")
    assert f"requirements.demo.pinned.{fault}" in found
